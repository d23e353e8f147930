"""``cepheus.learn``: rules from history, in one call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

from cepheus.core.errors import OptionError
from cepheus.core.options import Duration, RunKeywords, RunOptions, microseconds_of
from cepheus.learning.hints import Hints
from cepheus.learning.history import History
from cepheus.learning.learn import Say, Settings, learn_history
from cepheus.learning.occurrences import Occurrences
from cepheus.learning.reading import HistoryInput, read_history
from cepheus.learning.report import Learned


def learn(
    history: HistoryInput,
    target: str,
    *,
    occurrences: HistoryInput | None = None,
    slack: Duration | None = None,
    types: Iterable[str] = (),
    terminator: str | None = None,
    window: Duration | None = None,
    longest: Duration | None = None,
    ignore: Iterable[str] = (),
    keys: Iterable[str] = (),
    trust: Iterable[str] = (),
    alarm_cost: float | None = None,
    most_rules: int = 3,
    held_out: float = 0.3,
    budget: float = 300.0,
    seed: int = 1,
    say: Say = lambda _what, _best: None,
    **options: Unpack[RunKeywords],
) -> Learned:
    """Learn TESLA rules that tell when something happens, from a history in which it is known.

    ``target`` is what is to be told: the type of events in the history that mark it. Or else ``occurrences`` is a table
    of them (dicts, a frame, a file) with a column ``time`` and, for intervals, ``start``; further columns are keys. The
    rules define events of the target's type. The last ``held_out`` share of occurrences is kept for testing.

    Labels may be off by ``slack`` in either direction; if it is not given, how late they come is estimated. Hints of an
    expert: the only ``types`` that matter, the ``terminator``, how far back rules look (``window``) or may look
    (``longest``), attributes to ``ignore`` (``Temp.battery``, ``*.id``), attributes that are ``keys`` and never
    compared with constants, attributes to ``trust`` though they look like the label.

    Rules are judged by F1; with an ``alarm_cost`` by that cost of a false alarm, where a miss costs 1. The search ends
    after ``budget`` seconds with the best that it has; the same ``seed`` gives the same rules. ``say`` is told what is
    being tried and the best F1 so far. The other keywords are those of ``Program.detect``: names of columns, units.

    >>> from cepheus.core.event import Event
    >>> temps = [Event("Temp", 10 * n, {"value": float(20 + 37 * n % 40)}) for n in range(1, 400)]
    >>> alarms = [Event("Alarm", temp.time) for temp in temps if temp.attributes["value"] > 45]
    >>> learned = learn(temps + alarms, "Alarm")
    >>> print(learned.found[0].text)
    rule Alarm1
    define Alarm()
    from   Temp(value>45.0)
    >>> learned.f1
    1.0
    """
    run = RunOptions.of(**options)
    hints = Hints.of(
        types=types, terminator=terminator, window=window, longest=longest, ignore=ignore, keys=keys, trust=trust
    )
    settings = Settings(
        held_out=held_out,
        slack=None if slack is None else microseconds_of(slack),
        most_rules=most_rules,
        seed=seed,
        budget=budget,
        alarm_cost=alarm_cost,
    )
    if not isinstance(target, str) or not target.isidentifier():
        raise OptionError.of(
            "learn-target", f"{target!r} is not the name of a type of events", hint="target='Incident'"
        )
    events = History.of(read_history(history, run))
    if not events.types:
        raise OptionError.of("learn-target", "the history has no events")
    if occurrences is None:
        known = Occurrences.among(events, target)
    else:
        if target in events.types:
            message = f"the history has events of type '{target}', and occurrences are given besides"
            raise OptionError.of("learn-target", message, hint="leave out one of them")
        known, events = Occurrences.of(read_history(occurrences, run, target), target, events)
    return Learned(learn_history(events, known, hints, settings, say))
