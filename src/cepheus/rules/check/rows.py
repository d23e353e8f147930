"""All checks on rules over rows: what their rows are, what their columns are worth, what they must not wait for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from cepheus.core.schema import TIME_ATTRIBUTE, Attribute, EventType, Schema
from cepheus.core.values import ValueType
from cepheus.rules.check.cycles import components
from cepheus.rules.check.findings import Findings, find_name
from cepheus.rules.check.known_types import KnownTypes
from cepheus.rules.expressions import EventPattern
from cepheus.rules.interval.model import Atom
from cepheus.rules.model import AnyRule, RuleSet
from cepheus.rules.rows.expressions import Column
from cepheus.rules.rows.model import ALL_EVENTS, Named, RowQuery, RowRule, RowsPerMatch
from cepheus.rules.rows.pattern import written
from cepheus.rules.rows.types import given_types
from cepheus.rules.rows.waiting import endless_wait
from cepheus.rules.walk import walk

TYPE_COLUMN = "type"
_OWN: dict[str, ValueType] = {TIME_ATTRIBUTE: ValueType.TIMESTAMP, TYPE_COLUMN: ValueType.STRING}
"""The columns that events of every type have."""

Columns = dict[str, ValueType | None]


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """Rules over rows ready to run, and what they read: by type of events, and of events of any type."""

    rules: tuple[RowRule, ...] = ()
    reads: Mapping[str, EventType] = field(default_factory=dict)
    anything: EventType | None = None


def types_read(rule: AnyRule) -> frozenset[str]:
    """The types of events that a rule of any family looks at; none for rows of all types, which come from outside."""
    if isinstance(rule, RowRule):
        return frozenset() if rule.source is None else frozenset({rule.source})
    nodes = walk(rule)  # a rule of TESLA may also aggregate in its assignments
    return frozenset(node.type for node in nodes if isinstance(node, Atom | EventPattern))


def check_rows(rules: RuleSet, known: KnownTypes, findings: Findings) -> CheckedRows:
    """Check the rules over rows of a rule set, which have names, and complete them with the types of their columns.

    ``known`` has the types that are known without them.
    """
    if not rules.row_rules:
        return CheckedRows()
    heads = {rule.head.name for rule in rules.interval_rules}
    done: dict[int, RowRule] = {}
    made: dict[str, EventType] = {}
    for number in _in_order(rules.row_rules):
        rule = rules.row_rules[number]
        _check_form(rule, findings)
        columns = _columns(rule, known, made, heads, findings)
        if rule.query.rows is not RowsPerMatch.ONE_ROW:
            rule = replace(RowRule.of(_with_columns_shown(rule.query, columns)), name=rule.name, span=rule.span)
        types = given_types(rule.query, columns, findings.error)
        attributes = tuple(replace(each, type=types.get(each.name)) for each in rule.composite.attributes)
        read = tuple(Attribute(name, columns.get(name), optional=True, by_use=True) for name in rule.query.read())
        done[number] = replace(rule, composite=replace(rule.composite, attributes=attributes), columns=read)
        made.setdefault(rule.composite.name, done[number].composite)
    found = tuple(done[number] for number in range(len(rules.row_rules)))
    _warn_of_waiting(found, rules, findings)
    reads: dict[str, EventType] = {}
    anything: EventType | None = None
    for rule in found:
        if rule.source is None:
            anything = _with_columns(anything or EventType(ALL_EVENTS), rule)
        else:
            reads[rule.source] = _with_columns(reads.get(rule.source, EventType(rule.source)), rule)
    return CheckedRows(found, reads, anything)


def _in_order(rules: Sequence[RowRule]) -> list[int]:
    """The places of rules, those whose matches others read before these."""
    by_type: dict[str, list[int]] = {}
    for number, rule in enumerate(rules):
        by_type.setdefault(rule.composite.name, []).append(number)
    edges = {name: [rules[number].query.source for number in numbers] for name, numbers in by_type.items()}
    return [number for component in components(edges) for name in component for number in by_type[name]]


def _check_form(rule: RowRule, findings: Findings) -> None:
    """Rows of a stream come in the order of time."""
    for place, key in enumerate(rule.query.order):
        if place or key.column != TIME_ATTRIBUTE or key.descending:
            findings.error(
                "order",
                "rows of events come in the order of their time",
                key.span,
                "write ORDER BY time; what orders simultaneous events is the option sequence",
            )


def _with_columns_shown(query: RowQuery, columns: Columns) -> RowQuery:
    """A query for all rows that says which columns they have: those of the rows and measures, where it has no SELECT.

    The time is left out, as it is that of the event, and so is the type, as the event has its own.
    """
    select = query.select
    if select is None:
        names = (name for name in query.given(tuple(columns)) if name not in _OWN)
        select = tuple(Named(name, Column(name, None, query.span), query.span) for name in names)
    plain = (each for each in select if not _is_its_time(each))
    return replace(query, select=tuple(plain))


def _is_its_time(shown: Named) -> bool:
    is_time = isinstance(shown.expression, Column) and shown.expression.name == TIME_ATTRIBUTE
    return is_time and shown.name == TIME_ATTRIBUTE


def _columns(
    rule: RowRule, known: KnownTypes, made: Mapping[str, EventType], heads: set[str], findings: Findings
) -> Columns:
    """The columns that the rows of a rule have and their types, None for those that only the data can tell."""
    name = rule.source
    if name is None:
        return _of_all(rule, known, findings)
    event_type = made.get(name) or (None if name in known.conflicting else known.get(name))
    if event_type is None or (name in heads and not event_type.attributes):
        if known.closed and name not in heads and name not in known.conflicting:
            hint = known.similar.hint(name) or f"declare it, or write FROM {ALL_EVENTS} for events of all types"
            findings.error("unknown-type", f"there is no event type '{name}'", find_name(rule.span, name), hint)
        return {**dict.fromkeys(rule.query.read()), **_OWN}
    return {**{attribute.name: attribute.type for attribute in event_type.attributes}, **_OWN}


def _of_all(rule: RowRule, known: KnownTypes, findings: Findings) -> Columns:
    found: Columns = {}
    if not known.closed:
        found |= dict.fromkeys(rule.query.read())
    for event_type in (*known.declared.values(), *known.data.values()):
        for attribute in event_type.attributes:
            before = found.get(attribute.name)
            kinds = {before, attribute.type} - {None}
            if kinds == {ValueType.INT, ValueType.FLOAT}:
                found[attribute.name] = ValueType.FLOAT
            elif len(kinds) > 1 and attribute.name in rule.query.read():
                findings.error(
                    "type-conflict",
                    f"'{attribute.name}' is {before.value if before else ''} in events of one type and "
                    f"{attribute.type.value if attribute.type else ''} in those of type '{event_type.name}'",
                    find_name(rule.span, attribute.name),
                    "read the events of one type, or rename an attribute",
                )
            elif before is None:
                found[attribute.name] = attribute.type
    return {**found, **_OWN}


def _with_columns(event_type: EventType, rule: RowRule) -> EventType:
    """A type with the attributes that a rule reads of it, too."""
    more = (each for each in rule.columns if each.name not in _OWN and event_type.attribute(each.name) is None)
    return replace(event_type, attributes=(*event_type.attributes, *more))


def with_rows(read: Schema, rows: CheckedRows, known: KnownTypes) -> Schema:
    """Add what rules over rows read of events from outside; an event that lacks it has NULL there."""
    if not rows.rules:
        return read
    found = dict(read)
    for name, event_type in rows.reads.items():
        if name in known.declared or (name in known.composites and name not in known.data):
            continue
        found[name] = _joined(found[name], event_type, known) if name in found else _known(event_type, known)
    if rows.anything is None:
        return Schema(found.values(), closed=read.closed)
    if known.closed:
        found |= {name: _known(EventType(name), known) for name in known.data if name not in found}
    for name, event_type in found.items():
        if name not in known.declared:
            own = known.data.get(name)
            more = [a for a in rows.anything.attributes if own is None or own.attribute(a.name) is not None]
            found[name] = _joined(event_type, replace(rows.anything, attributes=tuple(more)), known)
    return Schema(found.values(), closed=read.closed, others=None if known.closed else rows.anything)


def _joined(read: EventType, more: EventType, known: KnownTypes) -> EventType:
    added = (each for each in more.attributes if read.attribute(each.name) is None)
    return replace(
        read,
        attributes=(
            *read.attributes,
            *_known(replace(more, name=read.name, attributes=tuple(added)), known).attributes,
        ),
    )


def _known(event_type: EventType, known: KnownTypes) -> EventType:
    """A type with the types of attributes that the data's own schema tells."""
    data = known.data.get(event_type.name)
    if data is None:
        return event_type
    own = {each.name: each for each in data.attributes}
    return replace(event_type, attributes=tuple(own.get(each.name, each) for each in event_type.attributes))


def refuse_row_cycles(rules: RuleSet, findings: Findings) -> None:
    """Refuse rules over rows whose rows are made of their own matches.

    A match is decided by rows that come after its last one, so what is made of it could not be among its rows in time.
    """
    if not rules.row_rules:
        return
    edges: dict[str, list[str]] = {}
    for rule in rules.all_rules:
        edges.setdefault(rule.composite.name, []).extend(sorted(types_read(rule)))
    for component in components(edges):
        if len(component) == 1 and component[0] not in edges[component[0]]:
            continue
        for rule in rules.row_rules:
            if rule.composite.name in component:
                others = " and ".join(f"'{name}'" for name in component if name != rule.composite.name)
                way = f", by way of {others}" if others else ""
                findings.error(
                    "cycle",
                    f"the rows of '{rule.name}' are made of its own matches{way}",
                    find_name(rule.span, rule.query.source),
                    "let one of the rules read other events",
                )


def _warn_of_waiting(found: Sequence[RowRule], rules: RuleSet, findings: Findings) -> None:
    """Warn of matches that others read and that may be decided late or never: all that lies behind them waits."""
    for rule in found:
        wait = endless_wait(rule.query)
        readers = [each for each in rules.all_rules if rule.composite.name in types_read(each)]
        if wait is not None and readers:
            findings.warning(
                "endless-wait",
                f"rule '{readers[0].name}' reads '{rule.composite.name}', whose matches may wait at "
                f"{written(wait.part)} for a row that never comes, and all later events wait with them",
                wait.part.span or rule.span,
                wait.hint,
            )
