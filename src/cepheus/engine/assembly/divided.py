"""Rules over uncertain events, each with the engine that can run it: the compiled one, or the reference.

What has no compiled form takes only its own rule to the reference engine, and the rules that it feeds or is fed by: so
the parts have nothing to tell one another, and each is given all events from outside. What they make is put into the
order in which one engine would have made it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.calculus import DEFAULT_CALCULUS, Calculus
from cepheus.core.errors import OptionError, UnsupportedError
from cepheus.core.event import Event, EventId
from cepheus.core.options import DEFAULT_LIMIT
from cepheus.core.schema import Schema
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.limits import too_many_composites
from cepheus.engine.base.refusals import no_such_rule, tesla_rules
from cepheus.engine.base.snapshot import pack, restoring, unpack
from cepheus.engine.base.ties import TieCounts
from cepheus.engine.lowered.snapshot import Saved, of_rules
from cepheus.engine.reference.engine import ReferenceEngine
from cepheus.engine.uncertain.engine import UncertainEngine
from cepheus.engine.uncertain.hand_over import past_of
from cepheus.kernel.strings import StringTable
from cepheus.plan.split.component import components
from cepheus.rules.model import AnyRule, Rule

_HEADER = form.record(places=form.listing(form.row(form.text, form.count)), fed=form.count)

Part = UncertainEngine | ReferenceEngine


class DividedEngine:
    """A compiled engine, and beside it reference engines for the rules that it cannot run.

    The first part is the compiled engine. Rules leave it when an event or a rule comes that leads them beyond its
    closed forms, each time for a reference engine of their own.
    """

    name: ClassVar[str] = "divided"

    def __init__(self, limit: int = DEFAULT_LIMIT, calculus: Calculus = DEFAULT_CALCULUS) -> None:
        self._limit = limit
        self._calculus = calculus
        self._compiled = UncertainEngine(limit, calculus)
        self._others: list[ReferenceEngine] = []
        self._rules: dict[str, Rule] = {}
        self._part_of: dict[str, int] = {}
        self._fed = 0

    @classmethod
    def of(cls, compiled: UncertainEngine, limit: int, calculus: Calculus) -> DividedEngine:
        """Go on with a compiled engine, which may be asked for more than it can do."""
        engine = cls(limit, calculus)
        engine._compiled = compiled
        saved = compiled.saved()
        engine._fed = saved.fed
        engine._rules = {str(deployed.rule.name): deployed.rule for deployed in saved.rules}
        engine._part_of = dict.fromkeys(engine._rules, 0)
        return engine

    @classmethod
    def from_saved(cls, saved: Saved, limit: int, calculus: Calculus) -> DividedEngine:
        """Go on with what an engine for certain events remembers."""
        engine = cls(limit, calculus)
        engine._fed = saved.fed
        engine._rules = {str(deployed.rule.name): deployed.rule for deployed in saved.rules}
        groups = _feeding(list(engine._rules.values()))
        leaving = unable(groups, lambda names: engine._compiled.could_take_over(of_rules(saved, names)))
        left = {name for group in leaving or groups for name in group}
        staying = of_rules(saved, engine._rules.keys() - left)
        engine._compiled.take_over(staying, StringTable(staying.texts))
        engine._part_of = {name: int(name in left) for name in engine._rules}
        past, reference = past_of(saved), ReferenceEngine(limit, calculus)
        reference.adopt(replace(past, rules=tuple(each for each in past.rules if str(each[0].name) in left)))
        engine._others.append(reference)
        return engine

    @property
    def alone(self) -> ReferenceEngine | None:
        """The only part that has rules, if that is a reference engine."""
        return self._others[0] if len(self._others) == 1 and not self.compiled else None

    @property
    def earlier(self) -> TieCounts:
        """What the compiled engine has counted of simultaneous events."""
        return self._compiled.ties

    @property
    def _parts(self) -> tuple[Part, ...]:
        return self._compiled, *self._others

    @property
    def compiled(self) -> frozenset[str]:
        """The names of the rules that the compiled engine runs."""
        return frozenset(name for name, part in self._part_of.items() if part == 0)

    @property
    def ties(self) -> TieCounts:
        """What all parts have counted of simultaneous events."""
        return sum((part.ties for part in self._parts), TieCounts.none())

    # ---- Rules -----------------------------------------------------------------------------------------------------

    def deploy(self, rules: Sequence[AnyRule], schema: Schema) -> None:
        """Add rules, each to the part that runs what it is fed by or feeds; all or none."""
        fresh = {str(rule.name): rule for rule in tesla_rules(rules, self.name)}
        for name in fresh.keys() & self._rules.keys():
            raise OptionError.of("deploy", f"a rule named '{name}' is already deployed", hint="withdraw it first")
        groups = [
            ([name for name in names if name in fresh], [name for name in names if name not in fresh])
            for names in _feeding([*self._rules.values(), *fresh.values()])
        ]
        groups = [(new, known) for new, known in groups if new]
        for new, known in groups:
            if len({self._part_of[name] for name in known}) > 1:
                raise _ties_parts(fresh[new[0]])
        added: list[str] = []
        try:
            for new, known in groups:
                self._add([fresh[name] for name in new], known, schema)
                added += new
        except Exception:
            for name in added:
                self.withdraw(name)
            raise
        self._rules |= fresh

    def _add(self, rules: Sequence[Rule], known: Sequence[str], schema: Schema) -> None:
        """Add rules that belong together, beside those known ones that they belong to."""
        part = self._part_of[known[0]] if known else 0
        if part == 0:
            try:
                self._compiled.deploy(rules, schema)
            except UnsupportedError:
                part = self._leave(known)
        if part > 0:
            self._others[part - 1].deploy(rules, schema)
        self._rules |= {str(rule.name): rule for rule in rules}
        self._part_of |= {str(rule.name): part for rule in rules}

    def withdraw(self, name: str) -> None:
        """Remove a rule."""
        if name not in self._rules:
            raise OptionError.of("withdraw", f"no rule named '{name}' is deployed")
        self._parts[self._part_of[name]].withdraw(name)
        del self._rules[name], self._part_of[name]

    def set_factor(self, rule: str, factor: float) -> None:
        """Set how far a rule is to be trusted."""
        if rule not in self._rules:
            raise no_such_rule(rule, self._rules)
        self._parts[self._part_of[rule]].set_factor(rule, factor)

    def _leave(self, names: Sequence[str]) -> int:
        """Let rules leave the compiled engine, with all that it remembers; the number of the part that has them now."""
        past = self._compiled.past()
        reference = ReferenceEngine(self._limit, self._calculus)
        reference.adopt(replace(past, rules=tuple(each for each in past.rules if str(each[0].name) in names)))
        self._others.append(reference)
        for name in names:
            self._compiled.withdraw(name)
            self._part_of[name] = len(self._others)
        return len(self._others)

    def _make_room_for(self, batch: EventBatch) -> None:
        """Let those rules leave that the compiled engine cannot go on with as soon as it has seen some events."""
        groups = _feeding([rule for name, rule in self._rules.items() if self._part_of[name] == 0])
        leaving = unable(groups, lambda names: self._compiled.could_run(names, batch))
        self._leave([name for group in leaving or groups for name in group])

    # ---- Events ----------------------------------------------------------------------------------------------------

    def feed(self, batch: EventBatch) -> EventBatch:
        """Process events in total order."""
        try:
            first = self._compiled.feed(batch)
        except UnsupportedError:
            self._make_room_for(batch)
            first = self._compiled.feed(batch)
        made = [first, *(other.feed(batch) for other in self._others)]
        begin = self._fed
        self._fed += len(batch)
        ids = range(begin, self._fed) if batch.ids is None else batch.id_list()
        assert ids is not None
        return self._in_order(made, list(zip(batch.times.tolist(), ids, strict=True)))

    def feed_event(self, event: Event) -> list[Event]:
        """Process one event."""
        try:
            first = self._compiled.feed_event(event)
        except UnsupportedError:
            self._make_room_for(EventBatch.from_events([event]))
            first = self._compiled.feed_event(event)
        made = [first, *(other.feed_event(event) for other in self._others)]
        position = self._fed
        self._fed += 1
        there = [each for each in made if each]
        if len(there) < 2:
            return there[0] if there else []
        root = (event.time, position if event.id is None else event.id)
        batches = [EventBatch.from_events(each) for each in there]
        return self._in_order(batches, [root]).to_events()

    def advance(self, time: int) -> EventBatch:
        """Evaluate the rules whose moments have come, and forget what no window can reach any more."""
        return self._in_order([part.advance(time) for part in self._parts], [])

    def begin(self, time: int) -> None:
        """Let time begin, before the first event."""
        for part in self._parts:
            part.begin(time)

    def next_deadline(self) -> int | None:
        """The next moment at which a rule is evaluated, None if none is to come."""
        return min((time for part in self._parts if (time := part.next_deadline()) is not None), default=None)

    def last_deadline(self) -> int | None:
        """The last moment that an event has set, None if nothing waits for one."""
        return max((time for part in self._parts if (time := part.last_deadline()) is not None), default=None)

    def _in_order(self, batches: Sequence[EventBatch], events: Sequence[tuple[int, EventId]]) -> EventBatch:
        """What the parts made of events, given by time and id, as one engine would have made it.

        Composite events come right after the event that completed them, in the order of the rules, and so do those that
        they complete; what moments complete comes before the events of their time.
        """
        there = [batch for batch in batches if len(batch)]
        if len(there) < 2:
            return there[0] if there else EventBatch.empty()
        together = EventBatch.concat(there)
        assert together.provenance is not None
        assert together.ids is not None
        places = {name: place for place, name in enumerate(self._rules)}
        provenance = together.provenance
        rules = [places[provenance.rules[code]] for code in provenance.rule_codes.tolist()]
        times, ids = together.times.tolist(), list(together.id_list() or ())
        known = {*events, *zip(times, ids, strict=True)}
        children: dict[tuple[int, EventId], list[int]] = {}
        roots: list[tuple[int, int, int, tuple[int, EventId] | int]] = []
        for place, made_of in enumerate(provenance.made_of):
            parent = (times[place], made_of[0]) if made_of else None
            if parent in known and parent is not None:
                children.setdefault(parent, []).append(place)
            else:
                roots.append((times[place], 0, rules[place], place))
        roots += [(event[0], 1, number, event) for number, event in enumerate(dict.fromkeys(events))]
        roots.sort(key=lambda root: root[:3])
        order: list[int] = []
        for _, _, _, root in roots:
            queue: list[int] = [root] if isinstance(root, int) else self._completed(children, root, rules)
            for each in queue:
                queue += self._completed(children, (times[each], ids[each]), rules)
            order += queue
        return together.take(np.array(order, np.int64))

    def _completed(
        self, children: dict[tuple[int, EventId], list[int]], event: tuple[int, EventId], rules: Sequence[int]
    ) -> list[int]:
        """What an event completes, in the order of the rules; an error if it is too much."""
        found = sorted(children.pop(event, ()), key=lambda place: rules[place])
        if len(found) > self._limit:
            raise too_many_composites(list(self._rules.values())[rules[found[-1]]], self._limit)
        return found

    # ---- Snapshots -------------------------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """The snapshots of all parts as one."""
        header = {"places": [[name, part] for name, part in self._part_of.items()], "fed": self._fed}
        return pack(self.name, header, {str(number): part.snapshot() for number, part in enumerate(self._parts)})

    def restore(self, data: bytes) -> None:
        """Take over the snapshots of all parts."""
        with restoring(self):
            header, blobs = unpack(self.name, data)
            found = _HEADER(header, "$")
            form.only_blobs(blobs, map(str, range(len(blobs))))
            form.require("0" in blobs, "$", "the compiled part is missing")
            compiled = UncertainEngine(self._limit, self._calculus)
            compiled.restore(blobs["0"])
            others = [ReferenceEngine(self._limit, self._calculus) for _ in range(1, len(blobs))]
            for number, other in enumerate(others, 1):
                other.restore(blobs[str(number)])
            parts: tuple[Part, ...] = (compiled, *others)
            rules = [{str(rule.name): rule for rule in part.rules} for part in parts]
            there = all(part < len(rules) and name in rules[part] for name, part in found["places"])
            form.require(there, "$.places", "there is no such rule")
            self._compiled, self._others, self._fed = compiled, others, found["fed"]
            self._part_of = dict(found["places"])
            self._rules = {name: rules[part][name] for name, part in found["places"]}


def _feeding(rules: Sequence[Rule]) -> list[list[str]]:
    """The names of rules in groups of those that feed one another."""
    return [[str(member.rule.name) for member in component.members] for component in components(rules)]


def unable(groups: Sequence[list[str]], can: Callable[[Collection[str]], bool]) -> list[list[str]]:
    """The groups that cannot be run; those that can are found half by half, as most can.

    >>> unable([["a"], ["b"], ["c"], ["d"]], lambda names: "c" not in names)
    [['c']]
    """
    if not groups or can([name for group in groups for name in group]):
        return []
    if len(groups) == 1:
        return list(groups)
    middle = len(groups) // 2
    return unable(groups[:middle], can) + unable(groups[middle:], can)


def _ties_parts(rule: Rule) -> UnsupportedError:
    return UnsupportedError.of(
        "unsupported",
        f"rule '{rule.name}' brings together rules that run apart, as some have uncertain numbers beyond closed forms",
        span=rule.span,
        hint="deploy it together with them, or choose the engine reference from the start",
    )
