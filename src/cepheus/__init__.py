"""Cepheus: complex event processing. Rules and events in, composite events out.

What is listed here is the public interface. Each name is imported when it is first used, so that
``import cepheus`` and the command line start quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from cepheus.api import Program, compile
    from cepheus.core.batch import EventBatch
    from cepheus.core.calculus import Calculus
    from cepheus.core.errors import (
        CepheusError,
        CepheusWarning,
        Diagnostic,
        EventError,
        LimitError,
        OptionError,
        RuleError,
        SnapshotError,
        UnsupportedError,
    )
    from cepheus.core.event import Event
    from cepheus.core.options import RunKeywords, RunOptions
    from cepheus.core.schema import Attribute, EventType, Schema
    from cepheus.core.values import ValueType
    from cepheus.engine.base.ties import TieCounts
    from cepheus.learning.api import learn, review
    from cepheus.learning.report import Learned
    from cepheus.learning.review import Review
    from cepheus.notebook.found import Found
    from cepheus.runtime.embedded.counts import Counts
    from cepheus.runtime.embedded.detect import Detected, FileDetection
    from cepheus.runtime.embedded.row_tables import match_recognize
    from cepheus.runtime.embedded.session import Session
    from cepheus.runtime.embedded.subscriptions import Subscription
    from cepheus.uncertainty.belief.belief import RuleBelief

__version__ = "0.1.0"

__all__ = [
    "Attribute",
    "Calculus",
    "CepheusError",
    "CepheusWarning",
    "Counts",
    "Detected",
    "Diagnostic",
    "Event",
    "EventBatch",
    "EventError",
    "EventType",
    "FileDetection",
    "Found",
    "Learned",
    "LimitError",
    "OptionError",
    "Program",
    "Review",
    "RuleBelief",
    "RuleError",
    "RunKeywords",
    "RunOptions",
    "Schema",
    "Session",
    "SnapshotError",
    "Subscription",
    "TieCounts",
    "UnsupportedError",
    "ValueType",
    "__version__",
    "compile",
    "learn",
    "match_recognize",
    "review",
]

_HOMES = {
    "cepheus.api": ("Program", "compile"),
    "cepheus.core.batch": ("EventBatch",),
    "cepheus.core.errors": (
        "CepheusError",
        "CepheusWarning",
        "Diagnostic",
        "EventError",
        "LimitError",
        "OptionError",
        "RuleError",
        "SnapshotError",
        "UnsupportedError",
    ),
    "cepheus.core.calculus": ("Calculus",),
    "cepheus.core.event": ("Event",),
    "cepheus.core.options": ("RunKeywords", "RunOptions"),
    "cepheus.core.schema": ("Attribute", "EventType", "Schema"),
    "cepheus.core.values": ("ValueType",),
    "cepheus.engine.base.ties": ("TieCounts",),
    "cepheus.runtime.embedded.detect": ("Detected", "FileDetection"),
    "cepheus.runtime.embedded.row_tables": ("match_recognize",),
    "cepheus.learning.api": ("learn", "review"),
    "cepheus.learning.report": ("Learned",),
    "cepheus.learning.review": ("Review",),
    "cepheus.notebook.found": ("Found",),
    "cepheus.runtime.embedded.counts": ("Counts",),
    "cepheus.runtime.embedded.session": ("Session",),
    "cepheus.runtime.embedded.subscriptions": ("Subscription",),
    "cepheus.uncertainty.belief.belief": ("RuleBelief",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'cepheus' has no attribute '{name}'")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Give a notebook cells of rules; ``%load_ext cepheus`` calls it."""
    import_module("cepheus.notebook.magics").register(shell, import_module("cepheus.api").compile)
    import_module("cepheus.core.progress").show_with(import_module("cepheus.notebook.progress").bar)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Show no more bars; ``%unload_ext cepheus`` calls it."""
    del shell
    import_module("cepheus.core.progress").show_with(None)
