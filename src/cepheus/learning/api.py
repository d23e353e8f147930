"""``cepheus.learn`` and ``cepheus.review``: rules from history, and what history says of rules, in one call each."""

from __future__ import annotations

import os
import time as clock
from collections.abc import Collection, Iterable
from typing import Unpack

from cepheus.core.errors import OptionError
from cepheus.core.options import Duration, RunKeywords, RunOptions, microseconds_of
from cepheus.core.progress import shown
from cepheus.learning.hints import Hints
from cepheus.learning.history import History
from cepheus.learning.learn import Say, Settings, check_seed, learn_history
from cepheus.learning.occurrences import Occurrences
from cepheus.learning.reading import HistoryInput, read_history
from cepheus.learning.report import Learned
from cepheus.learning.review import Review, review_rules
from cepheus.rules.check.check import name_rules
from cepheus.runtime.embedded.rule_sources import RuleSource, read_rules


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
    resume: str | os.PathLike[str] | None = None,
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
    compared with constants, attributes to ``trust`` though they look like the label. Durations are texts such as
    ``60 s`` or timedeltas; a mere number is microseconds, whatever the ``time_unit``.

    Rules are judged by F1; with an ``alarm_cost`` by that cost of a false alarm, where a miss costs 1. The search ends
    after ``budget`` seconds with the best that it has; the same ``seed`` gives the same rules. With ``resume`` the
    progress is kept in that file, and a search that was stopped goes on from it. ``say`` is told what is being tried
    and the best F1 so far. The other keywords are those of ``Program.detect``: names of columns, units.

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
    check_target(target)
    events = History.of(read_history(history, run))
    if not events.types:
        raise OptionError.of("learn-target", "the history has no events")
    if occurrences is None:
        known = Occurrences.among(events, target)
    else:
        check_apart(target, events.types)
        known, events = Occurrences.of(read_history(occurrences, run, target), target, events)
    begun = clock.monotonic()
    with shown("learning rules") as tell:

        def told(what: str, best: float) -> None:
            say(what, best)
            tell((clock.monotonic() - begun) / budget, f"of the time, best F1 {best:.2f}: {what}")

        return Learned(learn_history(events, known, hints, settings, told, resume))


def check_target(target: object) -> None:
    """Refuse what no type of events can be called."""
    if not isinstance(target, str) or not target.isidentifier():
        raise OptionError.of(
            "learn-target", f"{target!r} is not the name of a type of events", hint="target='Incident'"
        )


def check_apart(target: str, types: Collection[str]) -> None:
    """Refuse occurrences that are given twice."""
    if target in types:
        message = f"the history has events of type '{target}', and occurrences are given besides"
        raise OptionError.of("learn-target", message, hint="leave out one of them")


def review(
    rules: RuleSource,
    history: HistoryInput,
    target: str | None = None,
    *,
    occurrences: HistoryInput | None = None,
    slack: Duration | None = None,
    seed: int = 1,
    say: Say = lambda _what, _best: None,
    **options: Unpack[RunKeywords],
) -> Review:
    """Do rules that are in use still hold? How they did in the course of a history, which of their numbers have moved.

    ``target`` is what the rules tell, by default the one type that they define; events of that type in the history mark
    it, or else ``occurrences``, as for ``learn``. Thresholds of attributes and aggregates and windows are set otherwise
    where that is better in the recent part of history, and also on the last occurrences, which it was not fitted to.

    >>> from cepheus.core.event import Event
    >>> temps = [Event("Temp", 10 * n, {"value": float(20 + 37 * n % 40)}) for n in range(1, 800)]
    >>> alarms = [Event("Alarm", t.time) for t in temps if t.attributes["value"] > (45 if t.time < 4000 else 50)]
    >>> print(review("rule Hot define Alarm() from Temp(value > 45)", temps + alarms).reviewed[0].moved[0])
    Temp.value > 45: 50 in place of 45 (F1 0.776 to 1.000)
    """
    run = RunOptions.of(**options)
    given = name_rules(read_rules(rules, run.unit))
    names = sorted({rule.composite.name for rule in given.rules})
    if target is None and len(names) != 1:
        hint = f"name one: {', '.join(names)}" if names else "write rules of TESLA"
        raise OptionError.of("review", "the rules do not define one type of events to review", hint=hint)
    chosen = names[0] if target is None else target
    check_target(chosen)
    check_seed(seed)
    events = History.of(read_history(history, run))
    if not events.types:
        raise OptionError.of("learn-target", "the history has no events")
    if occurrences is None:
        known = Occurrences.among(events, chosen)
    else:
        check_apart(chosen, events.types)
        known, events = Occurrences.of(read_history(occurrences, run, chosen), chosen, events)
    off = None if slack is None else microseconds_of(slack)
    return review_rules(given, events, known, slack=off, seed=seed, say=say)
