"""What the parser builds of timers: moments after an event or at regular times, and absences up to such a moment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cepheus.core.errors import did_you_mean
from cepheus.core.source import Span
from cepheus.core.time import HOUR, MINUTE, SECOND, format_duration
from cepheus.language.common.node_builder import Children
from cepheus.language.tesla.build_expressions import ExpressionBuilder
from cepheus.rules.expressions import Aggregate, Between, EventPattern, Expression, Scope, Within
from cepheus.rules.model import Pattern, PatternItem, moments_of
from cepheus.rules.timers import NOW, After, Every, Timer
from cepheus.rules.walk import transform

_DAY_HOURS, _HOUR_MINUTES, _MINUTE_SECONDS = 24, 60, 60


@dataclass(frozen=True, slots=True)
class Ahead:
    """``within 5 min after A``: time that has not passed yet when A comes."""

    duration: int
    reference: str
    span: Span


class TimerBuilder(ExpressionBuilder):
    """Builds the beginnings of patterns, timers among them."""

    # ---- Terminators ---------------------------------------------------------------------------------------------

    def terminator(self, children: Children) -> Children:
        """Start a pattern, and remember where its first event ends in case that is all."""
        self._begin_pattern(None, children[0].span.start, self.event_end)
        self.moment_name = children[0].name
        return children

    def after_terminator(self, children: Children) -> Children:
        """``5 min after Smoke()``."""
        (duration, start), word, event = children
        span = Span(self.source, start, word.end_pos)
        self._begin_pattern(After(self._length(duration, span, "5 min after"), span), start, self.event_end)
        return [event]

    def negative_timer(self, children: Children) -> Children:
        """``-5 min after Smoke()``."""
        sign, (duration, start), *rest = children
        span = Span(self.source, sign.start_pos, self.event_end)
        self._error("timer", "a timer cannot look into the past", span, "leave the minus sign out")
        return self.after_terminator([(duration, start), *rest])

    def every_terminator(self, children: Children) -> Children:
        """``every 10 min``, ``every 10 min from 09:00``."""
        word, duration, *clock = children
        start, end = clock[-1] if clock else (0, self.duration_end)
        span = Span(self.source, word.start_pos, end)
        timer = Every(self._length(duration, span, "every 10 min"), start, span)
        self._begin_pattern(timer, span.start, end)
        return [moments_of(timer)]

    def _begin_pattern(self, timer: Timer | None, start: int, end: int) -> None:
        self.timer, self.pattern_start, self.terminator_end = timer, start, end
        self.moment_name = NOW
        self.ahead: list[Ahead] = []
        self.collections.clear()

    def timed(self, children: Children) -> tuple[int, int]:
        """A duration, and where it begins."""
        return self.duration(children), children[0].start_pos

    def _length(self, duration: int, span: Span, example: str) -> int:
        if duration > 0:
            return duration
        if not self.errors or self.errors[-1].code not in ("unit", "duration"):
            self._error("timer", "a timer needs a length of time above zero", span, f"write it as in '{example}'")
        return SECOND

    def clock(self, children: Children) -> tuple[int, int]:
        """``09:00``, ``09:00:30``."""
        hours, minutes, *rest = (int(token) for token in children)
        span = Span(self.source, children[0].start_pos, children[-1].end_pos)
        seconds = rest[0] if rest else 0
        if hours >= _DAY_HOURS or minutes >= _HOUR_MINUTES or seconds >= _MINUTE_SECONDS:
            self._error(
                "timer", f"'{span.text}' is not a time of day", span, "write it as in 'every 10 min from 09:00'"
            )
            return 0, span.end
        return hours * HOUR + minutes * MINUTE + seconds * SECOND, span.end

    def late_timer(self, children: Children) -> PatternItem:
        """A timer that does not begin the pattern."""
        (duration, start), _, event = children
        self._error(
            "timer",
            f"a timer stands at the beginning of the pattern: here '{event.name}' is not the terminator",
            Span(self.source, start, self.event_end),
            f"begin with 'from {format_duration(duration)} after {event.type}(..)', "
            "and look at the other events within a time from now",
        )
        return self.stand_in_item()

    def stand_in_item(self) -> PatternItem:
        """What the reading goes on with in place of a part of a pattern."""
        raise NotImplementedError

    # ---- Time ahead ----------------------------------------------------------------------------------------------

    def window_after(self, children: Children) -> Ahead:
        """``within 5 min after Smoke``."""
        word, (duration, _), _, reference = children
        return Ahead(duration, str(reference), Span(self.source, word.start_pos, reference.end_pos))

    def absent_ahead(self, ahead: Ahead) -> Between:
        """The scope of an absence up to a moment ahead."""
        self.ahead.append(ahead)
        return Between(ahead.reference, NOW, ahead.span)

    def not_ahead(self, scope: Ahead | Scope, event: EventPattern) -> Scope:
        """A scope of a selection or an aggregate: it lies in the past."""
        if not isinstance(scope, Ahead):
            return scope
        length = format_duration(scope.duration)
        self._error(
            "timer",
            f"only 'not' looks ahead of an event: '{event.type}' is chosen from what has come by then",
            scope.span,
            f"the later event comes first, and looks back: from {event.type}() and last {scope.reference}() within "
            f"{length} from {event.type}; or begin with 'from {length} after {scope.reference}(..)' "
            "and look back from now",
        )
        return Within(scope.duration, scope.reference, scope.span)

    def _aggregate(
        self,
        name: Any,
        event: EventPattern,
        value: Expression | None,
        scope: Scope | Ahead,
        end: int,
        argument: float | None = None,
    ) -> Aggregate:
        return super()._aggregate(name, event, value, self.not_ahead(scope, event), end, argument)

    @staticmethod
    def scope_end(scope: Scope) -> int:
        """Where a scope ends in the text."""
        assert scope.span is not None
        return scope.span.end

    def past_window(self, scope: Ahead | Within, event: EventPattern) -> Within:
        """The window of a selection."""
        window = self.not_ahead(scope, event)
        assert isinstance(window, Within)
        return window

    def timed_pattern(self, terminator: EventPattern, items: tuple[PatternItem, ...], span: Span) -> Pattern:
        """A pattern with its timer, which absences ahead may set as well."""
        timer = self.timer
        for ahead in self.ahead:
            length = self._length(ahead.duration, ahead.span, "within 5 min after A")
            if ahead.reference != terminator.name or isinstance(timer, Every):
                self._not_terminator(ahead, terminator)
            elif timer is None:
                timer = After(length, ahead.span)
            elif timer.duration != length:
                self._error(
                    "timer",
                    f"the rule is evaluated once, {format_duration(timer.duration)} after '{terminator.name}'",
                    ahead.span,
                    "write two rules, or the same length of time",
                )
        self.moment_name = terminator.name if timer is None else NOW  # also for what stands in where
        return _up_to(self.moment_name, Pattern(terminator, items, timer, span))

    def _not_terminator(self, ahead: Ahead, terminator: EventPattern) -> None:
        hint = did_you_mean(ahead.reference, [terminator.name])
        self._error(
            "timer",
            f"'{ahead.reference}' is not the terminator, and only after that is time waited for",
            ahead.span,
            hint or f"begin the pattern with {ahead.reference}(..), or write 'between {ahead.reference} and ..'",
        )


def _up_to(moment: str, pattern: Pattern) -> Pattern:
    """What is aggregated since the start goes on to the moment of the rule, which only the whole pattern tells."""

    def change(node: object) -> object:
        return replace(node, reference=moment) if isinstance(node, Within) and node.since_start else node

    found: Pattern = transform(pattern, change)
    return found
