"""Constraints and values over uncertain attributes, as far as they have closed forms: bands and sums of errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cepheus.core.source import Span
from cepheus.core.values import ValueType
from cepheus.plan.pattern.bands import (
    Band,
    LoweredBand,
    LoweredBound,
    LoweredTerm,
    Reference,
    binds,
    blurred,
    linear_terms,
)
from cepheus.plan.pattern.bands import bands as bands_of
from cepheus.plan.pattern.code import Coder, Place
from cepheus.plan.pattern.columns import SharedColumns
from cepheus.plan.pattern.constructs import Construct, unsupported
from cepheus.plan.pattern.places import Places
from cepheus.plan.pattern.sharing import Sharing
from cepheus.rules.expressions import Constraint, Expression, Parameter


class UncertainForms:
    """What is uncertain in one rule, and which of it the rule asks about more than once.

    ``uncertain_results`` are aggregates with an error or none, ``weighed`` those whose members are weighed one by one;
    whoever lowers the rule keeps them as it goes.
    """

    def __init__(
        self,
        shared: SharedColumns,
        places: Places,
        coder: Coder,
        results: Mapping[str, tuple[int, ValueType | None]],
    ) -> None:
        self._shared = shared
        self._places = places
        self._coder = coder
        self._results = results
        self.sharing = Sharing(places.terminator, shared.doubted)
        self.uncertain_results: dict[str, bool] = {}
        self.weighed: set[str] = set()

    @property
    def _anything(self) -> bool:
        """Whether anything is uncertain: an attribute, or an aggregate of events that may not have occurred."""
        return bool(self._shared.uncertain) or any(self.uncertain_results.values())

    def is_uncertain(self, reference: Reference) -> bool:
        """Whether an attribute or the result of an aggregate has an error."""
        if isinstance(reference, Parameter):
            return self.uncertain_results.get(reference.name, False)
        return reference.name in self._shared.uncertain.get(self._places.type_name(reference), ())

    def is_weighed(self, reference: Reference) -> bool:
        """Whether it is the result of an aggregate whose members are weighed one by one."""
        return isinstance(reference, Parameter) and reference.name in self.weighed

    def split(self, constraints: Sequence[Constraint]) -> tuple[list[Constraint], list[Constraint]]:
        """Split constraints into those that read nothing uncertain and the others."""
        if not self._anything:
            return list(constraints), []
        blurs = [each for each in constraints if blurred(each, self.is_uncertain) and not binds(each)]
        return [constraint for constraint in constraints if constraint not in blurs], blurs

    def bands(self, constraints: Sequence[Constraint]) -> tuple[LoweredBand, ...]:
        """Lower the bands of events that take part."""
        found = bands_of(constraints, self.is_uncertain)
        self.sharing.taking_part(found)
        return tuple(self.lowered_band(band, self._coder) for band in found)

    def lowered_band(self, band: Band, coder: Coder) -> LoweredBand:
        """Lower one band, with attributes where the coder finds them."""
        if len(band.terms) > 1 and any(self.is_weighed(reference) for reference, _ in band.terms):
            raise unsupported(Construct.UNCERTAIN_FORMS, band.constraints[0].span)
        terms = tuple(self.term(reference, coefficient, coder.locate) for reference, coefficient in band.terms)
        bounds = tuple(
            LoweredBound(bound.operator, bound.constant, ())
            if bound.constant is not None
            else LoweredBound(bound.operator, 0.0, coder.expression(bound.expression, ValueType.FLOAT)[0])
            for bound in band.bounds
        )
        return LoweredBand(terms, bounds, coder.constraints(band.constraints))

    def term(self, reference: Reference, coefficient: float, locate: Callable[[str | None, str], Place]) -> LoweredTerm:
        """An uncertain quantity with its coefficient: where its value and its error stand."""
        if isinstance(reference, Parameter):
            number, value_type = self._results[reference.name]
            return LoweredTerm(coefficient, -1, number, number, value_type is ValueType.INT)
        place = locate(reference.event, reference.name)
        if place.optional or place.type is None:
            raise unsupported(Construct.UNCERTAIN_FORMS, reference.span)
        type_name = self._places.type_name(reference)
        error_slot = self._shared.layout(type_name).error_slot(reference.name)
        source = (type_name, reference.name)
        return LoweredTerm(coefficient, place.position, place.slot, error_slot, place.type is ValueType.INT, source)

    def pivot(self, span: Span | None) -> LoweredTerm | None:
        """The quantity that several parts of the rule ask about, None if there is none."""
        found = self.sharing.pivot(span)
        return None if found is None else self.term(found, 1.0, self._places.locate)

    def error_terms(self, value: Expression) -> tuple[LoweredTerm, ...]:
        """Where the error of a computed attribute comes from."""
        if not self._anything or not blurred(value, self.is_uncertain):
            return ()
        terms = linear_terms(value, self.is_uncertain)
        if terms is None:
            raise unsupported(Construct.UNCERTAIN_FORMS, value.span)
        return tuple(self.term(reference, coefficient, self._places.locate) for reference, coefficient in terms.items())
