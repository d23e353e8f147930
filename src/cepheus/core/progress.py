"""How far a long run is, for whoever shows it: a notebook puts a bar on the page, elsewhere nobody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Tell = Callable[[float, str], None]
"""Told from time to time which share is done, from 0 to 1, and in a few words what is being done."""

Shown = Callable[[str], AbstractContextManager[Tell]]
"""Shows a run with a title for as long as it takes."""


@contextmanager
def _nobody(title: str) -> Iterator[Tell]:
    del title
    yield lambda _share, _what: None


_shown: list[Shown] = [_nobody]


def show_with(shown: Shown | None) -> None:
    """From now on show long runs; with None, no longer."""
    _shown[0] = _nobody if shown is None else shown


def shown(title: str) -> AbstractContextManager[Tell]:
    """Show a run, if anybody looks.

    >>> with shown("reading events") as tell:
    ...     tell(0.5, "")
    """
    return _shown[0](title)
