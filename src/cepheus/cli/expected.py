"""The event types that rules expect in files, and a note of those that the files have."""

from __future__ import annotations

from cepheus.core.schema import Schema
from cepheus.rules.check import Checked


class ExpectedTypes(Schema):
    """What rules expect of events, noting in ``met`` every type that a reader asks about.

    A reader leaves out the events that no rule concerns, so their types are known only from its questions; a misspelt
    type is among them. Rules that declare types say which events there are: any other is then a mistake.
    """

    def __init__(self, checked: Checked) -> None:
        inputs = checked.inputs
        super().__init__(inputs.values(), closed=inputs.closed or bool(checked.rules.declarations))
        self.met: set[str] = set()

    def __contains__(self, name: object) -> bool:
        if isinstance(name, str):
            self.met.add(name)
        return super().__contains__(name)
