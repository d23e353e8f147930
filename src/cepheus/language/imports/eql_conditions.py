"""Conditions of EQL, from the syntax tree of the ``eql`` package.

The tree is read and not the package's own model, because the model has lost where things stand and whether capital
letters matter (``like`` or ``like~``). The dialect is that of Elasticsearch: ``==`` tells capital letters apart and has
no wildcards, ``:`` and whatever ends with ``~`` does not tell them apart. A field has one value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cepheus.core.source import Source, Span
from cepheus.language.imports.conditions import (
    ALWAYS,
    ANY_LETTER,
    ANY_TEXT,
    NEVER,
    Absent,
    Applied,
    Compared,
    Computed,
    Condition,
    Field,
    Holds,
    Number,
    OneOf,
    Operand,
    Text,
    Truth,
    all_of,
    any_of,
    can_be_named,
    fits_pattern,
    fits_wildcards,
    opposite,
)
from cepheus.language.imports.outcome import RefusedError, no_equivalent

Tree = Any
"""A node of the package's syntax tree (``data``, ``children``, ``meta``) or a token; the package has no types."""

_OPERATORS = {"==": "=", "=": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_LITERAL = re.compile(r"""[~&<>@#"^$]""")
"""What Lucene's regular expressions and RE2's read differently."""


@dataclass(frozen=True, slots=True)
class Null:
    """The literal ``null``, which stands only in comparisons."""


_CONSTANTS: dict[str, Truth | Null] = {"true": Truth(True), "false": Truth(False), "null": Null()}


class ConditionReader:
    """Reads conditions of one text; ``unescape`` is how the package reads the escapes of a string."""

    def __init__(self, source: Source, unescape: Callable[[str], str]) -> None:
        self.source = source
        self._unescape = unescape

    def span(self, node: Tree) -> Span:
        """Where a node stands."""
        if hasattr(node, "start_pos") and node.start_pos is not None:  # a token
            return Span(self.source, node.start_pos, node.end_pos)
        meta = node.meta
        return Span(self.source, getattr(meta, "start_pos", 0), getattr(meta, "end_pos", 0))

    def refuse(self, node: Tree, construct: str, reason: str, hint: str | None = None) -> RefusedError:
        """Refuse what stands at a node."""
        return no_equivalent(construct, reason, self.span(node), hint)

    def condition(self, node: Tree) -> Condition:
        """Read a node that is true or false."""
        match kind_of(node):
            case "or_expr":
                return any_of(*map(self.condition, _trees(node)))
            case "and_expr":
                return all_of(*map(self.condition, _trees(node)))
            case "not_expr":
                inner = self.condition(_trees(node)[-1])
                negations = len(node.children) - 1
                return opposite(inner) if negations % 2 else inner
            case "comparison":
                return self._comparison(node)
            case "in_set":
                return self._in_set(node)
            case "not_in_set":
                return opposite(self._in_set(node))
            case "string_predicate":
                return self._string_predicate(node)
            case "named_subquery":
                raise self.refuse(node, "'.. of [..]'", "it follows a tree of processes, which events do not tell of")
        operand = self.operand(node)
        match operand:
            case Truth(value=value):
                return ALWAYS if value else NEVER
            case Applied(function=function) if function in _TRUE_OR_FALSE:
                return Holds(operand)
            case Field():
                return Compared(operand, "=", Truth(True))
            case _:
                raise self.refuse(node, "this condition", "it is neither true nor false")

    def _comparison(self, node: Tree) -> Condition:
        left_node, comparator, right_node = node.children
        operator = _OPERATORS[str(comparator)]
        left, right = self._side(left_node), self._side(right_node)
        if isinstance(left, Null):
            left, right = right, left
        if isinstance(left, Null):
            raise self.refuse(node, "this comparison", "it compares nothing with nothing")
        if isinstance(right, Null):
            if operator not in ("=", "!="):
                raise self.refuse(node, "this comparison", "nothing is neither more nor less than null")
            return Absent(left) if operator == "=" else opposite(Absent(left))
        constant = isinstance(left, Text | Number | Truth) and isinstance(right, Text | Number | Truth)
        if constant:
            raise self.refuse(node, "this comparison", "it compares constants", "leave it out, or all that needs it")
        if operator not in ("=", "!=") and isinstance(right, Text | Truth):
            raise self.refuse(node, f"'{comparator}' between texts", "rules compare texts only for equality")
        return Compared(left, operator, right)

    def _in_set(self, node: Tree) -> Condition:
        value, *_, listed = _trees(node)
        folded = any(str(child) == "in~" for child in node.children if not hasattr(child, "data"))
        options = [self._side(option) for option in _trees(listed)]
        operand = self.operand(value)
        kinds = {type(option) for option in options}
        if not kinds <= {Text, Number, Truth}:
            raise self.refuse(node, "'in' with anything but constants", "write the comparisons with 'or'")
        if len(kinds) > 1:
            raise self.refuse(node, "'in' with constants of several types", "an attribute has one type")
        constants = [option for option in options if isinstance(option, Text | Number | Truth)]
        if not folded or kinds != {Text}:
            return OneOf(operand, tuple(constants))
        lowered = [Text(option.value.lower()) for option in constants if isinstance(option, Text)]
        return OneOf(Applied("lower", (operand,)), tuple(lowered))

    def _string_predicate(self, node: Tree) -> Condition:
        predicate = next(str(child) for child in node.children if not hasattr(child, "data"))
        value, *patterns = _trees(node)
        operand = self.operand(value)
        return any_of(*(self._fits(operand, predicate, pattern) for pattern in patterns))

    def _fits(self, operand: Operand, predicate: str, node: Tree) -> Condition:
        pattern = self._side(node)
        if not isinstance(pattern, Text):
            if predicate == ":" and isinstance(pattern, Number | Truth):
                return Compared(operand, "=", pattern)
            raise self.refuse(node, f"'{predicate}' with anything but a text", "a pattern is a text")
        folded = predicate == ":" or predicate.endswith("~")
        if predicate.startswith("regex"):
            return self._regex(operand, pattern.value, node, folded)
        return fits_wildcards(operand, _wildcards(pattern.value), folded=folded)

    def _regex(self, operand: Operand, pattern: str, node: Tree, folded: bool) -> Condition:
        bare = re.sub(r"\\.", "", pattern)
        found = _LITERAL.search(bare)
        if found:
            reason = f"'{found[0]}' has a meaning of its own in Lucene's regular expressions, or none"
            raise self.refuse(node, "this regular expression", reason, f"write \\{found[0]} for the sign itself")
        read = fits_pattern(operand, pattern, "is" if folded else "s")
        if isinstance(read, str):
            raise self.refuse(node, "this regular expression", read)
        return read

    def operand(self, node: Tree) -> Operand:
        """Read a node that has a value other than null."""
        side = self._side(node)
        if isinstance(side, Null):
            raise self.refuse(node, "null as a value", "it may only be compared with")
        return side

    def _side(self, node: Tree) -> Operand | Null:
        match kind_of(node):
            case "literal":
                return self._literal(node)
            case "field" | "base_field":
                field = self.field(node)
                return _CONSTANTS.get(field.name, field)
            case "sum_expr" | "mul_expr":
                return self._arithmetic(node)
            case "value":
                sign, inner = node.children
                operand = self.operand(inner)
                if str(sign) == "+":
                    return operand
                return Number(-operand.value) if isinstance(operand, Number) else Computed("-", Number(0), operand)
            case "function_call":
                return self._call(node)
            case "method_chain":
                raise self.refuse(node, "a chain of ':function()'", "Elasticsearch has none", "write function(value)")
            case "varpath":
                raise self.refuse(node, "a variable", "rules have no lists of values in an attribute")
            case kind:
                raise self.refuse(node, f"'{kind}'", "it is not a value")

    def _literal(self, node: Tree) -> Operand | Null:
        (inner,) = node.children
        token = str(inner.children[0]) if getattr(inner, "children", None) else ""
        match kind_of(inner):
            case "null":
                return Null()
            case "boolean":
                return Truth(token == "true")
            case "number":
                return self._number(node, token)
            case "string":
                return Text(token[3:-3] if token.startswith('"""') else self._unescape(token[1:-1]))
            case kind:
                raise self.refuse(node, f"'{kind}'", "it is not a constant")

    def _number(self, node: Tree, token: str) -> Number:
        number = int(token) if token.isdecimal() else float(token)
        if isinstance(number, int) and number >= 2**63:
            raise self.refuse(node, "this number", "it does not fit in 64 bits")
        if number == float("inf"):
            raise self.refuse(node, "this number", "it is too large for a double")
        return Number(number)

    def field(self, node: Tree) -> Field:
        """Read the name of a field."""
        if kind_of(node) not in ("field", "base_field"):
            raise self.refuse(node, "anything but a field", "an attribute of the event is needed here")
        leaf = node
        while hasattr(leaf, "children"):
            leaf = leaf.children[-1]
        name = str(leaf).removeprefix("?").replace("`", "")
        name = re.sub(r"\s*\.\s*", ".", name)
        if "[" in name:
            raise self.refuse(node, "an element of a list", "an attribute has one value")
        if not can_be_named(name):
            raise self.refuse(node, "this field", "rules cannot write its name")
        return Field(name)

    def _arithmetic(self, node: Tree) -> Operand:
        first, *rest = node.children
        result = self.operand(first)
        for sign, operand in zip(rest[::2], rest[1::2], strict=True):
            if str(sign) in "/%":
                reason = "Elasticsearch divides integers as Java does, and rules divide numbers"
                raise self.refuse(node, f"'{sign}'", reason)
            result = Computed(str(sign), result, self.operand(operand))
        return result

    def _call(self, node: Tree) -> Operand:
        name = str(node.children[0])
        listed = next((child for child in node.children[1:] if child is not None), None)
        nodes = _trees(listed) if listed is not None else []
        arguments = tuple(self.operand(argument) for argument in nodes)
        folded, plain = name.endswith("~"), name.removesuffix("~").lower()  # Elasticsearch takes names in any case
        if folded and plain in _FOLDED:
            arguments = tuple(_lowered(argument) for argument in arguments)
        match plain, arguments:
            case (("startswith" | "endswith" | "stringcontains"), (one, other)):
                return Applied(_FOLDED[plain], (one, other))
            case "length", (one,):
                return Applied("length", (one,))
            case "concat", (_, _, *_) if all(isinstance(argument, Field | Text | Applied) for argument in arguments):
                return Applied("concat", arguments)
            case "cidrmatch", (_, *blocks) if blocks and all(isinstance(block, Text) for block in blocks):
                return Applied("cidr_match", arguments)
            case (("add" | "subtract" | "multiply"), (one, other)):
                return Computed({"add": "+", "subtract": "-", "multiply": "*"}[plain], one, other)
        raise self.refuse(
            node, f"the function '{name}'", _WHY_NOT.get(plain, "there is no function that does the same")
        )


_FOLDED = {"startswith": "starts_with", "endswith": "ends_with", "stringcontains": "contains"}
_TRUE_OR_FALSE = frozenset({*_FOLDED.values(), "cidr_match", "matches"})
_WHY_NOT = {
    "wildcard": "it is written with ':' or 'like' now",
    "match": "it is written with 'regex' now",
    "string": "rules do not turn numbers into texts",
    "number": "rules do not turn texts into numbers",
    "concat": "rules put texts together, not numbers",
    "cidrmatch": "it takes an address and blocks that are constants",
}


def _lowered(operand: Operand) -> Operand:
    return Text(operand.value.lower()) if isinstance(operand, Text) else Applied("lower", (operand,))


def _wildcards(pattern: str) -> list[str | object]:
    """Cut a pattern at its ``*`` and ``?``."""
    parts: list[str | object] = []
    for piece in re.split(r"([*?])", pattern):
        if piece == "*":
            if not (parts and parts[-1] is ANY_TEXT):
                parts.append(ANY_TEXT)
        elif piece == "?":
            parts.append(ANY_LETTER)
        elif piece:
            parts.append(piece)
    return parts


def kind_of(node: Tree) -> str:
    """The name of a node's rule in the grammar of the package, or of a token."""
    return str(getattr(node, "data", None) or getattr(node, "type", ""))


def _trees(node: Tree) -> list[Tree]:
    return [child for child in node.children if hasattr(child, "data")]
