"""Conditions of Sigma, from the rules that pySigma has read.

A selection holds for an event or it does not: a field that an event lacks is no match, and ``not`` of what does not
match holds. Texts do not tell capital letters apart unless ``cased`` says so, ``*`` and ``?`` are wildcards in them; a
regular expression is looked for anywhere in the text.
"""

from __future__ import annotations

from sigma.conditions import (
    ConditionAND,
    ConditionFieldEqualsValueExpression,
    ConditionItem,
    ConditionNOT,
    ConditionOR,
    ConditionValueExpression,
)
from sigma.rule import SigmaRule
from sigma.types import (
    CompareOperators,
    Placeholder,
    SigmaBool,
    SigmaCasedString,
    SigmaCIDRExpression,
    SigmaCompareExpression,
    SigmaExists,
    SigmaExpansion,
    SigmaFieldReference,
    SigmaNull,
    SigmaNumber,
    SigmaRegularExpression,
    SigmaString,
    SigmaTimestampPart,
    SigmaType,
    SpecialChars,
)

from cepheus.core.source import Source, Span
from cepheus.language.imports.conditions import (
    ANY_LETTER,
    ANY_TEXT,
    Absent,
    Applied,
    Compared,
    Condition,
    Field,
    Holds,
    Number,
    Text,
    Truth,
    all_of,
    any_of,
    can_be_named,
    fits_pattern,
    fits_wildcards,
    not_true,
    opposite,
)
from cepheus.language.imports.outcome import no_equivalent, whole

_OPERATORS = {
    CompareOperators.LT: "<",
    CompareOperators.LTE: "<=",
    CompareOperators.GT: ">",
    CompareOperators.GTE: ">=",
    CompareOperators.NEQ: "!=",
}


def place_of(source: Source, word: str, after: int = 0) -> Span:
    """Where a word stands first behind a place of a file: Sigma's parser does not keep places."""
    start = source.text.find(word, after) if word else -1
    return Span(source, start, start + len(word)) if start >= 0 else whole(source)


class SelectionReader:
    """Reads the condition of a rule in one file; ``start`` is where the rule begins there."""

    def __init__(self, source: Source, start: int = 0) -> None:
        self.source = source
        self.start = start

    def of_rule(self, rule: SigmaRule) -> Condition:
        """What an event must satisfy; of several conditions, one."""
        parsed = [condition.parsed for condition in rule.detection.parsed_condition]
        return any_of(*(self._condition(node) for node in parsed))

    def place(self, word: str) -> Span:
        """Where a word of the rule stands."""
        return place_of(self.source, word, self.start)

    def _condition(self, node: object) -> Condition:
        match node:
            case ConditionAND(args=args):
                return all_of(*map(self._condition, args))
            case ConditionOR(args=args):
                return any_of(*map(self._condition, args))
            case ConditionNOT(args=[arg]):
                return not_true(self._condition(arg))
            case ConditionFieldEqualsValueExpression(field=field, value=value):
                return self._value(field, value)
            case ConditionValueExpression(value=value):
                reason = "it is looked for in the whole of a log line, and events have attributes"
                raise no_equivalent("a keyword without a field", reason, self.place(str(value)))
            case ConditionItem() | None:
                raise no_equivalent("this condition", "it is empty", self.place("condition"))
            case _:
                raise no_equivalent("this condition", "its form is not known", self.place("condition"))

    def _value(self, name: str, value: SigmaType) -> Condition:
        if not can_be_named(name):
            raise no_equivalent("this field", "rules cannot write its name", self.place(name))
        field = Field(name)
        match value:
            case SigmaCasedString():
                return self._text(field, value, folded=False)
            case SigmaString():
                return self._text(field, value, folded=True)
            case SigmaTimestampPart():
                raise no_equivalent("a part of a time", "it is not said in which zone it is", self.place(name))
            case SigmaNumber(number=number):
                return Compared(field, "=", self._number(name, number))
            case SigmaBool():
                return Compared(field, "=", Truth(bool(value)))
            case SigmaNull():
                return Absent(field)
            case SigmaExists():
                return opposite(Absent(field)) if value else Absent(field)
            case SigmaCompareExpression(number=number, op=operator):
                return Compared(field, _OPERATORS[operator], self._number(name, number.number))
            case SigmaCIDRExpression(cidr=block):
                return Holds(Applied("cidr_match", (field, Text(str(block)))))
            case SigmaRegularExpression():
                return self._regex(field, value)
            case SigmaFieldReference(field=other, starts_with=False, ends_with=False) if can_be_named(other):
                return Compared(field, "=", Field(other))
            case SigmaExpansion(values=values):
                return any_of(*(self._value(name, one) for one in values))
            case _:
                raise no_equivalent("this value", "there is nothing that means the same", self.place(name))

    def _number(self, name: str, number: object) -> Number:
        if not isinstance(number, int | float) or isinstance(number, bool):
            raise no_equivalent("this value", "it is not a number", self.place(name))
        if isinstance(number, int) and not -(2**63) <= number < 2**63:
            raise no_equivalent("this number", "it does not fit in 64 bits", self.place(str(number)))
        if isinstance(number, float) and not abs(number) < float("inf"):
            raise no_equivalent("this number", "it is not a finite number", self.place(name))
        return Number(number)

    def _text(self, field: Field, value: SigmaString, *, folded: bool) -> Condition:
        parts: list[str | object] = []
        for part in value.s:
            if isinstance(part, Placeholder):
                reason = "what stands for it is only known elsewhere"
                raise no_equivalent(f"the placeholder '%{part.name}%'", reason, self.place(part.name))
            if part is SpecialChars.WILDCARD_MULTI:
                if not (parts and parts[-1] is ANY_TEXT):
                    parts.append(ANY_TEXT)
            elif part is SpecialChars.WILDCARD_SINGLE:
                parts.append(ANY_LETTER)
            elif part:
                parts.append(part)
        return fits_wildcards(field, parts, folded=folded)

    def _regex(self, field: Field, value: SigmaRegularExpression) -> Condition:
        flags = "".join(sorted(value.sigma_to_re_flag[flag] for flag in value.flags))
        pattern = str(value.regexp)
        read = fits_pattern(field, f"(?s:.*)(?{flags}:{pattern})(?s:.*)")
        if isinstance(read, str):
            raise no_equivalent("this regular expression", read, self.place(pattern[:40].split("\\", maxsplit=1)[0]))
        return read
