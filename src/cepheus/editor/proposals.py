"""What is proposed at a place of a rule file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Proposal(Enum):
    """What kind of thing is proposed."""

    EVENT_TYPE = "class"
    EVENT = "variable"
    ATTRIBUTE = "field"
    PARAMETER = "parameter"
    FUNCTION = "function"
    KEYWORD = "keyword"
    TYPE = "type"
    UNIT = "unit"
    STATEMENT = "statement"


@dataclass(frozen=True, slots=True)
class Completion:
    """Text that may stand at a place, with what is said of it; ``snippet`` has places to fill in."""

    label: str
    kind: Proposal
    detail: str = ""
    meaning: str = ""
    snippet: str | None = None
