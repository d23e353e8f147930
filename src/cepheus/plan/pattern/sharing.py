"""Which uncertain quantities of a rule are asked about more than once, so that probabilities do not just multiply.

Before: ``Temp(km=$a) and not Jam($a-1 < km < $a+1)``: every jam asks about the kilometre of the one Temp. After: that
kilometre is the rule's pivot; the kernel integrates over it. A rule without such a quantity has no pivot, and its
probabilities multiply. One that has several, or whose events may take part in two roles, is left to the reference. The
roles of a chain have no event in common: of ``last B as E from T and last B as F from E``, the first looks at E and
what follows it, the second at what precedes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass

from cepheus.core.source import Span
from cepheus.plan.pattern.bands import Band, Reference
from cepheus.plan.pattern.constructs import Construct, unsupported
from cepheus.rules.expressions import AttributeRef, Between
from cepheus.rules.policies import Take
from cepheus.rules.resolved import Absent, Choose, Compute


@dataclass(frozen=True, slots=True)
class _Role:
    """Events of a type and which of their uncertain attributes are asked about.

    All of them lie strictly before one bound event and strictly after another, or are not before one or not after one;
    None where nothing is known.
    """

    type: str
    read: set[str]
    before: str | None = None
    after: str | None = None
    not_before: str | None = None
    not_after: str | None = None


class Sharing:
    """Collects what the parts of one rule ask about; ``doubted`` are the types of which some may not have occurred."""

    def __init__(self, terminator: str, doubted: Set[str]) -> None:
        self._terminator = terminator
        self._doubted = doubted
        self._uses: Counter[Reference] = Counter()
        self._counted: set[Reference] = set()
        self._roles: list[_Role] = []
        self._references: dict[str, str] = {}
        self._named: dict[str, set[str]] = {}

    def taking_part(self, found: Sequence[Band]) -> None:
        """Note bands of events that are bound."""
        for band in found:
            for reference, _ in band.terms:
                self._use(reference, 1)

    def _use(self, reference: Reference, times: int) -> None:
        self._uses[reference] += times
        if isinstance(reference, AttributeRef) and reference.event in self._named:
            self._named[reference.event].add(reference.name)

    def choosing(self, step: Choose, found: Sequence[Band]) -> None:
        """Note the bands of a choice: all that may be chosen ask about what is bound, up to so many of them count.

        Whether an event is taken also depends on those that are nearer: the later ones, or the earlier ones.
        """
        own, most, takes = step.name, step.policy.most(step.count), step.policy.takes
        self._references[own] = step.window.reference
        read = _own_attributes(own, found)
        self._named[own] = read
        self._roles.append(
            _Role(
                step.type,
                read,
                before=step.window.reference,
                not_before=own if takes in (Take.LATEST, Take.ALL) else None,
                not_after=own if takes in (Take.EARLIEST, Take.ALL) else None,
            )
        )
        for band in found:
            for reference, _ in band.terms:
                is_own = isinstance(reference, AttributeRef) and reference.event == own
                self._use(reference, 1 if is_own or most is None else 2)
                if not is_own and most is not None and most > 1:
                    self._counted.add(reference)

    def looking(self, step: Absent, found: Sequence[Band]) -> None:
        """Note the bands of events that must be absent."""
        self._scoped(step, _own_attributes(None, found))
        for band in found:
            for reference, _ in band.terms:
                if not _is_member(reference):
                    self._use(reference, 2)

    def adding_up(self, step: Compute, found: Sequence[Band], value: str | None) -> None:
        """Note the bands of the members of an aggregate, and the uncertain attribute that is aggregated."""
        members = {reference for band in found for reference, _ in band.terms}
        own = {reference.name for reference in members if _is_member(reference) and isinstance(reference, AttributeRef)}
        if len(own) < len(members) or value in own:
            raise unsupported(Construct.UNCERTAIN_FORMS, next(iter(found)).constraints[0].span)
        self._scoped(step, _own_attributes(None, found) | (set() if value is None else {value}))

    def _scoped(self, step: Absent | Compute, read: set[str]) -> None:
        """Note the role of events in the scope of an absence or an aggregate."""
        match step.scope:
            case Between(first=first, second=second):
                earlier, later = (second, first) if self._precedes(second, first) else (first, second)
                known = self._precedes(earlier, later)
                self._roles.append(_Role(step.type, read, later if known else None, earlier if known else None))
            case within:
                self._roles.append(_Role(step.type, read, before=within.reference))

    def _precedes(self, earlier: str, later: str, *, strictly: bool = True) -> bool:
        """Whether a bound event lies before another, as one of a chain that hangs from it."""
        if earlier == later:
            return not strictly
        while earlier in self._references:
            earlier = self._references[earlier]
            if earlier == later:
                return True
        return False

    def _are_apart(self, one: _Role, other: _Role) -> bool:
        """Whether no event can have both roles."""
        return self._lies_before(one, other) or self._lies_before(other, one)

    def _lies_before(self, one: _Role, other: _Role) -> bool:
        """Whether all events of one role lie before all of another."""
        if one.before is not None:
            begin = other.not_before or other.after
            if begin is not None and self._precedes(one.before, begin, strictly=False):
                return True
        end = one.not_after
        return end is not None and other.after is not None and self._precedes(end, other.after, strictly=False)

    def pivot(self, span: Span | None) -> AttributeRef | None:
        """The quantity of the terminator that several parts ask about; UnsupportedError if there are others."""
        for place, role in enumerate(self._roles):
            for other in self._roles[:place]:
                asked_twice = role.type == other.type and (role.read & other.read or role.type in self._doubted)
                if asked_twice and not self._are_apart(role, other):
                    raise unsupported(Construct.UNCERTAIN_FORMS, span)
        shared = [reference for reference, uses in self._uses.items() if uses > 1]
        if not shared:
            return None
        (first, *others) = shared
        bound = isinstance(first, AttributeRef) and first.event == self._terminator
        if others or not isinstance(first, AttributeRef) or not bound or first in self._counted:
            raise unsupported(Construct.UNCERTAIN_FORMS, span)
        return first


def _own_attributes(own: str | None, found: Sequence[Band]) -> set[str]:
    """What bands ask of the event itself, which has a name if it is chosen."""
    return {
        reference.name
        for band in found
        for reference, _ in band.terms
        if isinstance(reference, AttributeRef) and reference.event == own
    }


def _is_member(reference: Reference) -> bool:
    return isinstance(reference, AttributeRef) and reference.event is None
