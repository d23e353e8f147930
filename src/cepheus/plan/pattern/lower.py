"""Lowering: from resolved rules to columns, listeners and steps, which ``flatten`` writes as the flat program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from cepheus.core.errors import CepheusError, OptionError, UnsupportedError
from cepheus.core.schema import Schema
from cepheus.kernel.program import (
    ConstraintKind,
    Left,
)
from cepheus.kernel.strings import StringTable
from cepheus.plan.pattern.code import LoweredConstraint
from cepheus.plan.pattern.columns import SharedColumns
from cepheus.plan.pattern.layouts import TypeLayout
from cepheus.plan.pattern.lower_rule import lower_rule
from cepheus.plan.pattern.lowered import LoweredRule
from cepheus.rules.resolved import ResolvedRule

_FEW = 4


class Lowering(SharedColumns):
    """All rules of an engine, lowered; rules come and go while columns that others share stay."""

    def __init__(
        self,
        strings: StringTable,
        uncertain: Mapping[str, Set[str]] | None = None,
        doubted: Set[str] = frozenset(),
    ) -> None:
        super().__init__(strings, uncertain, doubted)
        self.rules: dict[str, LoweredRule] = {}

    def add(self, rule: ResolvedRule, schema: Schema, fed: Mapping[str, int]) -> LoweredRule:
        """Lower one more rule; ``fed`` tells for each event type how many rows were stored before."""
        if rule.name in self.rules:
            raise OptionError.of("deploy", f"a rule named '{rule.name}' is already deployed", hint="withdraw it first")
        try:
            lowered = lower_rule(self, rule, schema, fed)
        except UnsupportedError:
            self.release(rule.name)
            raise
        self.rules[rule.name] = lowered
        return lowered

    def add_all(self, rules: Iterable[tuple[ResolvedRule, Schema, Mapping[str, int]]]) -> None:
        """Lower more rules, all of them or, if one is refused, none."""
        added: list[str] = []
        try:
            for rule, schema, fed in rules:
                added.append(self.add(rule, schema, fed).name)
        except CepheusError:
            for name in added:
                self.remove(name)
            raise

    def remove(self, name: str) -> list[int]:
        """Take a rule out and return the columns that nothing uses any more; their numbers may be used again."""
        if name not in self.rules:
            raise OptionError.of("withdraw", f"no rule named '{name}' is deployed")
        del self.rules[name]
        return self.release(name)

    def simple_filters(self, layout: TypeLayout) -> list[list[LoweredConstraint]] | None:
        """The comparisons of each listener of a type with constants; None if too many or one has none."""
        choices = [[constraint for constraint in filters if _is_simple(constraint)] for filters in self._asked(layout)]
        return None if len(choices) > _FEW or not all(choices) else choices

    def left_of(self, layout: TypeLayout, *, compared: bool) -> int:
        """What is left to do with an event of a type (``Left``); it was ``compared`` with its simple filters or not."""
        asked = self._asked(layout)
        alike = len(set(asked)) == 1
        if not alike or not all(compared and _is_simple(constraint) for constraint in asked[0]):
            return Left.ALL
        columns = [column.index for column in self.columns.values() if column.key.type == layout.index]
        return columns[0] if len(columns) == len(asked) == 1 else Left.SETTLED

    def _asked(self, layout: TypeLayout) -> list[tuple[LoweredConstraint, ...]]:
        """What each listener of a type asks of an event alone."""
        rules = [rule.filters for rule in self.rules.values() if rule.type == layout.index and rule.timer is None]
        return rules + [column.filters for column in self.columns.values() if column.key.type == layout.index]


def _is_simple(constraint: LoweredConstraint) -> bool:
    """Whether a constraint compares an attribute with a constant."""
    return constraint.kind in (ConstraintKind.INT_CONSTANT, ConstraintKind.FLOAT_CONSTANT)
