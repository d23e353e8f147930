"""Reads rules from the text of a Python module without running it: for pages, which never execute what they are given.

The text is parsed, and what it says is carried out piece by piece on the objects of ``cepheus.typed`` alone. It can
import nothing else, call nothing else, and see no attribute of anything else. What plain Python could do besides
(loops, functions of its own) is refused in words: programs can do it, and ``cepheus.compile`` takes their rules.
"""

from __future__ import annotations

import ast
import inspect
import operator
import re
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any

from cepheus.core.errors import CepheusError, RuleError, did_you_mean
from cepheus.core.source import Source, Span
from cepheus.language.python import aggregates, draft, events, functions, patterns, rules, values
from cepheus.language.python.events import Event
from cepheus.language.python.places import READING, Reading, _offset
from cepheus.language.python.rules import PythonRule, TypedRules
from cepheus.language.python.values import Symbol
from cepheus.rules.policies import Policy

_MARK = re.compile(r"^\s*(?:from\s+cepheus(?:\.typed)?\s+import|import\s+cepheus|@(?:\w+\.)?rule\b)", re.MULTILINE)
_TYPED = "cepheus.typed"
_LONGEST_TEXT = 100_000
_DEEPEST = 60
_OTHERS: dict[str, dict[str, object]] = {
    "datetime": {"datetime": datetime},
    "typing": {"Any": Any},
    "__future__": {"annotations": None},
}
_BUILTINS: dict[str, object] = {"bool": bool, "int": int, "float": float, "str": str}
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_COMPUTED: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
}
_PLAIN = "programs may do that, and cepheus.compile takes their rules; here write it out"
_TRUTH = (
    "write & for and, | for or, not_(..) for not, one_of(x, ..) for in, is_null(x) for is None, "
    "chain(1, '<', x, '<', 9) for 1 < x < 9"
)


def is_python(text: str) -> bool:
    """Whether rule text is a module of Python.

    >>> is_python("from cepheus.typed import rule"), is_python("define A() from B()")
    (True, False)
    """
    return _MARK.search(text) is not None


@cache
def words() -> dict[str, object]:
    """What a text may import from ``cepheus.typed``, by name: all that describes rules and runs nothing."""
    found: dict[str, object] = {}
    for module, names in (
        (aggregates, ("agg",)),
        (draft, ("named", "now")),
        (events, ("Composite", "Event", "attribute")),
        (functions, ("fn",)),
        (patterns, ("collect", "consume", "let", "no", "require", "top", "when", *(policy.value for policy in Policy))),
        (rules, ("error", "rule", "rule_set")),
        (
            values,
            (
                "all_of",
                "any_of",
                "chain",
                "const",
                "duration",
                "is_null",
                "not_",
                "one_of",
                "parameter",
                "timestamp",
            ),
        ),
    ):
        found |= {name: getattr(module, name) for name in names}
    return found


def read_text(text: str, name: str = "<rules>") -> TypedRules:
    """Read the rules of a module: those in the set that it makes last or, if it makes none, all that it has.

    >>> print(read_text('''
    ... from cepheus.typed import Composite, Event, rule, when
    ... class Temp(Event):
    ...     value: float
    ... class Hot(Composite):
    ...     value: float
    ... @rule
    ... def hot(temp: Temp) -> Hot:
    ...     when(Temp.value > 45)
    ...     return Hot(value=temp.value)
    ... '''))
    event Temp(value: double)
    <BLANKLINE>
    rule hot
    define Hot(value: double)
    from   Temp(value>45)
    where  value=Temp.value
    """
    source = Source(name, text)
    if len(text) > _LONGEST_TEXT:
        raise RuleError.of("syntax", f"the text has more than {_LONGEST_TEXT:,} characters")
    try:
        tree = ast.parse(text, name)
    except SyntaxError as error:
        place = _place_of(source, error)
        raise RuleError.of("syntax", f"this is not Python: {error.msg}", span=place) from None
    except (ValueError, RecursionError, MemoryError):
        raise RuleError.of("syntax", "this is not Python: it cannot be parsed") from None
    reader = _Reader(source)
    reader.module(tree)
    return reader.found()


def _place_of(source: Source, error: SyntaxError) -> Span:
    lines = source.text.split("\n")
    line = min(max(error.lineno or 1, 1), len(lines))
    column = max(0, min((error.offset or 1) - 1, len(lines[line - 1])))
    start = sum(len(each) + 1 for each in lines[: line - 1]) + column
    return Span(source, start, min(start + 1, len(source.text)))


@dataclass
class _Reader:
    """Carries out the statements of one module; ``names`` are those that it knows."""

    source: Source
    names: dict[str, object] = field(default_factory=lambda: dict(_BUILTINS))
    _rules: list[PythonRule[Any]] = field(default_factory=list)
    _sets: list[TypedRules] = field(default_factory=list)
    _depth: int = 0

    def found(self) -> TypedRules:
        """The rules."""
        if self._sets:
            return self._sets[-1]
        if not self._rules:
            raise RuleError.of("no-rules", "there is no rule", hint="write a function below @rule")
        return rules.rule_set(*self._rules)

    def module(self, tree: ast.Module) -> None:
        """Carry out a module."""
        for statement in tree.body:
            with self._at(statement):
                match statement:
                    case ast.Import() | ast.ImportFrom():
                        self._import(statement)
                    case ast.ClassDef():
                        self._class(statement)
                    case ast.FunctionDef():
                        self._function(statement)
                    case ast.Assign() | ast.AnnAssign():
                        self._assign(statement, self.names)
                    case ast.Expr(value=ast.Constant()) | ast.Pass():
                        pass
                    case _:
                        raise self._refusal(statement, "this is not part of a rule", _PLAIN)

    # ---- Statements ----------------------------------------------------------------------------------------------

    def _import(self, statement: ast.Import | ast.ImportFrom) -> None:
        if isinstance(statement, ast.Import):
            known: dict[str, object] = {}
            module = statement.names[0].name
        else:
            module = statement.module or ""
            known = words() if module == _TYPED else _OTHERS.get(module, {})
        for each in statement.names:
            if each.name == "*" and module == _TYPED:
                self.names |= words()
            elif each.name not in known:
                of = f"'{each.name}' of {module}" if known else f"'{module}'"
                hint = did_you_mean(each.name, list(known)) or f"rules are made of what {_TYPED} has"
                raise self._refusal(statement, f"{of} cannot be imported where text is only read", hint)
            else:
                self.names[each.asname or each.name] = known[each.name]

    def _class(self, statement: ast.ClassDef) -> None:
        bases = [self._value(base, self.names) for base in statement.bases]
        if len(bases) != 1 or not (isinstance(bases[0], type) and issubclass(bases[0], Event)):
            message = f"the class '{statement.name}' describes no events"
            raise self._refusal(statement, message, "write class Temp(Event):")
        if statement.decorator_list:
            raise self._refusal(statement, "a class of events has no decorators", None)
        space: dict[str, Any] = {"__module__": __name__, "__annotations__": {}}
        for each in statement.body:
            match each:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                    if name.startswith("_"):
                        raise self._refusal(each, f"'{name}' is no name of an attribute", None)
                    space["__annotations__"][name] = self._annotation(annotation)
                    if value is not None:
                        space[name] = self._value(value, self.names)
                case ast.Expr(value=ast.Constant()) | ast.Pass():
                    pass
                case _:
                    raise self._refusal(each, "a class of events has attributes and nothing else", "write value: float")
        given = {str(each.arg): self._value(each.value, self.names) for each in statement.keywords}
        if given.keys() - {"name", "declared"}:
            raise self._refusal(statement, "a class of events takes name and declared", None)
        name_span = self._name_span(statement.name, statement)
        with self._spanned(name_span, self.names):
            self.names[statement.name] = types.new_class(statement.name, (bases[0],), given, lambda b: b.update(space))

    def _function(self, statement: ast.FunctionDef) -> None:
        if len(statement.decorator_list) != 1:
            raise self._refusal(statement, f"the function '{statement.name}' is no rule", "write @rule above it")
        decorator = self._value(statement.decorator_list[0], self.names)
        made_by = getattr(decorator, "__module__", None)
        if made_by != rules.__name__ or isinstance(decorator, type):
            raise self._refusal(statement.decorator_list[0], "only @rule makes a rule", None)
        given = statement.args
        if given.vararg or given.kwarg or given.kwonlyargs or given.defaults or given.posonlyargs:
            raise self._refusal(statement, "a rule has at most one argument: its terminator", None)
        function = self._callable(statement)
        with self._spanned(self._name_span(statement.name, statement), self.names):
            made: Any = decorator(function)
        self.names[statement.name] = made
        self._rules.append(made)

    def _callable(self, statement: ast.FunctionDef) -> Callable[..., Any]:
        """A function that carries the body out when the rule is read."""
        arguments = [each.arg for each in statement.args.args]

        def function(*given: Any) -> Any:
            return self._body(statement, {**self.names, **dict(zip(arguments, given, strict=True))})

        hints = {each.arg: self._annotation(each.annotation) for each in statement.args.args if each.annotation}
        if statement.returns is not None:
            hints["return"] = self._annotation(statement.returns)
        kinds = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in arguments]
        function.__name__ = statement.name
        function.__annotations__ = hints
        function.__signature__ = inspect.Signature(kinds)  # type: ignore[attr-defined]
        return function

    def _body(self, statement: ast.FunctionDef, names: dict[str, object]) -> Any:
        for each in statement.body:
            with self._at(each, names):
                match each:
                    case ast.Return(value=value) if value is not None:
                        return self._value(value, names)
                    case ast.Assign() | ast.AnnAssign():
                        self._assign(each, names)
                    case ast.Expr(value=ast.Constant()) | ast.Pass():
                        pass
                    case ast.Expr(value=ast.Compare() | ast.BinOp() | ast.UnaryOp() as value):
                        raise self._refusal(value, rules.FORGOTTEN, rules.ASK_IT)
                    case ast.Expr(value=value):
                        self._value(value, names)
                    case _:
                        raise self._refusal(each, "this is not part of a rule", _PLAIN)
        return None

    def _assign(self, statement: ast.Assign | ast.AnnAssign, names: dict[str, object]) -> None:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if len(targets) != 1 or not isinstance(targets[0], ast.Name) or statement.value is None:
            raise self._refusal(statement, "a value is given to one name", "write temp = last(..)")
        value = self._value(statement.value, names)
        names[targets[0].id] = value
        if isinstance(value, TypedRules):
            self._sets.append(value)

    # ---- Values --------------------------------------------------------------------------------------------------

    def _annotation(self, node: ast.expr) -> Any:
        """A type; one that is written as a text stands for what the text says."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.copy_location(ast.parse(node.value, mode="eval").body, node)
            except (SyntaxError, ValueError, RecursionError):
                raise self._refusal(node, "this is no type", None) from None
        if isinstance(node, ast.Constant) and node.value is None:
            return type(None)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self._annotation(node.left) | self._annotation(node.right)
        found = self._value(node, self.names)
        if found is not Any and not isinstance(found, type):
            raise self._refusal(node, "this is no type", "an attribute is a bool, int, float, str or datetime")
        return found

    def _value(self, node: ast.expr, names: dict[str, object]) -> Any:
        self._depth += 1
        try:
            if self._depth > _DEEPEST:
                raise self._refusal(node, "this is nested too deeply", "give parts of it names")
            with self._at(node, names):
                return self._valued(node, names)
        finally:
            self._depth -= 1

    def _valued(self, node: ast.expr, names: dict[str, object]) -> Any:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return value
            case ast.Name(id=name):
                if name not in names:
                    raise self._refusal(node, f"there is no '{name}' here", did_you_mean(name, list(names)))
                return names[name]
            case ast.Attribute(value=base, attr=attribute):
                return self._attribute(node, self._value(base, names), attribute)
            case ast.Call():
                return self._call(node, names)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARED:
                return _COMPARED[type(op)](self._value(left, names), self._value(right, names))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _COMPUTED:
                return self._computed(node, _COMPUTED[type(op)], self._value(left, names), self._value(right, names))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._computed(node, operator.mul, self._value(operand, names), -1, negative=True)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return [self._value(part, names) for part in parts]
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                message = "Python asks here whether a condition of a rule is true, which only events can tell"
                raise RuleError.of("python-truth", message, span=self._span(node), hint=_TRUTH)
            case ast.JoinedStr():
                raise self._refusal(
                    node, "a rule puts texts together by a function", "write fn.concat('room ', x.area)"
                )
        raise self._refusal(node, "this is not part of a rule", _PLAIN)

    def _computed(
        self, node: ast.expr, compute: Callable[[Any, Any], Any], left: Any, right: Any, *, negative: bool = False
    ) -> Any:
        """A part of a rule or, of plain numbers, a number."""
        if negative:
            compute, right = (lambda value, _: -value), None
        elif not any(isinstance(each, Symbol) for each in (left, right)):
            plain = all(isinstance(each, int | float) for each in (left, right))
            if not plain or max(abs(left), abs(right)) > 2**53:
                raise self._refusal(node, "only numbers, and values of events, are computed with here", None)
        try:
            return compute(left, right)
        except (TypeError, ArithmeticError):
            raise self._refusal(node, "this cannot be computed", None) from None

    def _attribute(self, node: ast.expr, base: Any, name: str) -> Any:
        kind = base if isinstance(base, type) else type(base)
        ours = issubclass(kind, Event) or kind.__module__.startswith(__package__ or "")
        if name.startswith("_") or not ours:
            raise self._refusal(node, f"'{name}' of this is not part of a rule", None)
        return getattr(base, name)

    def _call(self, node: ast.Call, names: dict[str, object]) -> Any:
        called = self._value(node.func, names)
        if not _may_be_called(called):
            raise self._refusal(node, "this is no function of rules", f"rules are made of what {_TYPED} has")
        if any(isinstance(each, ast.Starred) for each in node.args) or any(each.arg is None for each in node.keywords):
            raise self._refusal(node, "arguments are written out here", _PLAIN)
        given = [self._value(each, names) for each in node.args]
        named = {str(each.arg): self._value(each.value, names) for each in node.keywords}
        with self._at(node, names):  # arguments have moved the place on
            try:
                made = called(*given, **named)
            except CepheusError:
                raise
            except (TypeError, ValueError, AttributeError) as error:
                raise self._refusal(node, f"this call does not fit: {error}", None) from None
        return made

    # ---- Places --------------------------------------------------------------------------------------------------

    def _span(self, node: ast.AST) -> Span:
        lines = self.source.text.split("\n")
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end_line, end = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", column)
        return Span(self.source, _offset(lines, line, column), _offset(lines, end_line, end))

    def _name_span(self, name: str, node: ast.AST) -> Span:
        """The name of what a statement defines."""
        whole = self._span(node)
        start = self.source.text.find(name, whole.start, whole.end)
        return Span(self.source, start, start + len(name)) if start >= 0 else whole

    @contextmanager
    def _at(self, node: ast.AST, names: dict[str, object] | None = None) -> Iterator[None]:
        with self._spanned(self._span(node), self.names if names is None else names):
            yield

    @contextmanager
    def _spanned(self, span: Span, names: dict[str, object]) -> Iterator[None]:
        token = READING.set(Reading(span, names))
        try:
            yield
        finally:
            READING.reset(token)

    def _refusal(self, node: ast.AST, message: str, hint: str | None) -> RuleError:
        return RuleError.of("python-text", message, span=self._span(node), hint=hint)


def _may_be_called(called: Any) -> bool:
    """Whether something is a function of rules, a method of their parts, or a class of events."""
    if isinstance(called, type):
        return issubclass(called, Event)
    if isinstance(called, types.MethodType | types.FunctionType):
        return (called.__module__ or "").startswith(__package__ or "")
    return type(called).__module__.startswith(__package__ or "") and not isinstance(called, PythonRule | TypedRules)
