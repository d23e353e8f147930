"""The end of a finite input: what time alone completes is complete, as far as a run lets time go on."""

from __future__ import annotations

from cepheus.core.batch import EventBatch
from cepheus.core.errors import OptionError
from cepheus.core.options import END, Until
from cepheus.core.time import MAX_TIME
from cepheus.engine.assembly.weighted import WeightedEngine
from cepheus.engine.base.interface import Engine
from cepheus.rules.model import Collection, Rule, RuleSet, Selection
from cepheus.rules.timers import Every


def require_end(rules: RuleSet, until: Until) -> None:
    """Refuse to wait for the end of timers that have none."""
    for rule in rules.rules:
        if until == END and isinstance(rule.pattern.timer, Every):
            raise OptionError.of(
                "until",
                f"the moments of rule '{rule.name}' have no end",
                span=rule.pattern.timer.span,
                hint="give a time, as in until='2026-01-31T10:00:00Z'",
            )


def has_timers(rules: RuleSet) -> bool:
    """Whether some rule is evaluated at moments of its own."""
    return any(rule.pattern.timer is not None for rule in rules.rules)


def fires_without_events(rule: Rule) -> bool:
    """Whether a rule may fire at regular moments though there be no event: so it does from the first of all on."""
    needed = (
        isinstance(item, Selection) or (isinstance(item, Collection) and item.least > 0) for item in rule.pattern.items
    )
    return isinstance(rule.pattern.timer, Every) and not any(needed)


def end_input(engine: Engine, rules: RuleSet, until: Until, last: int | None = None) -> EventBatch:
    """What is complete when no more events come.

    Rules with timers have reached the last event, whose time is ``last`` where the engine has not seen it, and go on as
    far as ``until`` says: to a time, or to the end of every timer that was set.
    """
    require_end(rules, until)
    if not has_timers(rules):
        return engine.advance(MAX_TIME)
    made = [] if last is None else [engine.advance(last)]
    if isinstance(until, int):
        made.append(engine.advance(until))
    elif until == END:
        while (deadline := last_deadline(engine)) is not None:
            made.append(engine.advance(deadline))
    return EventBatch.concat(made)


def begin_input(engine: Engine, first: int) -> None:
    """Let time begin with the first event of all, which another engine may have got."""
    begin = getattr(_at_work(engine), "begin", None)
    if begin is not None:
        begin(first)


def next_deadline(engine: Engine) -> int | None:
    """When time alone will next have something evaluated in an engine; None if nothing waits for that."""
    find = getattr(_at_work(engine), "next_deadline", None)
    found: int | None = None if find is None else find()
    return found


def last_deadline(engine: Engine) -> int | None:
    """The last moment that an event has set in an engine and that is still to come; None if there is none."""
    find = getattr(_at_work(engine), "last_deadline", None)
    found: int | None = None if find is None else find()
    return found


def _at_work(engine: Engine) -> Engine:
    """The engine that runs the rules of TESLA in what is made up of several."""
    if isinstance(engine, WeightedEngine):
        return _at_work(engine.engine)
    found: Engine = getattr(engine, "at_work", engine)
    return found
