"""Names that look alike, found without comparing every name with every other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from cepheus.core.errors import did_you_mean

_FEW = 64
_LONG = 64
_DIGITS = re.compile(r"\d+")


class SimilarNames:
    """Finds the known name that a wrong one was probably meant to be.

    Among few names the closest is searched; among many only those one slip away (a letter more, less, other, or two
    letters swapped) and those that differ in case, by an index that is built when first needed.

    >>> SimilarNames(["Temp", "Smoke"]).hint("Tmep")
    "did you mean 'Temp'?"
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = list(dict.fromkeys(names))
        self._index: dict[str, list[str]] = {}

    def hint(self, name: str) -> str | None:
        """A hint that names a similar known name, if there is one."""
        candidates = self._names if len(self._names) <= _FEW else self._one_slip_away(name)
        return did_you_mean(name, candidates)

    def mistaken_for(self, name: str) -> str | None:
        """The known name that this one is a likely slip of, if any; names that differ in numbers are not."""
        bare = _DIGITS.sub("0", name)
        for candidate in self._one_slip_away(name):
            if candidate != name and _DIGITS.sub("0", candidate) != bare:
                return candidate
        return None

    def _one_slip_away(self, name: str) -> list[str]:
        if not self._index:
            for known in self._names:
                for key in _shortened(known):
                    self._index.setdefault(key, []).append(known)
        found = (known for key in _shortened(name) for known in self._index.get(key, ()))
        return list(dict.fromkeys(found))


def _shortened(name: str) -> Iterator[str]:
    """The name in lower case, whole and with each one of its letters left out."""
    folded = name.lower()
    yield folded
    if len(folded) > _LONG:  # so that absurd names cost no more than sensible ones
        return
    for position in range(len(folded)):
        yield folded[:position] + folded[position + 1 :]
