"""Rules of Sigma: reading the files as one collection, and writing what each rule finds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sigma.collection import SigmaCollection
from sigma.correlations import (
    CorrelationConditionAND,
    CorrelationConditionNOT,
    CorrelationConditionOR,
    SigmaCorrelationCondition,
    SigmaCorrelationRule,
    SigmaCorrelationType,
    SigmaExtendedCorrelationCondition,
    SigmaRuleReference,
)
from sigma.exceptions import SigmaError
from sigma.policy import SigmaPolicy
from sigma.policy.regex_engine import PythonRegexEngine
from sigma.rule import SigmaLogSource, SigmaRule
from yaml import YAMLError

from cepheus.core.source import Source, Span
from cepheus.core.time import SECOND
from cepheus.language.imports.attribute_types import AttributeTypes
from cepheus.language.imports.conditions import ALWAYS, AllOf, Field, can_be_named, written
from cepheus.language.imports.correlations import Base, Correlation, CorrelationWriter, Threshold, prepare
from cepheus.language.imports.outcome import (
    Conversion,
    Converted,
    Importing,
    RefusedError,
    event_name,
    no_equivalent,
    not_readable,
    refusing,
    whole,
)
from cepheus.language.imports.sigma_conditions import SelectionReader, place_of
from cepheus.language.tesla.names import written_name

AnySigmaRule = SigmaRule | SigmaCorrelationRule

_OPERATORS = {"LT": "<", "LTE": "<=", "GT": ">", "GTE": ">=", "EQ": "=", "NEQ": "!="}
_MOST_BASES = 50
_UNREADABLE = "it cannot be read"
_POLICY = SigmaPolicy(regex_engine=PythonRegexEngine())
"""What a regular expression may hold is decided, and explained, when it is converted."""


@dataclass(frozen=True, slots=True)
class _Located:
    """A rule, its file and where it begins there."""

    rule: AnySigmaRule
    source: Source
    start: int

    def place(self, word: str) -> Span:
        """Where a word of the rule stands."""
        return place_of(self.source, word, self.start)


def add_rules(importing: Importing, files: Sequence[Source], event_type: str | None) -> None:
    """Convert the rules of all files; a rule that only serves correlations becomes a part of these."""
    located: list[_Located] = []
    for file in files:
        try:
            located += _read(file)
        except RefusedError as refusal:
            importing.add(file.name, whole(file), refusing(refusal))
    collection = SigmaCollection([one.rule for one in located], [], resolve_references=False)
    unresolved: dict[int, RefusedError] = {}
    for one in located:
        if isinstance(one.rule, SigmaCorrelationRule):
            try:
                one.rule.resolve_rule_references(collection)
            except Exception as error:  # of the parser: also for references that are no names
                unresolved[id(one.rule)] = not_readable("Sigma", _first_line(error), one.place("rules"))
    converter = _Converter(located, event_type, unresolved)
    shown = {id(rule) for rule in collection.get_output_rules()}
    for one in located:
        problem = unresolved.get(id(one.rule))
        if id(one.rule) in shown:
            convert = converter.conversion(one) if problem is None else refusing(problem)
            importing.add(one.rule.title, one.place(one.rule.title), convert)


def _read(file: Source) -> list[_Located]:
    """Read the rules of one file, which may hold several documents."""
    try:
        collection = SigmaCollection.from_yaml(file.text, resolve_references=False, policy=_POLICY)
    except RecursionError:
        raise not_readable("Sigma", "it is nested too deep", whole(file)) from None
    except Exception as error:  # the parser fails on some texts that are not Sigma in ways of its own
        raise not_readable("Sigma", _first_line(error), whole(file)) from None
    if not collection.rules:
        raise not_readable("Sigma", "there is no rule", whole(file))
    located = []
    for rule in collection.rules:
        start = file.text.find(rule.title)
        located.append(_Located(rule, file, max(0, file.text.rfind("\n---", 0, max(0, start)))))
    return located


def _first_line(error: Exception) -> str:
    """What the parser says, if it foresaw the mistake."""
    known = isinstance(error, SigmaError | YAMLError)
    return (str(error).splitlines() or [_UNREADABLE])[0] if known else _UNREADABLE


class _Converter:
    """Converts rules of one collection."""

    def __init__(
        self, located: Sequence[_Located], event_type: str | None, unresolved: Mapping[int, RefusedError]
    ) -> None:
        self.located = {id(one.rule): one for one in located}
        self.event_type = event_type
        self.unresolved = unresolved

    def conversion(self, located: _Located) -> Conversion:
        """What writes a rule."""

        def convert(name: str, types: AttributeTypes) -> Converted:
            if isinstance(located.rule, SigmaCorrelationRule):
                return self._correlation(name, located, located.rule, types, ())
            base = self._base(located, located.rule, (), located.rule.title)
            types.use(base.event, base.condition)
            parts = base.condition.parts if isinstance(base.condition, AllOf) else (base.condition,)
            rule = (
                f"define {written_name(name)}()\nfrom {written_name(base.event)}({' and '.join(map(written, parts))})"
            )
            return Converted((rule,), (base.event,), ordered=False)

        return convert

    def _base(self, located: _Located, rule: SigmaRule, keys: tuple[Field, ...], name: str) -> Base:
        reader = SelectionReader(located.source, located.start)
        try:
            condition = reader.of_rule(rule)
        except RefusedError:
            raise
        except Exception as error:  # the parser reads a condition only now
            raise not_readable("Sigma", _first_line(error), located.place("condition")) from None
        return Base(name, self.event_type or _event_type(rule.logsource, located), condition, keys)

    def _correlation(
        self, name: str, located: _Located, rule: SigmaCorrelationRule, types: AttributeTypes, within: tuple[int, ...]
    ) -> Converted:
        """The rules of a correlation, after those of the correlations that it builds on."""
        if id(rule) in self.unresolved:
            raise self.unresolved[id(rule)]
        references = rule.referenced_rules
        if not references or len(references) > _MOST_BASES or id(rule) in within:
            reason = "it needs from 1 to 50 base rules, and not itself"
            raise no_equivalent("this correlation", reason, located.place("rules"))
        group = tuple(rule.group_by or ())
        if len(set(group)) < len(group) or not all(map(can_be_named, group)):
            raise no_equivalent(
                "this 'group-by'", "it has a name twice, or one that is none", located.place("group-by")
            )
        helpers: list[str] = []
        events: list[str] = []
        bases: list[Base] = []
        made: set[str] = set()
        for reference in references:
            other = self.located[id(reference.rule)]
            keys = tuple(Field(_field_of(rule, key, reference)) for key in group)
            if isinstance(reference.rule, SigmaCorrelationRule):
                inner = event_name(reference.rule.title)
                converted = self._correlation(inner, other, reference.rule, types, (*within, id(rule)))
                helpers += converted.rules
                events += converted.events
                made.add(inner)
                self._refuse_unknown_keys(located, reference.rule, keys)
                bases.append(Base(reference.reference, inner, ALWAYS, keys))
            else:
                base = self._base(other, reference.rule, keys, reference.reference)
                bases.append(base)
                events.append(base.event)
        span = rule.timespan.seconds * SECOND
        if span >= 2**62:
            raise no_equivalent("this timespan", "it is longer than time", located.place("timespan"))
        correlation = Correlation(name, tuple(bases), group, span, located.place("condition"))
        prepare(correlation, types, frozenset(made))
        for place, key in enumerate(group):
            types.joined([(name, key), (bases[0].event, bases[0].keys[place].name)])
        rules = self._written(rule, CorrelationWriter(correlation, types), located, bool(made))
        return Converted((*helpers, *rules), tuple(dict.fromkeys(events)), ordered=True)

    def _refuse_unknown_keys(self, located: _Located, inner: SigmaCorrelationRule, keys: tuple[Field, ...]) -> None:
        for key in keys:
            if key.name not in (inner.group_by or ()):
                reason = f"the correlation '{inner.title}' does not tell it: it is not in its own group-by"
                raise no_equivalent(f"'{key.name}' in group-by", reason, located.place("group-by"))

    def _written(
        self, rule: SigmaCorrelationRule, writer: CorrelationWriter, located: _Located, nested: bool
    ) -> list[str]:
        condition, kind = rule.condition, rule.type
        if kind in (SigmaCorrelationType.TEMPORAL, SigmaCorrelationType.TEMPORAL_ORDERED):
            return _temporal(rule, writer, located)
        if not isinstance(condition, SigmaCorrelationCondition):
            raise no_equivalent("this condition", "it is none for numbers", located.place("condition"))
        threshold = Threshold(_OPERATORS[condition.op.name], condition.count)
        if kind is SigmaCorrelationType.EVENT_COUNT:
            return writer.event_count(threshold)
        field = condition.fieldref
        if not isinstance(field, str) or not can_be_named(field):
            raise no_equivalent("several fields as one value", "a value is that of one field", located.place("field"))
        if nested:
            reason = "what a correlation finds has only the fields of its group-by"
            raise no_equivalent("the value of a correlation", reason, located.place("field"))
        match kind:
            case SigmaCorrelationType.VALUE_COUNT:
                return writer.value_count(field, threshold)
            case SigmaCorrelationType.VALUE_SUM:
                return writer.value_sum(field, threshold)
            case SigmaCorrelationType.VALUE_AVG:
                return writer.value_avg(field, threshold)
        reason = "the event that completes the timespan is not among those that a percentile of a window counts"
        raise no_equivalent(f"'{kind.name.lower()}'", reason, located.place("type"))


def _temporal(rule: SigmaCorrelationRule, writer: CorrelationWriter, located: _Located) -> list[str]:
    condition, bases = rule.condition, writer.correlation.bases
    ordered = rule.type is SigmaCorrelationType.TEMPORAL_ORDERED
    if isinstance(condition, SigmaExtendedCorrelationCondition):
        if ordered:
            reason = "an order of things that may or may not be is not said"
            raise no_equivalent("a condition of 'temporal_ordered'", reason, located.place("condition"))
        return writer.temporal(lambda happened: _combined(condition.parsed, happened, located))
    if condition.op.name != "GTE" or condition.count != len(bases):
        reason = "a part of the base rules is not enough, or too much"
        raise no_equivalent("this condition", reason, located.place("condition"), "leave it out to ask for all of them")
    return writer.temporal_ordered() if ordered else writer.temporal()


def _combined(node: object, happened: dict[str, str], located: _Located) -> str:
    match node:
        case SigmaRuleReference(reference=reference):
            return happened[reference]
        case CorrelationConditionAND(args=args):
            return f"({' and '.join(_combined(arg, happened, located) for arg in args)})"
        case CorrelationConditionOR(args=args):
            return f"({' or '.join(_combined(arg, happened, located) for arg in args)})"
        case CorrelationConditionNOT():
            reason = "it is not said from when to when nothing must happen"
            raise no_equivalent("'not' in a correlation", reason, located.place("condition"))
        case _:
            raise no_equivalent("this condition", "its form is not known", located.place("condition"))


def _field_of(rule: SigmaCorrelationRule, key: str, reference: SigmaRuleReference) -> str:
    """What a base rule calls a key."""
    alias = rule.aliases.aliases.get(key)
    if alias is None:
        return key
    found = [field for other, field in alias.mapping.items() if other.reference == reference.reference]
    return str(found[0]) if found else key


def _event_type(source: SigmaLogSource, located: _Located) -> str:
    """The type of events of a log source."""
    parts = [part for part in (source.product, source.category, source.service) if part]
    name = re.sub(r"\W+", "_", "_".join(parts))
    if not name or not name[0].isalpha():
        raise no_equivalent("this log source", "a type of events has a name", located.place("logsource"))
    return name
