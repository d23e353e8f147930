"""Bars for long runs in notebooks: plain HTML that is replaced as the run goes on, without widgets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from IPython import display as show

from cepheus.core.display import page
from cepheus.core.progress import Tell

_PATIENCE, _PAUSE = 0.5, 0.1
"""Seconds before a bar appears, and between two of its states."""


@contextmanager
def bar(title: str, clock: Callable[[], float] = time.monotonic) -> Iterator[Tell]:
    """Show a bar once a run takes longer than a moment; it is gone when the run is over."""
    written: Any = show
    begun = clock()
    last = begun + _PATIENCE - _PAUSE
    handle: Any = None

    def tell(share: float, what: str) -> None:
        nonlocal handle, last
        if clock() - last < _PAUSE:
            return
        last = clock()
        html = written.HTML(page(progress_html(title, share, what, last - begun)))
        if handle is None:
            handle = written.display(html, display_id=True)
        elif handle:
            handle.update(html)

    try:
        yield tell
    finally:
        if handle:
            handle.update(written.HTML(""))


def progress_html(title: str, share: float, what: str, seconds: float) -> str:
    """A bar with its title, how much is done, and the time it takes: so far and, when that can be told, still.

    >>> progress_html("reading", 0.25, "", 10)
    '<div>reading <progress value="0.250" max="1"></progress> 25% <span class="quiet">10 s, 30 s left</span></div>'
    """
    done = min(max(share, 0.0), 1.0)
    left = f", {seconds * (1 - done) / done:.0f} s left" if done > 0.02 else ""
    said = f"{escape(what)} " if what else ""
    value = f'<progress value="{done:.3f}" max="1"></progress> {done:.0%}'
    return f'<div>{escape(title)} {value} {said}<span class="quiet">{seconds:.0f} s{left}</span></div>'
