"""Which uncertain quantities of a rule are asked about more than once, so that probabilities do not just multiply.

Before: ``Temp(km=$a) and not Jam($a-1 < km < $a+1)``: every jam asks about the kilometre of the one Temp. After: that
kilometre is the rule's pivot; the kernel integrates over it. A rule without such a quantity has no pivot, and its
probabilities multiply. One that has several, or whose events may take part in two roles, is left to the reference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set

from cepheus.core.source import Span
from cepheus.plan.pattern.bands import Band, Reference
from cepheus.plan.pattern.constructs import Construct, unsupported
from cepheus.rules.expressions import AttributeRef


class Sharing:
    """Collects what the parts of one rule ask about; ``doubted`` are the types of which some may not have occurred."""

    def __init__(self, terminator: str, doubted: Set[str]) -> None:
        self._terminator = terminator
        self._doubted = doubted
        self._uses: Counter[Reference] = Counter()
        self._counted: set[Reference] = set()
        self._roles: list[tuple[str, set[str]]] = []
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

    def choosing(self, event_type: str, own: str, found: Sequence[Band], most: int | None) -> None:
        """Note the bands of a choice: all that may be chosen ask about what is bound, up to ``most`` of them count."""
        self._role(event_type, own, found)
        for band in found:
            for reference, _ in band.terms:
                is_own = isinstance(reference, AttributeRef) and reference.event == own
                self._use(reference, 1 if is_own or most is None else 2)
                if not is_own and most is not None and most > 1:
                    self._counted.add(reference)

    def looking(self, event_type: str, found: Sequence[Band]) -> None:
        """Note the bands of events that must be absent."""
        self._role(event_type, None, found)
        for band in found:
            for reference, _ in band.terms:
                if not _is_member(reference):
                    self._use(reference, 2)

    def adding_up(self, event_type: str, found: Sequence[Band], value: str | None) -> None:
        """Note the bands of the members of an aggregate, and the uncertain attribute that is aggregated."""
        members = {reference for band in found for reference, _ in band.terms}
        own = {reference.name for reference in members if _is_member(reference) and isinstance(reference, AttributeRef)}
        if len(own) < len(members) or value in own:
            raise unsupported(Construct.UNCERTAIN_FORMS, next(iter(found)).constraints[0].span)
        self._role(event_type, None, found, set() if value is None else {value})

    def _role(self, event_type: str, own: str | None, found: Sequence[Band], more: Set[str] = frozenset()) -> None:
        read = {
            reference.name
            for band in found
            for reference, _ in band.terms
            if isinstance(reference, AttributeRef) and reference.event == own
        }
        role = read | more
        self._roles.append((event_type, role))
        if own is not None:
            self._named[own] = role

    def pivot(self, span: Span | None) -> AttributeRef | None:
        """The quantity of the terminator that several parts ask about; UnsupportedError if there are others."""
        for place, (event_type, read) in enumerate(self._roles):
            for other_type, other_read in self._roles[:place]:
                if event_type == other_type and (read & other_read or event_type in self._doubted):
                    raise unsupported(Construct.UNCERTAIN_FORMS, span)
        shared = [reference for reference, uses in self._uses.items() if uses > 1]
        if not shared:
            return None
        (first, *others) = shared
        bound = isinstance(first, AttributeRef) and first.event == self._terminator
        if others or not isinstance(first, AttributeRef) or not bound or first in self._counted:
            raise unsupported(Construct.UNCERTAIN_FORMS, span)
        return first


def _is_member(reference: Reference) -> bool:
    return isinstance(reference, AttributeRef) and reference.event is None
