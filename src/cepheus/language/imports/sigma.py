"""``import sigma``: detections and correlations of Sigma to TESLA rules, through pySigma's parser.

All files are read as one collection, so that a correlation may name rules of other files. The type of an event is named
after the log source of its rule (``windows_process_creation``). Rules that only serve correlations are not printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepheus.core.extras import require
from cepheus.core.schema import EventType
from cepheus.core.source import Source
from cepheus.language.imports.outcome import Importing


@dataclass(frozen=True, slots=True)
class SigmaOptions:
    """How rules are read: ``event_type`` is the type of all events, None to name it after the log source."""

    event_type: str | None = None
    declared: tuple[EventType, ...] = ()


def import_sigma(files: Sequence[Source], options: SigmaOptions | None = None) -> Importing:
    r"""Convert all rules of some files.

    >>> rule = r'''
    ... title: Shell
    ... logsource: {category: process_creation, product: windows}
    ... detection: {selection: {Image|endswith: '\cmd.exe'}, condition: selection}
    ... '''
    >>> print(import_sigma([Source("shell.yml", rule)]).text(), end="")
    event windows_process_creation(Image: string?)
    <BLANKLINE>
    define Shell()
    from   windows_process_creation(ends_with(lower(Image), '\\cmd.exe'))
    """
    require("sigma", "importing Sigma")
    from cepheus.language.imports.sigma_rules import add_rules  # the package is there only with the extra

    options = options or SigmaOptions()
    importing = Importing(options.declared)
    add_rules(importing, files, options.event_type)
    return importing
