"""Rules as functions: a function that takes the terminator and gives the composite event is read once, into a rule."""

from __future__ import annotations

import dis
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Generic, Literal, TypeVar, cast, overload

from cepheus.core.distribution import parse_distribution
from cepheus.core.errors import CepheusError, OptionError, RuleError
from cepheus.core.source import Span
from cepheus.language.python.draft import Draft, EventInRule, Length, free_expression, length_of
from cepheus.language.python.events import Composite, Event, event_type
from cepheus.language.python.places import BUILDING, READING, Site, caller_names, here, site, source_of, span_in
from cepheus.language.python.values import Symbol
from cepheus.language.tesla.parse import parse
from cepheus.language.tesla.print import format_rule, format_rules
from cepheus.rules.belief.model import Belief
from cepheus.rules.expressions import AttributeRef, EventPattern
from cepheus.rules.model import Assignment, ErrorDeclaration, Pattern, Rule, RuleSet, moments_of
from cepheus.rules.timers import NOW, After, Every, Timer

C = TypeVar("C", bound=Composite)

_OWN_NAME: Any = object()


@dataclass(frozen=True)
class PythonRule(Generic[C]):
    """A rule that was written as a Python function; ``str`` gives it in TESLA.

    ``model`` is what every engine runs, ``kinds`` are the classes of the events that it names, by their types.
    """

    model: Rule
    kinds: Mapping[str, type[Event]]
    composite: type[C] = field(repr=False)

    def __str__(self) -> str:
        return format_rule(self.model)


@dataclass(frozen=True)
class TypedRules:
    """Rules and the classes of their events; ``str`` gives them in TESLA, declarations included."""

    model: RuleSet
    types: Mapping[str, type[Event]] = field(repr=False)
    rules: tuple[PythonRule[Any], ...] = field(repr=False)

    def __str__(self) -> str:
        return format_rules(self.model)

    def __getitem__(self, name: str) -> PythonRule[Any]:
        return next(rule for rule in self.rules if rule.model.name == name)


@overload
def rule(function: Callable[..., C]) -> PythonRule[C]: ...
@overload
def rule(
    *,
    name: str | None = ...,
    alias: str | None = ...,
    after: Length | None = ...,
    every: Length | None = ...,
    start: str | None = ...,
    min_probability: float | None = ...,
    ties: Literal["apart", "ordered"] = ...,
) -> Callable[[Callable[..., C]], PythonRule[C]]: ...


def rule(
    function: Callable[..., C] | None = None,
    *,
    name: str | None = _OWN_NAME,
    alias: str | None = None,
    after: Length | None = None,
    every: Length | None = None,
    start: str | None = None,
    min_probability: float | None = None,
    ties: Literal["apart", "ordered"] = "apart",
) -> PythonRule[C] | Callable[[Callable[..., C]], PythonRule[C]]:
    """Read a function as a rule: its argument is the terminator, what it returns is the composite event.

    The rule has the function's name, or ``name``; its text calls the terminator by its type, or by ``alias``. With
    ``after`` it is evaluated that long after the terminator, with ``every`` at regular moments (from ``start``, a time
    of day, on), and has no argument; ``now`` is the moment.

    >>> from cepheus.typed import Composite, Event, last
    >>> class Smoke(Event):
    ...     area: str
    >>> class Temp(Event):
    ...     area: str
    ...     value: float
    >>> class Fire(Composite):
    ...     area: str
    ...     temp: float
    >>> @rule
    ... def fire(smoke: Smoke) -> Fire:
    ...     temp = last(Temp, Temp.area == smoke.area, Temp.value > 45).within("5 min", of=smoke)
    ...     return Fire(area=smoke.area, temp=temp.value)
    >>> print(fire)
    rule fire
    define Fire(area: string, temp: double)
    from   Smoke() and
           last Temp(area=Smoke.area and value>45) within 5 min from Smoke
    where  area=Smoke.area and temp=Temp.value
    """
    timer = _timer(after, every, start, site())
    names = caller_names()

    def read(function: Callable[..., C]) -> PythonRule[C]:
        own = function.__name__ if name is _OWN_NAME else name
        return _read(function, own, alias, timer, min_probability, ties == "ordered", names)

    return read if function is None else read(function)


def rule_set(
    *rules: PythonRule[Any],
    types: Iterable[type[Event]] | None = None,
    errors: Iterable[ErrorDeclaration] = (),
    networks: Iterable[str] = (),
) -> TypedRules:
    """Put rules together, with the types they declare: by default those that they mention, in that order."""
    kinds: dict[str, type[Event]] = {}
    for each in rules:
        if not isinstance(each, PythonRule):
            raise no_rule(each)
        for name, kind in each.kinds.items():
            if kinds.setdefault(name, kind) is not kind and event_type(kinds[name]) != event_type(kind):
                message = f"two classes describe events of type '{name}' differently"
                raise RuleError.of("type-conflict", message, span=event_type(kind).span)
    declared = [kind for kind in kinds.values() if kind.__declared__] if types is None else list(types)
    for kind in declared:
        kinds.setdefault(event_type(kind).name, kind)
    model = RuleSet(
        tuple(map(event_type, declared)),
        tuple(each.model for each in rules),
        beliefs=tuple(belief for text in networks for belief in _beliefs(text)),
        errors=tuple(errors),
    )
    return TypedRules(model, kinds, rules)


def error(value: float, distribution: str) -> ErrorDeclaration:
    """What the values of an attribute are off by: ``error(Temp.value, "N(0, 1)")``."""
    place = site()
    node, owners = (value.node, value.owners) if isinstance(value, Symbol) else (None, frozenset[type]())
    if isinstance(node, AttributeRef) and len(owners) == 1:
        (kind,) = owners
        return ErrorDeclaration(event_type(kind).name, node.name, parse_distribution(distribution), place.span)
    hint = 'write it as error(Temp.value, "N(0, 1)")'
    raise RuleError.of("python-event", "this is no attribute of a class of events", span=place.span, hint=hint)


def _beliefs(text: str) -> tuple[Belief, ...]:
    return parse(text, "<network>").beliefs


def as_typed(source: PythonRule[Any] | TypedRules | Sequence[PythonRule[Any]]) -> TypedRules:
    """One rule, several, or a set of them, as a set."""
    if isinstance(source, TypedRules):
        return source
    if isinstance(source, PythonRule):
        return rule_set(source)
    if not isinstance(source, Iterable) or isinstance(source, str | bytes):
        raise no_rule(source)
    return rule_set(*source)


def no_rule(given: object) -> CepheusError:
    """What to say where something is given that is no rule."""
    if inspect.isfunction(given):
        message = f"the function '{given.__name__}' is no rule"
        return RuleError.of("python-rule", message, span=_definition(given), hint="write @rule above it")
    if isinstance(given, bytes | bytearray | memoryview):
        return OptionError.of("option", "rules are text, and bytes are given", hint="decode them: text.decode('utf-8')")
    hint = "give the text of rules, a Path, functions below @rule, or a list of such functions and of files"
    return OptionError.of("option", f"{given!r:.60} is no rule, and names no file of rules", hint=hint)


# ---- Reading -----------------------------------------------------------------------------------------------------


def _timer(after: Length | None, every: Length | None, start: str | None, place: Site) -> Timer | None:
    if after is not None and every is not None:
        raise RuleError.of("timer", "a rule has one timer: after or every", span=place.span)
    if after is not None:
        return After(length_of(after, place), place.keyword("after"))
    if every is None:
        return None
    return Every(length_of(every, place), _clock(start, place), place.keyword("every"))


def _clock(text: str | None, place: Site) -> int:
    if text is None:
        return 0
    parts = text.split(":")
    numbers = [int(part) if part.isdigit() else 99 for part in parts]
    if len(parts) not in (2, 3) or numbers[0] > 23 or any(number > 59 for number in numbers[1:]):
        message = f"'{text}' is not a time of day"
        raise RuleError.of("timer", message, span=place.keyword("start"), hint="write it as in start='09:00'")
    hours, minutes, seconds = (*numbers, 0)[:3]
    return ((hours * 60 + minutes) * 60 + seconds) * 1_000_000


def _read(
    function: Callable[..., C],
    name: str | None,
    alias: str | None,
    timer: Timer | None,
    min_probability: float | None,
    ordered: bool,
    names: dict[str, object],
) -> PythonRule[C]:
    span = _definition(function)
    terminator, composite = _signature(function, timer, names, span)
    if terminator is None:
        assert isinstance(timer, Every)
        first = moments_of(timer)
    else:
        first = EventPattern(event_type(terminator).name, (), alias, span)
    rule = Draft(first.type, first.name, first.name if timer is None else NOW)
    rule.names.add(first.name)
    if terminator is not None:
        rule.use(terminator)
    token = BUILDING.set(rule)
    try:
        made = function() if terminator is None else function(EventInRule(terminator, first.name))
    finally:
        BUILDING.reset(token)
    rule.require_windows()
    _refuse_forgotten(function)
    if not isinstance(made, composite):
        hint = f"end with 'return {composite.__name__}(..)'"
        raise RuleError.of("python-rule", f"the rule gives no {composite.__name__}", span=span, hint=hint)
    place = Site(span)
    assignments = tuple(
        Assignment(composite.__slots_of_rule__[key].name, free_expression(value, place), _span_of(value) or span)
        for key, value in made.__dict__.items()
    )
    pattern = Pattern(replace(first, constraints=tuple(rule.constraints)), tuple(rule.items), timer, span)
    consuming, spans = tuple(each for each, _ in rule.consuming), tuple(each for _, each in rule.consuming if each)
    model = Rule(
        event_type(composite),
        pattern,
        assignments,
        consuming,
        min_probability,
        name,
        ordered,
        span=span,
        consuming_spans=spans,
    )
    return PythonRule(model, {**rule.kinds, event_type(composite).name: composite}, composite)


def _span_of(value: object) -> Span | None:
    return value.node.span if isinstance(value, Symbol) else None


FORGOTTEN = "a condition that stands by itself asks nothing"
ASK_IT = "write require(..) around it, or when(..) if it is about the terminator alone"


def _refuse_forgotten(function: Callable[..., object]) -> None:
    """Refuse comparisons that stand by themselves: Python computes and forgets them."""
    code = function.__code__ if inspect.isfunction(function) else None
    for instruction, after in pairwise(() if code is None else dis.get_instructions(code)):
        is_condition = instruction.opname in ("COMPARE_OP", "UNARY_INVERT") or instruction.argrepr in ("&", "|")
        if is_condition and after.opname == "POP_TOP":
            at = instruction.positions
            span = None if at is None or code is None else span_in(code.co_filename, tuple(at))
            raise RuleError.of("python-rule", FORGOTTEN, span=span, hint=ASK_IT)


def _definition(function: Callable[..., object]) -> Span | None:
    """The name of a function where it is defined."""
    code = getattr(function, "__code__", None) if READING.get() is None else None
    source = None if code is None else source_of(code.co_filename)
    if code is None or source is None:
        return here()
    for number in range(code.co_firstlineno, code.co_firstlineno + 20):
        try:
            line = source.line(number)
        except IndexError:
            break
        at = line.find(f"def {code.co_name}")
        if at >= 0:
            start = sum(len(each) + 1 for each in source.text.split("\n")[: number - 1]) + at + len("def ")
            return Span(source, start, start + len(code.co_name))
    return here()


def _signature(
    function: Callable[..., C], timer: Timer | None, names: dict[str, object], span: Span | None
) -> tuple[type[Event] | None, type[C]]:
    """The class of the terminator, None for moments, and that of the composite event."""
    try:
        hints = typing.get_type_hints(function, globalns={**names}, localns=names)
    except (NameError, TypeError, SyntaxError) as problem:
        raise RuleError.of("python-rule", f"the annotations of the rule: {problem}", span=span, hint=_SHAPE) from None
    parameters = list(inspect.signature(function).parameters)
    composite = hints.get("return")
    if not (isinstance(composite, type) and issubclass(composite, Composite)):
        raise RuleError.of(
            "python-rule", "the rule does not say which composite event it gives", span=span, hint=_SHAPE
        )
    wanted = 0 if isinstance(timer, Every) else 1
    if len(parameters) != wanted:
        words = "takes no event: its moments are regular" if wanted == 0 else "takes one event, its terminator"
        raise RuleError.of("python-rule", f"this rule {words}", span=span, hint=_SHAPE)
    kind = hints.get(parameters[0]) if parameters else None
    if parameters and not (isinstance(kind, type) and issubclass(kind, Event)):
        message = f"the rule does not say which event '{parameters[0]}' is"
        raise RuleError.of("python-rule", message, span=span, hint=_SHAPE)
    return cast("type[Event] | None", kind), cast("type[C]", composite)


_SHAPE = "write it as in 'def fire(smoke: Smoke) -> Fire:', with classes of events"
