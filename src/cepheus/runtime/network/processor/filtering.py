"""What a partial rule lets through to the father.

An event at the root of a partial rule that leads to no match may be dropped, unless its absence would let another
one be chosen that does lead somewhere: below ``last`` a dead event that follows a live one is sent as a mark, below
``first`` the dead event before a live one. And whatever is sent takes along what it looks at, so that the father,
which looks again, sees the same. See the page on exactness in the documentation.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheus.core.values import Value
from cepheus.engine.matching.matcher import Matcher
from cepheus.engine.matching.store import Record, Store
from cepheus.plan.partial import PartialRule
from cepheus.rules.comparisons import compare
from cepheus.rules.policies import Hides


@dataclass(slots=True)
class Opening:
    """A window that an awakening opened: from when to when, and which values events must have."""

    first: int
    last: int
    values: tuple[tuple[str, Value], ...] = ()

    def admits(self, record: Record) -> bool:
        """Whether the awakening asked for this event."""
        if not self.first <= record.time <= self.last:
            return False
        attributes = record.event.attributes
        return all(compare("=", attributes.get(name), value) for name, value in self.values)


@dataclass(slots=True)
class PartialFilter:
    """A partial rule at work at one processor.

    ``live`` is the time of the latest live event at the root that no dead one has been sent after.
    """

    part: PartialRule
    since: int | None
    pull: bool
    exact: bool
    matcher: Matcher = field(init=False)
    will_pull: bool = False
    stays_pulled: bool = False
    until: int | None = None
    live: int | None = None
    openings: list[Opening] = field(default_factory=list)
    count: int = 0
    _window: int = field(init=False)
    _hides: Hides = field(init=False)
    _drops: bool = field(init=False)
    _joined: bool = field(init=False)

    def __post_init__(self) -> None:
        self.matcher = Matcher.of_pattern(self.part.pattern, self.since)
        selection = self.part.selection
        self._hides = Hides.NOTHING if selection is None else selection.policy.record.hides
        self._window = 0 if selection is None else selection.window.duration
        self._drops = not self.part.keeps_all
        self._joined = self.part.joined

    def activate(self, since: int, now: int) -> None:
        """From now on filter: up to here everything was sent, so the next dead event must follow."""
        self.since = self.matcher.since = since
        self.live = now

    def settle_mode(self, now: int) -> None:
        """Begin to wait to be asked, if that was decided: the father knows it by now."""
        if self.will_pull:
            self.pull, self.will_pull, self.live = True, False, now

    def open(self, opening: Opening) -> None:
        """Take down what an awakening asked for; spans without values that touch become one, so that there are few."""
        if not opening.values:
            first, last = opening.first, opening.last
            apart = []
            for each in self.openings:
                if each.values or each.last < first - 1 or last + 1 < each.first:
                    apart.append(each)
                else:
                    first, last = min(first, each.first), max(last, each.last)
            self.openings, opening = apart, Opening(first, last)
        self.openings.append(opening)

    def waiting(self, record: Record) -> bool:
        """Whether an event that matches the root must wait to be asked for."""
        return self.pull and not any(opening.admits(record) for opening in self.openings)

    def root(self, record: Record, store: Store, at: int) -> list[Record]:
        """What must be sent because of an event at the root, which is accepted; the event itself comes first.

        What was sent up to the moment ``at`` may be left out, here and below.
        """
        if self.matcher.is_leaf:
            return [record]
        looked: list[Record] = []
        if not self.exact:
            return self.matcher.partakers(record, store)
        alive = self.matcher.leads_on(record, store, looked, at)
        found = [record, *looked]
        if not self._drops or (self.pull and self._hides is not Hides.NOTHING):
            return found
        if alive:
            self.live = record.time
            return found + (self._dead_before(record, store, at) if self._hides is Hides.LATER else [])
        return found if self._marks(record) else []

    def _marks(self, record: Record) -> bool:
        """Whether a dead event must be sent because it hides a live one before it."""
        if self._hides is not Hides.EARLIER or self.live is None or record.time - self.live > self._window:
            return False
        if not self._joined:
            self.live = None
        return True

    def _dead_before(self, record: Record, store: Store, at: int) -> list[Record]:
        """The dead events that hide a live one: the latest before it, or all if others decide on candidates."""
        column = store.column(record.type)
        _, place = column.within(record.time, record.time)
        while place < len(column.records) and column.records[place] is not record:
            place += 1
        found: list[Record] = []
        while place:
            place -= 1
            other = column.records[place]
            if record.time - other.time > self._window:
                break
            if self.matcher.accepts(other):
                looked: list[Record] = []
                if not self.matcher.leads_on(other, store, looked, at):
                    found += [other, *looked]
                if not self._joined:
                    break
        return found

    def looked_at(self, record: Record, store: Store, at: int) -> list[Record]:
        """What an event at the root looks at, for one that is sent for another reason.

        Also in pull mode: the father, once it has the event, would take what is missing for absent, and a negation for
        met.
        """
        if self.matcher.is_leaf or not self.exact or not self.matcher.accepts(record):
            return []
        looked: list[Record] = []
        self.matcher.leads_on(record, store, looked, at)
        return looked

    def close_openings(self, before: int) -> None:
        """Forget windows that no event can fall into any more."""
        self.openings = [opening for opening in self.openings if opening.last >= before]
