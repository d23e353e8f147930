"""The engine for uncertain events: as the columns engine, with errors next to values and probabilities on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.calculus import DEFAULT_CALCULUS, Calculus
from cepheus.core.distribution import Distribution, Normal, Uniform
from cepheus.core.error_column import ErrorColumn, ErrorKind
from cepheus.core.errors import UnsupportedError
from cepheus.core.event import Event, weigh
from cepheus.core.options import DEFAULT_LIMIT
from cepheus.core.schema import Schema
from cepheus.core.values import INT_MAX
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.factors import no_such_rule, require_factor
from cepheus.engine.base.past import Past
from cepheus.engine.base.snapshot import pack, restoring, unpack
from cepheus.engine.columns.engine import ColumnsEngine
from cepheus.engine.lowered.intake import BatchWords, Intake
from cepheus.engine.lowered.outlet import Found, to_batch
from cepheus.engine.lowered.snapshot import Saved, read, require_texts, write
from cepheus.engine.uncertain.error_plan import ErrorPlan, error_plan
from cepheus.engine.uncertain.kernel import run
from cepheus.engine.uncertain.lists import Lists
from cepheus.engine.uncertain.others import OtherErrors, mark_others
from cepheus.engine.uncertain.past import past_of, require_errors
from cepheus.engine.uncertain.profile import (
    Familiar,
    Key,
    Profile,
    profile_of,
    profiles_in,
    require_closed,
    with_composites,
)
from cepheus.engine.uncertain.replay import replay
from cepheus.engine.uncertain.single import UncertainInput
from cepheus.engine.uncertain.state import Of, WorthTable
from cepheus.engine.uncertain.tables import Worths, flatten_probable
from cepheus.kernel.compiled import announce_compilation
from cepheus.kernel.context import Input, Scratch
from cepheus.kernel.memory import At, address
from cepheus.kernel.output import Output
from cepheus.kernel.program import Program, Words
from cepheus.kernel.state import OUTPUT_HEADER, Status
from cepheus.kernel.strings import StringTable
from cepheus.plan.pattern.lower import Lowering
from cepheus.rules.json_fields import integer_between
from cepheus.rules.model import AnyRule, Rule
from cepheus.rules.resolve import resolve

_PROFILE = form.row(
    form.text,
    form.text,
    form.count,
    integer_between(1, INT_MAX),
    form.boolean,
    form.boolean,
    form.boolean,
)
_HEADER = form.record(
    profiles=form.listing(_PROFILE),
    doubtful=form.listing(form.text),
    declared=form.by_name(form.by_name(form.distribution)),
    others=form.listing(form.maybe(form.distribution)),
    factors=form.by_name(form.probability),
)


class UncertainEngine(ColumnsEngine):
    """Runs rules over uncertain events by closed forms.

    UnsupportedError, with nothing changed, where a rule or an event is beyond these: the reference engine goes on then.
    """

    name: ClassVar[str] = "probable"

    def __init__(self, limit: int = DEFAULT_LIMIT, calculus: Calculus = DEFAULT_CALCULUS) -> None:
        self._calculus = calculus
        self._profiles: dict[Key, Profile] = {}
        self._doubtful: set[str] = set()
        self._declared: dict[str, dict[str, Distribution]] = {}
        self._others = OtherErrors()
        self._factors: dict[str, float] = {}
        self._error_plans: dict[tuple[tuple[str, ...], tuple[str, ...], bool], ErrorPlan] = {}
        super().__init__(limit)

    def _begin(self, strings: StringTable) -> None:
        super()._begin(strings)
        self._familiar = Familiar(self._reads)
        uncertain: dict[str, set[str]] = {}
        for event_type, attribute in self._profiles:
            uncertain.setdefault(event_type, set()).add(attribute)
        self._lowered_for = frozenset(self._profiles), frozenset(self._doubtful)
        self._lowering = Lowering(strings, uncertain, frozenset(self._doubtful))
        self._intake = Intake(self._lowering, ())
        self._table = WorthTable()
        self._context[At.MEMORY] = self._table.address
        self._table[Of.NEGATION_AS_PRINTED] = int(self._calculus.negation == "as-printed")
        self._lists = Lists(self._table, self._calculus)
        self._worths: Worths | None = None
        self._list_others()

    def _list_others(self) -> None:
        """Point at the components of distributions, which may have been written anew."""
        self._table.lend(Of.SPREADS, self._others.rows)
        self._table.lend(Of.RANGES, self._others.ranges)

    def _tidy(self) -> None:
        """Free the texts and distributions that nothing needs, now and then."""
        super()._tidy()
        if self._others.is_due:
            self._refresh()
            live = np.zeros(len(self._others.listed), np.bool_)
            mark_others(live, self._lowering, self._state)
            for error in self._declared_others():
                live[self._others[error]] = True
            self._others.keep(live)
            self._list_others()

    def _declared_others(self) -> list[Distribution]:
        declared = (error for errors in self._declared.values() for error in errors.values())
        return [error for error in declared if not isinstance(error, Normal | Uniform)]

    # ---- Rules -----------------------------------------------------------------------------------------------------

    def deploy(self, rules: Sequence[AnyRule], schema: Schema) -> None:
        """Add rules, all or none; they see the events fed from now on."""
        profiles = dict(self._profiles)
        for event_type in schema.values():
            for attribute in event_type.attributes:
                if attribute.error is not None:
                    key = (event_type.name, attribute.name)
                    profile = profile_of(attribute.error)
                    profiles[key] = profile | profiles.get(key, profile)
        self._expect(profiles, self._doubtful, [rule for rule in rules if isinstance(rule, Rule)])
        super().deploy(rules, schema)
        try:
            self._require_closed()
        except UnsupportedError:
            for rule in rules:
                self.withdraw(str(rule.name))
            raise
        self._declare(schema)
        self._familiar = Familiar(self._reads)

    def _declare(self, schema: Schema) -> None:
        for event_type in schema.values():
            errors = {a.name: a.error for a in event_type.attributes if a.error is not None}
            if errors:
                self._declared[event_type.name] = errors
        for error in self._declared_others():
            self._others.number(error)
        self._list_others()

    def withdraw(self, name: str) -> None:
        """Remove a rule and the columns that only it used."""
        super().withdraw(name)
        self._factors.pop(name, None)

    def set_factor(self, rule: str, factor: float) -> None:
        """Set what the probabilities of a rule's composite events are multiplied by from now on."""
        if rule not in self._rules:
            raise no_such_rule(rule, self._rules)
        self._factors[rule] = require_factor(factor)
        self._stale = True

    def _expect(self, profiles: Mapping[Key, Profile], doubtful: set[str], added: Sequence[Rule] = ()) -> None:
        """Make room for errors and doubts that have not been seen before; see to it that the rules can bear them."""
        rules = [resolve(deployed.rule) for deployed in self._rules.values()] + [resolve(rule) for rule in added]
        before = self._profiles, self._doubtful
        self._profiles, self._doubtful = with_composites(profiles, rules, doubtful), doubtful
        if (frozenset(self._profiles), frozenset(self._doubtful)) != self._lowered_for:
            saved = self.saved()
            try:
                self.take_over(saved, StringTable(saved.texts))
            except UnsupportedError:
                self._profiles, self._doubtful = before
                self.take_over(saved, StringTable(saved.texts))
                raise

    def _require_closed(self) -> None:
        for rule in self._lowering.rules.values():
            require_closed(rule, self._profiles)

    def _flatten(self) -> Program:
        program, self._worths = flatten_probable(self._lowering, self._factors)
        return program

    def _refresh(self) -> None:
        if not self._stale:
            return
        announce_compilation(run)
        super()._refresh()
        assert self._worths is not None
        width = OUTPUT_HEADER + max((rule.stride for rule in self._order), default=0)
        extra = 1 + 3 * self._worths.most_outputs
        if self._output.width < width + extra:
            self._output = Output(width + extra)
            self._context.use_output(self._output)
        self._table[Of.FIRST_EXTRA] = width
        self._first_extra = width
        self._error_plans = {}
        self._error_places: dict[str, Words] = {}
        for number, rule in enumerate(self._order):
            for k, output in enumerate(rule.outputs):
                if output.error_terms:
                    unknown = np.full(len(self._order), -1, np.int64)
                    self._error_places.setdefault(output.attribute, unknown)[number] = width + 1 + 3 * k
        longest = max((len(rule.steps) + len(rule.absences) for rule in self._order), default=0)
        self._table.use(self._worths, longest)
        near = self._worths.vicinities
        for kind in np.flatnonzero(np.diff(near.types)).tolist():
            self._listening[kind] = True
        self._scratch = Scratch.for_rules(longest, len(self._program.members) + len(near.members))
        self._context.use_scratch(self._scratch)

    def _kernel(self) -> int:
        return run(self._context.address)

    def _finish(self) -> None:
        self._lists.begin()
        super()._finish()

    def _provide(self, status: Status) -> None:
        if status is not Status.OUTPUT_FULL or not self._lists.grow():
            super()._provide(status)

    def _replay(self, kind: int, rows: Words, born: Words) -> Status:
        table = self._table.address
        return Status(replay(self._context.address, table, kind, address(rows), len(rows), address(born)))

    # ---- Events ----------------------------------------------------------------------------------------------------

    def feed(self, batch: EventBatch) -> EventBatch:
        """Process events in total order."""
        self._tidy()
        batch = self._with_declared(batch)
        self._admit(batch)
        given = self.prepare(BatchWords(batch, self._fed, self._lowering.strings))
        given.rows = self.relevant_rows(batch, given)
        self._fed += len(batch)
        found = self.find(given)
        return EventBatch.empty() if found is None else self._to_batch(found)

    def feed_event(self, event: Event) -> list[Event]:
        """Process one event."""
        if not self._is_known(event):
            return self.feed(EventBatch.from_events([event])).to_events()
        self._tidy()
        position = self._fed
        self._fed += 1
        found = self.find_event(event, position)
        return [] if found is None else self._events_of(found)

    def _is_known(self, event: Event) -> bool:
        """Tell whether errors of the kinds that an event has were seen before, so that there is nothing to learn."""
        if event.probability != 1.0 and event.type not in self._doubtful:
            return False
        return self._familiar.has_errors(event)

    def _single_input(self) -> UncertainInput:
        return UncertainInput(self._lowering, self._listening, self._declared, self._others)

    def _events_of(self, found: Found) -> list[Event]:
        """Give a few composite events one by one."""
        probabilities = found.field(self._first_extra).view(np.float64).tolist()
        errors = {name: list(column) for name, column in self._errors_of(found).items()}
        events = found.events()
        for at, (event, probability) in enumerate(zip(events, probabilities, strict=True)):
            weigh(event, probability, {name: error for name, row in errors.items() if (error := row[at]) is not None})
        return events

    def _with_declared(self, batch: EventBatch) -> EventBatch:
        """Give the errors that rules declare to the events that have none of their own."""
        if not self._declared:
            return batch
        errors = dict(batch.errors)
        for code, event_type in enumerate(batch.types):
            for name, error in self._declared.get(event_type, {}).items():
                column = ErrorColumn.of(errors.get(name, [None] * len(batch)))
                lacking = (batch.codes == code) & (column.kinds == ErrorKind.NONE)
                if lacking.any():
                    stacked = ErrorColumn.concat([column, ErrorColumn.of([error])])
                    errors[name] = stacked.take(np.where(lacking, len(batch), np.arange(len(batch))))
        return replace(batch, errors=errors) if errors else batch

    def _admit(self, batch: EventBatch) -> None:
        """Learn what errors the events have; UnsupportedError if the rules cannot deal with them."""
        if batch.probabilities is None and self._familiar.has_all(batch):
            return
        found = profiles_in(batch)
        doubtful: set[str] = set()
        if batch.probabilities is not None:
            doubtful = {batch.types[code] for code in np.unique(batch.codes[_doubts(batch) > 0.0]).tolist()}
        known = dict(self._profiles)
        for key, profile in found.items():
            if self._reads(key):
                known[key] = profile | known.get(key, profile)
        if known != self._profiles or not doubtful <= self._doubtful:
            before = self._profiles, self._doubtful
            self._expect(known, self._doubtful | doubtful)
            try:
                self._require_closed()
            except UnsupportedError:
                self._profiles, self._doubtful = before
                raise
        self._familiar.learn(found)

    def _reads(self, key: Key) -> bool:
        layout = self._lowering.types.get(key[0])
        return layout is not None and key[1] in layout.slots

    def prepare(self, words: BatchWords) -> Input:
        """Give a batch as kernel input, with the errors and doubts of its events."""
        batch = words.batch
        if not batch.errors and batch.probabilities is None:
            return super().prepare(words)
        self._learn(batch)
        plan = self._error_plan(batch)
        columns: list[np.ndarray[Any, Any]] = []
        for attribute in plan.attributes:
            columns += self._error_words(ErrorColumn.of(batch.errors[attribute]))
        if batch.probabilities is not None:
            columns.append(_doubts(batch))
        return self._intake.prepare(words, columns, plan.slots)

    def _error_plan(self, batch: EventBatch) -> ErrorPlan:
        """Tell which errors and doubts of a batch go where; that of batches alike is found out once."""
        key = (batch.types, tuple(batch.errors), batch.probabilities is None)
        if key not in self._error_plans:
            self._error_plans[key] = error_plan(self._lowering, batch)
        return self._error_plans[key]

    def _error_words(self, column: ErrorColumn) -> tuple[np.ndarray[Any, Any], ...]:
        """Give kinds and parameters as the kernel reads them: of the others, their numbers."""
        first = column.first
        if column.others:
            places = np.array([self._others.number(error) for error in column.others], float)
            self._list_others()
            foreign = column.kinds == ErrorKind.OTHER
            first = first.copy()
            first[foreign] = places[first[foreign].astype(np.int64)]
        return np.ascontiguousarray(column.kinds), np.ascontiguousarray(first), np.ascontiguousarray(column.second)

    def _to_batch(self, found: Found) -> EventBatch:
        probabilities = found.field(self._first_extra).view(np.float64)
        certain = probabilities[0] == 1.0 and probabilities.min() == 1.0
        return to_batch(found, None if certain else probabilities, self._errors_of(found))

    def _errors_of(self, found: Found) -> dict[str, ErrorColumn]:
        """Give the errors of attributes; which fields have those of an attribute depends on the rule."""
        errors = {}
        for attribute, by_rule in self._error_places.items():
            kinds, first, second = (
                found.fields_by_rule(np.where(by_rule < 0, -1, by_rule + part)) for part in range(3)
            )
            kinds = np.where(by_rule[found.rule] >= 0, kinds, ErrorKind.NONE)
            column = self._lists.described(
                found,
                attribute,
                self._others.column(kinds, first.view(np.float64), second.view(np.float64)),
                self._others,
            )
            if column.any:
                errors[attribute] = column
        return errors

    # ---- Snapshots -------------------------------------------------------------------------------------------------

    def take_over(self, saved: Saved, strings: StringTable) -> None:
        """Take over what a snapshot holds, with the errors that the types of its rules declare."""
        for deployed in saved.rules:
            self._declare(deployed.schema)
        super().take_over(saved, strings)

    def past(self) -> Past:
        """Give what is remembered, for the reference engine to go on with."""
        past = past_of(self.saved(), self._others.listed)
        return replace(past, errors=self._declared, factors=self._factors)

    def snapshot(self) -> bytes:
        """Give the rules, the stored events and what is known of errors."""
        header = {
            "profiles": [
                [*key, profile.widths, profile.components, profile.normal, profile.listed, profile.made]
                for key, profile in self._profiles.items()
            ],
            "doubtful": sorted(self._doubtful),
            "declared": {
                event_type: {name: str(error) for name, error in errors.items()}
                for event_type, errors in self._declared.items()
            },
            "others": [None if error is None else str(error) for error in self._others.listed],
            "factors": self._factors,
        }
        return pack(self.name, header, {"events": write(self.name, self.saved())})

    def restore(self, data: bytes) -> None:
        """Take over a snapshot: deploy its rules anew and put its events back."""
        with restoring(self):
            header, blobs = unpack(self.name, data)
            found = _HEADER(header, "$")
            form.only_blobs(blobs, ("events",))
            saved = read(self.name, blobs["events"])
            require_texts(saved, saved.texts)
            self._profiles = {(event_type, name): Profile(*profile) for event_type, name, *profile in found["profiles"]}
            self._doubtful = set(found["doubtful"])
            self._declared, self._factors = found["declared"], found["factors"]
            self._others = OtherErrors(found["others"])
            require_errors(saved, found["others"], self._profiles)
            names = {str(deployed.rule.name) for deployed in saved.rules}
            form.require(self._factors.keys() <= names, "$.factors", "there is no such rule")
            self.take_over(saved, StringTable(saved.texts))
            self._require_closed()


def _doubts(batch: EventBatch) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Give, for each event, the probability that it did not occur; a composite event counts as certain."""
    if batch.probabilities is None:
        return np.zeros(len(batch))
    doubts = 1.0 - batch.probabilities
    if batch.provenance is not None:
        doubts[[row for row, parts in enumerate(batch.provenance.made_of) if parts]] = 0.0
    return doubts
