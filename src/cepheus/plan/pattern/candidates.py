"""The events that a step of a rule looks at: the column they are found in, by which key, and what is left to check.

Constraints on the event alone decide what enters the column, so that rules share it; equalities with events that are
bound become its key; the rest is checked of every candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from cepheus.core.schema import TIME_ATTRIBUTE
from cepheus.core.values import ValueType
from cepheus.kernel.program import MAX_KEYS, TotalKind, ValueKind
from cepheus.plan.pattern.bands import Band, LoweredBand, bands
from cepheus.plan.pattern.code import Coder, LoweredConstraint, Place
from cepheus.plan.pattern.columns import ColumnKey, SharedColumns
from cepheus.plan.pattern.places import Places
from cepheus.plan.pattern.uncertain_forms import UncertainForms
from cepheus.rules.expressions import AttributeRef, Comparison, Constraint, Parameter
from cepheus.rules.resolved import needs
from cepheus.rules.walk import transform, walk


@dataclass(frozen=True, slots=True)
class Candidates:
    """Where a step finds events: in a column, by ``keys`` that stand at (position, slot), in rows from ``since`` on.

    The constraints and bands are what is left to check of each.
    """

    column: int
    keys: tuple[tuple[int, int], ...]
    constraints: tuple[LoweredConstraint, ...]
    since: int
    bands: tuple[LoweredBand, ...]


@dataclass(frozen=True, slots=True)
class Sums:
    """What a column keeps of a value, by its kind and slot: sums over a window, or a total of all since the start.

    ``in_order`` are the values of a window themselves, from the least to the greatest.
    """

    kind: ValueKind
    slot: int
    window: int
    total: TotalKind = TotalKind.NONE
    in_order: bool = False


class CandidateFinder:
    """Finds or makes the columns of one rule; ``fed`` tells how many rows of each type came before it."""

    def __init__(
        self,
        shared: SharedColumns,
        rule: str,
        fed: Mapping[str, int],
        places: Places,
        coder: Coder,
        forms: UncertainForms,
    ) -> None:
        self._shared = shared
        self._rule = rule
        self._fed = fed
        self._places = places
        self._coder = coder
        self._forms = forms

    def find(
        self,
        event_type: str,
        own: str | None,
        constraints: Sequence[Constraint],
        reach: int,
        sums: Sums | None = None,
        floor: float = 0.0,
        note: Callable[[Sequence[Band]], None] = lambda _: None,
    ) -> Candidates:
        """Find or make the column of the events of a type that the rule calls ``own``, None if they have no name.

        A column may keep ``sums`` of a value. Events less probable than ``floor`` alone do not enter it. What they ask
        of uncertain values goes to ``note``.
        """
        self._places.own_type = event_type
        sharp, blurs = self._forms.split(constraints)
        found = bands(blurs, self._forms.is_uncertain)
        note(found)
        alone_bands = [band for band in found if _is_static(band, own)]
        static, keys, rest = self._split(own, sharp)
        layout = self._shared.layout(event_type)
        stored = self._fed.get(event_type, 0)
        alone = frozenset(_forget_name(constraint, own) for constraint in static)
        floats = sum(1 << part for part, (mine, _) in enumerate(keys) if mine.type is ValueType.FLOAT)
        key = ColumnKey(layout.index, alone, tuple(mine.slot for mine, _ in keys), floats)
        if sums is not None:
            key = replace(
                key,
                sum_kind=sums.kind,
                sum_slot=max(sums.slot, 0),
                sum_window=sums.window,
                total=sums.total,
                in_order=sums.in_order,
                since=stored,
            )
        blurs_alone = frozenset(_forget_name(c, own) for band in alone_bands for c in band.constraints)
        if blurs_alone:
            key = replace(key, blurred=blurs_alone, floor=floor)
        filters = self._own_filters(event_type, alone)
        column = self._shared.column(key, filters, stored, self._own_bands(event_type, blurs_alone))
        column.reaches[self._rule] = max(column.reaches.get(self._rule, 0), reach)
        sources = tuple((other.position, other.slot) for _, other in keys)
        since = 0 if column.born == stored else stored
        self._places.own_type = event_type
        joint = [band for band in found if band not in alone_bands]
        step_bands = tuple(self._forms.lowered_band(band, self._coder) for band in joint)
        return Candidates(column.index, sources, self._coder.constraints(rest), since, step_bands)

    def _own_bands(self, event_type: str, constraints: frozenset[Constraint]) -> tuple[LoweredBand, ...]:
        """Lower the bands of an arriving event alone."""
        coder, ordered = self._alone(event_type), sorted(constraints, key=repr)
        found = bands(ordered, self._forms.is_uncertain)
        return tuple(self._forms.lowered_band(band, coder) for band in found)

    def _own_filters(self, event_type: str, constraints: frozenset[Constraint]) -> tuple[LoweredConstraint, ...]:
        """Lower constraints on an arriving event alone."""
        return self._alone(event_type).constraints(sorted(constraints, key=repr))

    def _alone(self, event_type: str) -> Coder:
        """What lowers expressions over an arriving event alone: it stands at position 0 then."""

        def locate(_: str | None, attribute: str) -> Place:
            self._places.own_type = event_type
            return replace(self._places.locate(None, attribute), position=0)

        return Coder(locate, {}, self._shared.strings)

    def are_correlated(self, event_type: str, constraints: Sequence[Constraint]) -> bool:
        """Whether events must satisfy more than constraints of their own and equalities with bound events."""
        self._places.own_type = event_type
        _, keys, rest = self._split(None, constraints)
        return bool(rest) or len(keys) > MAX_KEYS

    def _split(
        self, own: str | None, constraints: Sequence[Constraint]
    ) -> tuple[list[Constraint], list[tuple[Place, Place]], list[Constraint]]:
        """Split constraints into the event's own, equalities with something bound, and the rest."""
        static: list[Constraint] = []
        keys: list[tuple[Place, Place]] = []
        rest: list[Constraint] = []
        for constraint in constraints:
            if set(needs(constraint)) <= ({own} if own is not None else set()):
                static.append(constraint)
                continue
            pair = self._equality(own, constraint)
            if pair is not None and len(keys) < MAX_KEYS and pair[0].slot not in [key.slot for key, _ in keys]:
                keys.append(pair)
            else:
                rest.append(constraint)
        return static, keys, rest

    def _equality(self, own: str | None, constraint: Constraint) -> tuple[Place, Place] | None:
        """The places of ``own attribute = bound attribute``, if the constraint is that and nothing else."""
        match constraint:
            case Comparison(operands=(AttributeRef() as left, AttributeRef() as right), operators=("=",)):
                if right.event == own:
                    left, right = right, left
                if left.event != own or right.event == own or TIME_ATTRIBUTE in (left.name, right.name):
                    return None
                mine, other = self._places.locate(left.event, left.name), self._places.locate(right.event, right.name)
                self._shared.compare(
                    (self._places.type_name(left), left.name), (self._places.type_name(right), right.name)
                )
                alike = mine.type is other.type or self._may_be_alike(left, mine, right, other)
                return (mine, other) if alike and not mine.optional and not other.optional else None
            case _:
                return None

    def _may_be_alike(self, left: AttributeRef, mine: Place, right: AttributeRef, other: Place) -> bool:
        """Whether data has told the type of one attribute and may tell that of the other to be the same."""
        if None not in (mine.type, other.type):
            return False
        known = left if other.type is None else right
        return known.name in self._shared.layout(self._places.type_name(known)).told_by_data


def _is_static(band: Band, own: str | None) -> bool:
    """Whether a band asks nothing but attributes of the event itself."""
    nodes = (node for constraint in band.constraints for node in walk(constraint))
    return all(
        not isinstance(node, Parameter) and (not isinstance(node, AttributeRef) or node.event == own) for node in nodes
    )


def _forget_name(constraint: Constraint, own: str | None) -> Constraint:
    """Rewrite a constraint on one event so that it no longer depends on what the rule calls that event."""

    def change(node: object) -> object:
        if isinstance(node, AttributeRef) and node.event is not None and node.event == own:
            return replace(node, event=None)
        return node

    result: Constraint = transform(constraint, change)
    return result
