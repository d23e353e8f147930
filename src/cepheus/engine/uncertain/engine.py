"""The engine for uncertain events: lowered rules with errors next to values and probabilities on the way."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, replace
from typing import ClassVar

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.calculus import DEFAULT_CALCULUS, Calculus
from cepheus.core.distribution import Distribution, Normal, Uniform
from cepheus.core.errors import UnsupportedError
from cepheus.core.event import Event
from cepheus.core.options import DEFAULT_LIMIT
from cepheus.core.schema import Schema
from cepheus.core.values import INT_MAX
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.interface import Past
from cepheus.engine.base.refusals import no_such_rule, require_factor
from cepheus.engine.base.snapshot import pack, restoring, unpack
from cepheus.engine.lowered.engine import LoweredEngine
from cepheus.engine.lowered.intake import BatchWords
from cepheus.engine.lowered.kernel_parts import Flattened, Kernel
from cepheus.engine.lowered.outlet import Found
from cepheus.engine.lowered.snapshot import Saved, of_rules, write
from cepheus.engine.uncertain.answers import Answers
from cepheus.engine.uncertain.error_lists import ListedErrors, Lists, mark_listed
from cepheus.engine.uncertain.error_profiles import (
    Familiar,
    Key,
    Profile,
    profile_of,
    profiles_in,
    require_closed,
    with_composites,
)
from cepheus.engine.uncertain.hand_over import past_of, require_errors
from cepheus.engine.uncertain.inputs import ErrorIntake, UncertainInput, doubts_of, with_declared
from cepheus.engine.uncertain.kernel import replay, run
from cepheus.engine.uncertain.outputs import ErrorOutlet
from cepheus.engine.uncertain.state import Of, UncertainAddresses
from cepheus.engine.uncertain.tables import UncertainTables, flatten_uncertain
from cepheus.kernel.context import Input
from cepheus.kernel.memory import At
from cepheus.kernel.state import Status
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
    form.boolean,
)
_HEADER = form.record(
    profiles=form.listing(_PROFILE),
    doubtful=form.listing(form.text),
    declared=form.by_name(form.by_name(form.distribution)),
    others=form.listing(form.maybe(form.distribution)),
    factors=form.by_name(form.probability),
)


class UncertainEngine(LoweredEngine):
    """Runs rules over uncertain events by closed forms.

    UnsupportedError, with nothing changed, where a rule or an event is beyond these: the reference engine goes on then.
    """

    name: ClassVar[str] = "uncertain"
    kernel: ClassVar[Kernel] = Kernel(run, replay)

    def __init__(self, limit: int = DEFAULT_LIMIT, calculus: Calculus = DEFAULT_CALCULUS) -> None:
        self._calculus = calculus
        self._profiles: dict[Key, Profile] = {}
        self._doubtful: set[str] = set()
        self._declared: dict[str, dict[str, Distribution]] = {}
        self._listed = ListedErrors()
        self._factors: dict[str, float] = {}
        super().__init__(limit)

    def _new_lowering(self, strings: StringTable) -> Lowering:
        """What rules are lowered by: with slots for the errors and doubts that events are known to have."""
        uncertain: dict[str, set[str]] = {}
        for event_type, attribute in self._profiles:
            uncertain.setdefault(event_type, set()).add(attribute)
        self._lowered_for = frozenset(self._profiles), frozenset(self._doubtful)
        return Lowering(strings, uncertain, frozenset(self._doubtful))

    def _begin_own(self) -> None:
        self._familiar = Familiar(self._reads)
        self._table = UncertainAddresses()
        self._context[At.MEMORY] = self._table.address
        self._table[Of.NEGATION_AS_PRINTED] = int(self._calculus.negation == "as-printed")
        self._table[Of.CHOICE_AS_PRINTED] = int(self._calculus.choice == "as-printed")
        self._lists = Lists(self._table, self._calculus)
        self._answers = Answers(self._table, self._listed, self._lists)
        self._uncertain_tables: UncertainTables | None = None
        self._point_at_listed()

    def _point_at_listed(self) -> None:
        """Point at the components of distributions, which may have been written anew."""
        self._table.lend(Of.SPREADS, self._listed.rows)
        self._table.lend(Of.RANGES, self._listed.ranges)

    def _tidy(self) -> None:
        """Free the texts and distributions that nothing needs, now and then."""
        super()._tidy()
        if self._listed.is_due:
            self._refresh()
            live = np.zeros(len(self._listed.listed), np.bool_)
            mark_listed(live, self._lowering, self._state)
            for error in self._declared_to_list():
                live[self._listed[error]] = True
            self._listed.keep(live)
            self._point_at_listed()

    def _declared_to_list(self) -> list[Distribution]:
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
        for error in self._declared_to_list():
            self._listed.number(error)
        self._point_at_listed()

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

    def _flatten(self) -> Flattened:
        program, tables = flatten_uncertain(self._lowering, self._factors)
        self._uncertain_tables = tables
        near = tables.band_indexes
        return Flattened(
            program,
            fields=1 + 3 * tables.most_outputs,
            members=len(near.members),
            listening=np.flatnonzero(np.diff(near.types)).tolist(),
        )

    def _fit_own(self, longest: int, width: int) -> None:
        assert self._uncertain_tables is not None
        self._table[Of.FIRST_EXTRA] = width
        self._table.use(self._uncertain_tables, longest)
        self._error_intake = ErrorIntake(self._lowering, self._listed)
        self._error_outlet = ErrorOutlet(self._order, width, self._lists, self._listed)

    def _finish(self) -> None:
        self._lists.begin()
        super()._finish()

    def find(self, given: Input, *, lent: bool = False) -> Found | None:
        """Run the kernel over the input, and what it asks of Python; return what it found, None for nothing."""
        found = super().find(given, lent=lent)
        self._answers.finish()
        return found

    def find_event(self, event: Event, position: int) -> Found | None:
        """Process one event, the one at a position of the stream, and return what was found, None for nothing."""
        found = super().find_event(event, position)
        self._answers.finish()
        return found

    def _provide(self, status: Status) -> None:
        if status is not Status.OUTPUT_FULL or not self._lists.grow():
            super()._provide(status)

    # ---- Events ----------------------------------------------------------------------------------------------------

    def feed(self, batch: EventBatch) -> EventBatch:
        """Process events in total order."""
        self._tidy()
        batch = with_declared(batch, self._declared)
        self._admit(batch)
        given = self.prepare(BatchWords(batch, self._fed, self._lowering.strings))
        given.rows = self.relevant_rows(batch, given)
        self._fed += len(batch)
        found = self.find(given)
        return EventBatch.empty() if found is None else self._error_outlet.batch(found)

    def feed_event(self, event: Event) -> list[Event]:
        """Process one event."""
        if not self._is_known(event):
            return self.feed(EventBatch.from_events([event])).to_events()
        self._tidy()
        position = self._fed
        self._fed += 1
        found = self.find_event(event, position)
        return [] if found is None else self._error_outlet.events(found)

    def _is_known(self, event: Event) -> bool:
        """Whether errors of the kinds that an event has were seen before, so that there is nothing to learn."""
        if event.probability != 1.0 and event.type not in self._doubtful:
            return False
        return self._familiar.has_errors(event)

    def _single_input(self) -> UncertainInput:
        return UncertainInput(self._lowering, self._listening, self._declared, self._listed)

    def _admit(self, batch: EventBatch) -> None:
        """Learn what errors the events have; UnsupportedError if the rules cannot deal with them."""
        if batch.probabilities is None and self._familiar.has_all(batch):
            return
        found = profiles_in(batch)
        doubtful: set[str] = set()
        if batch.probabilities is not None:
            doubtful = {batch.types[code] for code in np.unique(batch.codes[doubts_of(batch) > 0.0]).tolist()}
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

    def could_run(self, names: Collection[str], batch: EventBatch) -> bool:
        """Whether some of the rules could go on here after events of such errors; nothing changes."""
        trial = UncertainEngine(self._limit, self._calculus)
        trial._profiles, trial._doubtful = dict(self._profiles), set(self._doubtful)
        saved = of_rules(self.saved(), names, without_events=True)
        try:
            trial.take_over(saved, StringTable(saved.texts))
            trial._admit(with_declared(batch, trial._declared))
        except UnsupportedError:
            return False
        return True

    def could_take_over(self, saved: Saved) -> bool:
        """Whether an engine like this could go on with some rules; nothing changes."""
        saved = of_rules(saved, {str(deployed.rule.name) for deployed in saved.rules}, without_events=True)
        try:
            UncertainEngine(self._limit, self._calculus).take_over(saved, StringTable(saved.texts))
        except UnsupportedError:
            return False
        return True

    def _reads(self, key: Key) -> bool:
        layout = self._lowering.types.get(key[0])
        return layout is not None and key[1] in layout.slots

    def prepare(self, words: BatchWords) -> Input:
        """A batch as kernel input, with the errors and doubts of its events."""
        batch = words.batch
        if not batch.errors and batch.probabilities is None:
            return super().prepare(words)
        self._learn(batch)
        rows = self._listed.rows, self._listed.ranges
        columns, slots = self._error_intake.words(batch)
        if rows[0] is not self._listed.rows or rows[1] is not self._listed.ranges:
            self._point_at_listed()
        return self._intake.prepare(words, columns, slots)

    # ---- Snapshots -------------------------------------------------------------------------------------------------

    def take_over(self, saved: Saved, strings: StringTable) -> None:
        """Take over what a snapshot holds, with the errors that the types of its rules declare."""
        for deployed in saved.rules:
            self._declare(deployed.schema)
        super().take_over(saved, strings)

    def past(self) -> Past:
        """What is remembered, for the reference engine to go on with."""
        past = past_of(self.saved(), self._listed.listed)
        return replace(past, errors=self._declared, factors=self._factors)

    def snapshot(self) -> bytes:
        """The rules, the stored events and what is known of errors."""
        header = {
            "profiles": [[*key, *astuple(profile)] for key, profile in self._profiles.items()],
            "doubtful": sorted(self._doubtful),
            "declared": {
                event_type: {name: str(error) for name, error in errors.items()}
                for event_type, errors in self._declared.items()
            },
            "others": [None if error is None else str(error) for error in self._listed.listed],
            "factors": self._factors,
        }
        return pack(self.name, header, {"events": write(self.name, self.saved())})

    def restore(self, data: bytes) -> None:
        """Take over a snapshot: deploy its rules anew and put its events back."""
        with restoring(self):
            header, blobs = unpack(self.name, data)
            found = _HEADER(header, "$")
            form.only_blobs(blobs, ("events",))
            saved = self._read(blobs["events"])
            self._profiles = {(event_type, name): Profile(*profile) for event_type, name, *profile in found["profiles"]}
            self._doubtful = set(found["doubtful"])
            self._declared, self._factors = found["declared"], found["factors"]
            self._listed = ListedErrors(found["others"])
            require_errors(saved, found["others"], self._profiles)
            names = {str(deployed.rule.name) for deployed in saved.rules}
            form.require(self._factors.keys() <= names, "$.factors", "there is no such rule")
            self.take_over(saved, StringTable(saved.texts))
            self._require_closed()
