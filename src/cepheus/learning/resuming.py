"""A search that goes on where it was stopped: what came of each attempt is kept in a file.

An attempt has random numbers of its own, by the seed and its place, so that one that is left out changes no other.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cepheus.core.errors import OptionError
from cepheus.core.values import ValueType
from cepheus.learning.candidates import Candidate
from cepheus.learning.drafts import Absence, Bound, Condition, Draft, Link, Part, Place, Summary
from cepheus.learning.evaluate import Score
from cepheus.learning.history import History
from cepheus.learning.terminators import Ending

_PARTS: dict[str, type[Place | Absence | Summary]] = {"place": Place, "absence": Absence, "summary": Summary}
_ARRAYS = ("found", "missed", "right", "alarms", "alarm_times")


@dataclass(slots=True)
class Progress:
    """The attempts of a search that are done, and what came of each: the best rule, or none.

    ``of`` tells one search from all others: what it was given.
    """

    path: Path | None = None
    of: str = ""
    done: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def at(cls, path: str | os.PathLike[str] | None, of: str) -> Progress:
        """Go on from a file, if there is one; OptionError if it is of another search."""
        if path is None:
            return cls()
        place = Path(path)
        try:
            kept = json.loads(place.read_text("utf-8"))
        except FileNotFoundError:
            return cls(place, of)
        except (OSError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise OptionError.of("learn-resume", f"'{place}' cannot be read: {reason}") from None
        if not isinstance(kept, dict) or kept.get("of") != of or not isinstance(kept.get("done"), dict):
            raise OptionError.of(
                "learn-resume",
                f"'{place}' has the progress of another search, with other events or options",
                hint="name another file, or delete this one",
            )
        return cls(place, of, kept["done"])

    def knows(self, attempt: str) -> bool:
        """Whether an attempt is done."""
        return attempt in self.done

    def recall(self, attempt: str, history: History) -> Candidate | None:
        """What came of an attempt."""
        kept = self.done[attempt]
        if kept is None:
            return None
        try:
            return _candidate(kept, history)
        except (KeyError, TypeError, ValueError):
            message = f"'{self.path}' is damaged: what came of attempt {attempt} cannot be read"
            raise OptionError.of("learn-resume", message, hint="delete the file, and begin anew") from None

    def record(self, attempt: str, made: Candidate | None, history: History) -> None:
        """Keep what came of an attempt; the file is put in place at once."""
        if self.path is None:
            return
        self.done[attempt] = None if made is None else _kept(made, history)
        new = self.path.with_name(self.path.name + ".new")
        try:
            new.write_text(json.dumps({"of": self.of, "done": self.done}), "utf-8")
            new.replace(self.path)
        except OSError as error:
            raise OptionError.of("learn-resume", f"'{self.path}' cannot be written: {error.strerror}") from None


def _kept(made: Candidate, history: History) -> dict[str, Any]:
    draft = made.draft
    return {
        "terminator": draft.terminator,
        "conditions": [_condition_kept(each, history, draft.terminator) for each in draft.conditions],
        "parts": [_part_kept(each, history) for each in draft.parts],
        "ending": asdict(made.ending),
        "outputs": {name: list(way) for name, way in made.outputs.items()},
        "each": sorted(made.each),
        "trained": {
            **{name: getattr(made.trained, name).tolist() for name in _ARRAYS},
            "uncounted": made.trained.uncounted,
        },
    }


def _part_kept(part: Part, history: History) -> dict[str, Any]:
    kind = next(name for name, own in _PARTS.items() if isinstance(part, own))
    conditions = [_condition_kept(each, history, part.type) for each in part.conditions]
    return {**asdict(part), "kind": kind, "conditions": conditions}


def _condition_kept(condition: Condition, history: History, event_type: str) -> dict[str, Any]:
    kept = {**asdict(condition), "kind": "link" if isinstance(condition, Link) else "bound"}
    if isinstance(condition, Bound) and _is_text(history, event_type, condition.attribute):
        kept["value"] = history.text(condition.value)
    return kept


def _is_text(history: History, event_type: str, attribute: str) -> bool:
    return history.types[event_type].columns[attribute].type is ValueType.STRING


def _candidate(kept: dict[str, Any], history: History) -> Candidate:
    terminator = kept["terminator"]
    draft = Draft(
        terminator,
        tuple(_condition(each, history) for each in kept["conditions"]),
        tuple(_part(each, history) for each in kept["parts"]),
    )
    ending = kept["ending"]
    keys = tuple((own, other) for own, other in ending["keys"])
    trained = kept["trained"]
    return Candidate(
        draft,
        Ending(**{**ending, "keys": keys}),
        {name: (place, own) for name, (place, own) in kept["outputs"].items()},
        frozenset(kept["each"]),
        Score(**{name: np.array(trained[name], np.int64) for name in _ARRAYS}, uncounted=int(trained["uncounted"])),
    )


def _part(kept: dict[str, Any], history: History) -> Part:
    own = {name: value for name, value in kept.items() if name != "kind"}
    own["conditions"] = tuple(_condition(each, history) for each in kept["conditions"])
    own["margin"] = tuple(kept["margin"])
    return _PARTS[kept["kind"]](**own)


def _condition(kept: dict[str, Any], history: History) -> Condition:
    own = {name: value for name, value in kept.items() if name != "kind"}
    own["margin"] = tuple(kept["margin"])
    if kept["kind"] == "link":
        return Link(**own)
    if isinstance(own["value"], str):
        own["value"] = float(history.codes[own["value"]])
    return Bound(**own)
