"""Where the attributes that a rule reads stand: the position of their event and the slot in its row."""

from __future__ import annotations

from cepheus.core.schema import TIME_ATTRIBUTE, Schema
from cepheus.core.values import ValueType
from cepheus.plan.pattern.code import Place, place_of_time
from cepheus.plan.pattern.columns import SharedColumns
from cepheus.plan.pattern.constructs import Construct, unsupported
from cepheus.plan.pattern.layouts import TypeLayout
from cepheus.rules.expressions import AttributeRef
from cepheus.rules.resolved import ResolvedRule
from cepheus.rules.timers import NOW


class Places:
    """The events of a rule by position, and the attributes it has read of each type.

    ``own_type`` is the type of the event under test, which has no name; it stands at the position ``inner``. The event
    that a rule waits some time after stands at ``waited``: its terminator is a copy of it with the moment's time.
    """

    def __init__(self, shared: SharedColumns, rule: ResolvedRule, schema: Schema) -> None:
        self._shared = shared
        self._rule = rule
        self._schema = schema
        self.positions = {position.name: number for number, position in enumerate(rule.positions)}
        self.types = {position.name: position.type for position in rule.positions}
        self.terminator = rule.terminator.name
        self.inner = len(rule.positions)
        self.waited = len(rule.positions) + 1
        if rule.delay:
            self.positions |= {NOW: 0, rule.terminator.name: self.waited}
        self.own_type = ""

    def locate(self, event: str | None, attribute: str) -> Place:
        """Find an attribute of an event of the rule; without a name it is the event under test."""
        position = self.inner if event is None else self.positions[event]
        if attribute == TIME_ATTRIBUTE:
            return place_of_time(position)
        name = self.own_type if event is None else self.types[event]
        event_type = self._schema.get(name)
        declared = event_type.attribute(attribute) if event_type is not None else None
        layout = self._shared.layout(name)
        value_type = declared.type if declared is not None else None
        optional = declared.optional if declared is not None else False
        self._agree(layout, attribute, value_type, optional)
        slot = layout.slot(attribute, value_type, optional)
        layout.readers.setdefault(attribute, set()).add(self._rule.name)
        if layout.types[attribute] is None:
            layout.types[attribute] = value_type
        return Place(position, slot, layout.types[attribute], attribute in layout.optional)

    def _agree(self, layout: TypeLayout, attribute: str, value_type: ValueType | None, optional: bool) -> None:
        """Refuse a rule that takes an attribute for something else than rules deployed before it do."""
        if attribute not in layout.slots:
            return
        known, known_optional = layout.types[attribute], attribute in layout.optional
        told = value_type is None and attribute in layout.told_by_data
        if (known is value_type or told) and known_optional == optional:
            return
        if layout.readers.get(attribute, set()) - {self._rule.name}:
            raise unsupported(Construct.OTHER_TYPE, self._rule.composite.span)
        layout.drop(attribute)

    def type_name(self, attribute: AttributeRef) -> str:
        """The type of the event that an attribute is read from."""
        return self.own_type if attribute.event is None else self.types[attribute.event]
