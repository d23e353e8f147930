"""The reasons of a composite event, to be printed or shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult

from cepheus.core.display import page
from cepheus.core.event import Event, EventId
from cepheus.explain.asked import asked_of
from cepheus.explain.reasons import Reasons, reasons, reasons_tree
from cepheus.notebook.html import reasons_list
from cepheus.rules.model import AnyRule


@dataclass(frozen=True, slots=True)
class Why:
    """The reasons of a composite event: print it, or let a notebook show it."""

    reasons: Reasons

    @classmethod
    def of(cls, event: Event, known: Mapping[EventId, Event], rules: Sequence[AnyRule]) -> Why:
        """The reasons of an event among known ones, given by what provenance calls them."""
        return cls(reasons(event, known, asked_of(rules)))

    def __str__(self) -> str:
        console = Console(width=200, color_system=None, highlight=False)
        with console.capture() as capture:
            console.print(reasons_tree(self.reasons))
        return capture.get().rstrip("\n")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield reasons_tree(self.reasons)

    def _repr_html_(self) -> str:
        return page(reasons_list(self.reasons))
