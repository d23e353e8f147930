"""What a domain expert knows beforehand."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.options import Duration, microseconds_of
from cepheus.core.schema import RESERVED
from cepheus.learning.history import History


@dataclass(frozen=True, slots=True)
class Hints:
    """What is known of the rules to be found; everything may be left out.

    ``types`` are the only event types that may take part, ``terminator`` is the one that decides. ``window`` is how far
    back a rule looks, ``longest`` how far it looks at most, both in microseconds. ``ignore`` names attributes that mean
    nothing (``Temp.battery``, or ``*.battery`` for any type), ``keys`` attributes that only tell things apart: rules
    compare them with each other, never with a constant. ``trust`` names attributes that look like the label itself and
    are not.

    >>> Hints.of(window="5 min", ignore=["*.battery"]).ignores("Temp", "battery")
    True
    """

    types: frozenset[str] = frozenset()
    terminator: str | None = None
    window: int | None = None
    longest: int | None = None
    ignore: tuple[str, ...] = ()
    keys: frozenset[str] = frozenset()
    trust: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        types: Iterable[str] = (),
        terminator: str | None = None,
        window: Duration | None = None,
        longest: Duration | None = None,
        ignore: Iterable[str] = (),
        keys: Iterable[str] = (),
        trust: Iterable[str] = (),
    ) -> Hints:
        """Read hints as users write them."""
        return cls(
            frozenset(names_of(types)),
            terminator,
            _length("window", window),
            _length("longest", longest),
            names_of(ignore),
            frozenset(names_of(keys)),
            names_of(trust),
        )

    def ignores(self, event_type: str, attribute: str) -> bool:
        """Whether an attribute means nothing."""
        return _named(self.ignore, event_type, attribute)

    def trusts(self, event_type: str, attribute: str) -> bool:
        """Whether an attribute that looks like the label is none."""
        return _named(self.trust, event_type, attribute)

    def check(self, history: History, types: Collection[str] | None = None) -> None:
        """Refuse hints that name what the history does not have. ``types`` are all that there are, if not all are in
        memory; attributes of the others are not known.
        """
        names = history.types if types is None else types
        for name in (*sorted(self.types), *([self.terminator] if self.terminator else ())):
            if name not in names:
                hint = did_you_mean(name, names) or f"it has {', '.join(sorted(names)[:20])}"
                raise OptionError.of("learn-hint", f"the history has no event of type '{name}'", hint=hint)
        if self.terminator and self.types and self.terminator not in self.types:
            raise OptionError.of("learn-hint", f"'{self.terminator}' is the terminator, but not among the types")
        if not history.types.keys() >= set(names):
            return
        known = {(each.name, column) for each in history.types.values() for column in each.columns}
        for pattern in (*self.ignore, *self.trust):
            if not any(_named((pattern,), event_type, attribute) for event_type, attribute in known):
                close = did_you_mean(pattern, [f"{first}.{second}" for first, second in sorted(known)])
                raise OptionError.of(
                    "learn-hint", f"no attribute is called '{pattern}'", hint=close or "write Temp.value"
                )
        for name in sorted(self.keys):
            if all(name != attribute for _, attribute in known):
                near = did_you_mean(name, sorted({attribute for _, attribute in known}))
                raise OptionError.of("learn-hint", f"no attribute is called '{name}'", hint=near)

    def apply(self, history: History) -> History:
        """The history without what means nothing."""
        kept = {}
        for name, events in history.types.items():
            if self.types and name not in self.types:
                continue
            columns = {
                each: column
                for each, column in events.columns.items()
                if not self.ignores(name, each) and each not in RESERVED  # which rules cannot read
            }
            kept[name] = replace(events, columns=columns)
        return replace(history, types=kept)


def names_of(given: Iterable[str]) -> tuple[str, ...]:
    """Names as users give them: several, or a single one.

    >>> names_of("Temp"), names_of(["Temp", "Smoke"])
    (('Temp',), ('Temp', 'Smoke'))
    """
    return (given,) if isinstance(given, str) else tuple(given)


def _length(name: str, duration: Duration | None) -> int | None:
    if duration is None:
        return None
    length = microseconds_of(duration)
    if length <= 0:
        raise OptionError.of(
            "learn-hint", f"the {name} is not longer than nothing", hint="write a duration such as 5 min"
        )
    return length


def _named(patterns: Iterable[str], event_type: str, attribute: str) -> bool:
    return any(fnmatchcase(f"{event_type}.{attribute}", pattern) or pattern == attribute for pattern in patterns)
