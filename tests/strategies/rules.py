"""Rules for Hypothesis: ``rule_sets`` draws anything that can be written, ``valid_rule_sets`` only what makes sense."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from cepheus.core.schema import Attribute, EventType
from cepheus.core.time import DAY, MAX_TIME, MILLISECOND, SECOND
from cepheus.core.values import INT_MAX, INT_MIN, ValueType
from cepheus.rules.aggregates import AGGREGATES, APPROXIMATIONS
from cepheus.rules.expressions import (
    Aggregate,
    Arithmetic,
    AttributeRef,
    Between,
    Call,
    Comparison,
    Constant,
    Constraint,
    EventPattern,
    Expression,
    Negative,
    Parameter,
    Scope,
    Within,
)
from cepheus.rules.functions import AND, FUNCTIONS, IN, IS_NULL, NOT, OR
from cepheus.rules.model import (
    Aggregation,
    Assignment,
    Collection,
    FreeCondition,
    Negation,
    Pattern,
    PatternItem,
    Ranking,
    Rule,
    RuleSet,
    Selection,
    moments_of,
)
from cepheus.rules.policies import Policy
from cepheus.rules.timers import NOW, After, Every, Timer
from cepheus.rules.walk import transform, walk

_KEYWORD_LIST = """
    rule define from where consuming min probability event timestamp
    each last first not and or as within between true false
"""
KEYWORDS = frozenset(_KEYWORD_LIST.split())
COMPARATORS = ("=", "!=", "<", "<=", ">", ">=")

# ---- Anything that can be written --------------------------------------------------------------------------------

_identifiers = st.one_of(
    st.sampled_from(["Temp", "Smoke", "A", "b_1", "value", "area", "Count", "max", "day", "Länge", "or"]),
    st.from_regex(r"[^\W\d]\w{0,6}", fullmatch=True).filter(lambda name: name.lower() not in KEYWORDS),
)
_plain_names = _identifiers | st.sampled_from(["probability", "Timestamp"])
_plain_words = _plain_names | st.sampled_from(["min", "last", "First", "each", "event", "rule", "in", "is", "Null"])
_quoted = st.sampled_from(["host.id", "between", "a b", "1st", "or"])
names = _plain_names | _quoted
words = _plain_words | _quoted
durations = st.integers(0, 2**63 - 1) | st.integers(0, 10_000).map(lambda seconds: seconds * SECOND)
scopes: SearchStrategy[Scope] = st.builds(Within, durations, names) | st.builds(Between, names, names)
_SINCE_START = Within(MAX_TIME, "", since_start=True)
"""The pattern tells what it refers to."""

constants: SearchStrategy[Constant] = st.one_of(
    st.builds(Constant, st.integers(INT_MIN, INT_MAX) | st.integers(-20, 20), st.just(ValueType.INT)),
    st.builds(Constant, st.floats(allow_nan=False, allow_infinity=False), st.just(ValueType.FLOAT)),
    st.builds(Constant, st.text(max_size=12), st.just(ValueType.STRING)),
    st.builds(Constant, st.booleans(), st.just(ValueType.BOOL)),
    st.builds(Constant, st.integers(INT_MIN, INT_MAX) | st.integers(0, 2**51), st.just(ValueType.TIMESTAMP)),
)
leaves: SearchStrategy[Expression] = st.one_of(
    constants,
    st.builds(AttributeRef, st.none(), words),
    st.builds(AttributeRef, names.filter(lambda name: name.lower() not in {"min"}), words),
    st.builds(Parameter, _plain_words),
)


def _comparisons(operands: SearchStrategy[Expression]) -> SearchStrategy[Comparison]:
    def build(pairs: list[tuple[str, Expression]], first: Expression) -> Comparison:
        return Comparison((first, *(operand for _, operand in pairs)), tuple(operator for operator, _ in pairs))

    pairs = st.lists(st.tuples(st.sampled_from(COMPARATORS), operands), min_size=1, max_size=3)
    return st.builds(build, pairs, operands)


def _grow(inner: SearchStrategy[Expression]) -> SearchStrategy[Expression]:
    return st.one_of(
        st.builds(Arithmetic, st.sampled_from("+-*/"), inner, inner),
        st.builds(Negative, inner),
        st.builds(Call, st.sampled_from(sorted(FUNCTIONS)), st.lists(inner, max_size=3).map(tuple)),
        _comparisons(inner),
        _joined(inner),
    )


def _joined(inner: SearchStrategy[Expression]) -> SearchStrategy[Expression]:
    """Draw conditions that are joined: nothing is joined by the same word twice, as that is one longer list."""

    def apart(word: str) -> SearchStrategy[Expression]:
        parts = inner.filter(lambda part: not isinstance(part, Call) or part.function != word)
        return st.builds(Call, st.just(word), st.lists(parts, min_size=2, max_size=3).map(tuple))

    return st.one_of(
        apart(AND),
        apart(OR),
        st.builds(Call, st.sampled_from((NOT, IS_NULL)), st.tuples(inner)),
        st.builds(Call, st.just(IN), st.lists(inner, min_size=2, max_size=3).map(tuple)),
    )


plain_expressions: SearchStrategy[Expression] = st.recursive(leaves, _grow, max_leaves=6)


def _events(operands: SearchStrategy[Expression]) -> SearchStrategy[EventPattern]:
    constraints = (_comparisons(operands) | operands).filter(
        lambda constraint: not isinstance(constraint, Call) or constraint.function != AND
    )
    return st.builds(EventPattern, names, st.lists(constraints, max_size=3).map(tuple), st.none() | names)


@st.composite
def aggregates(draw: DrawFn) -> Aggregate:
    """Draw an aggregate; only Count may lack a value."""
    record = draw(st.sampled_from(list(AGGREGATES.values())))
    function = record.name
    value = draw(plain_expressions if record.needs_value else st.none() | plain_expressions)
    event, scope = draw(_events(plain_expressions)), draw(scopes | st.just(_SINCE_START))
    nearly = function in APPROXIMATIONS.values()  # which is said where others have their argument
    argument = None if value is None or nearly else draw(st.sampled_from([None, 0.0, 95.0, 99.9]))
    return Aggregate(function, event, value, scope, argument)


expressions: SearchStrategy[Expression] = st.recursive(leaves | aggregates(), _grow, max_leaves=5)
event_patterns = _events(expressions)


@st.composite
def aggregations(draw: DrawFn) -> Aggregation:
    """Draw an aggregate in a pattern: bound, compared, or both."""
    aggregate = draw(aggregates())
    parameter = draw(st.none() | _plain_words)
    sides = st.lists(st.tuples(plain_expressions, st.sampled_from(COMPARATORS)), max_size=2)
    before = draw(sides)
    after = draw(sides.filter(lambda side: bool(before or parameter or side)))
    if parameter is None and before and isinstance(before[-1][0], Parameter | AttributeRef):
        before[-1] = (before[-1][0], "<")  # with '=' the name before the aggregate would be bound to it
    operands = (*(operand for operand, _ in before), aggregate, *(operand for operand, _ in after))
    operators = (*(operator for _, operator in before), *(operator for _, operator in after))
    comparison = Comparison(operands, operators) if operators else None
    return Aggregation(aggregate, parameter, comparison)


selections = st.builds(
    Selection,
    st.sampled_from([Policy.LAST, Policy.FIRST]),
    event_patterns,
    st.builds(Within, durations, names),
    st.none() | st.integers(1, 50),
    st.lists(st.builds(AttributeRef, st.none(), words), max_size=2).map(tuple),
) | st.builds(Selection, st.just(Policy.EACH), event_patterns, st.builds(Within, durations, names))
rankings = st.builds(Ranking, st.integers(1, 50), expressions)
ranked_selections = st.builds(
    Selection,
    st.just(Policy.EACH),
    event_patterns,
    st.builds(Within, durations, names),
    ranking=rankings,
) | st.builds(
    Selection,
    st.just(Policy.LAST),
    event_patterns,
    st.builds(Within, durations, names),
    per=st.lists(st.builds(AttributeRef, st.none(), words), min_size=1, max_size=2).map(tuple),
    ranking=rankings,
)
collections = st.builds(Collection, event_patterns, scopes, st.integers(0, 9), st.none() | st.integers(0, 20))
free_conditions = st.builds(FreeCondition, _comparisons(plain_expressions) | _joined(plain_expressions))
items: SearchStrategy[PatternItem] = st.one_of(
    selections,
    st.builds(Negation, event_patterns, scopes),
    aggregations(),
    free_conditions,
    ranked_selections,
    collections,
)
timers: SearchStrategy[Timer | None] = (
    st.none()
    | st.builds(After, st.integers(1, 2**63 - 1))
    | st.builds(Every, st.integers(1, DAY), st.integers(0, DAY // SECOND - 1).map(lambda second: second * SECOND))
)


@st.composite
def patterns(draw: DrawFn) -> Pattern:
    """Draw a pattern, some of them with timers."""
    timer = draw(timers)
    terminator = moments_of(timer) if isinstance(timer, Every) else draw(event_patterns)
    pattern = Pattern(terminator, tuple(draw(st.lists(items, max_size=3))), timer)
    found: Pattern = _up_to_the_moment(pattern, pattern)
    return found


def _up_to_the_moment(node: object, pattern: Pattern) -> Any:
    """Have what is aggregated since the start go on to the moment of a pattern."""
    moment = pattern.terminator.name if pattern.timer is None else NOW
    return transform(node, lambda each: replace(each, reference=moment) if each == _SINCE_START else each)


event_types = st.builds(
    EventType,
    names,
    st.lists(st.builds(Attribute, words, st.sampled_from(ValueType), st.booleans()), max_size=3).map(tuple),
)
rules = st.builds(
    Rule,
    composite=event_types,
    pattern=patterns(),
    assignments=st.lists(st.builds(Assignment, words, expressions), max_size=3).map(tuple),
    consuming=st.lists(names, max_size=2).map(tuple),
    min_probability=st.none() | st.floats(0, 1),
    name=st.none() | names,
).map(lambda rule: _up_to_the_moment(rule, rule.pattern))


def rule_sets() -> SearchStrategy[RuleSet]:
    """Draw any rules that the language can express, sensible or not."""

    def build(types: list[EventType], made: list[Rule], ordered: bool) -> RuleSet:
        return RuleSet(tuple(types), tuple(replace(rule, ordered=ordered) for rule in made))

    return st.builds(build, st.lists(event_types, max_size=2), st.lists(rules, min_size=1, max_size=2), st.booleans())


# ---- Rules that make sense ---------------------------------------------------------------------------------------

ATTRIBUTES = {"x": ValueType.INT, "y": ValueType.FLOAT, "s": ValueType.STRING}
TYPES = tuple(
    EventType(name, tuple(Attribute(attribute, value_type) for attribute, value_type in ATTRIBUTES.items()))
    for name in "ABCD"
)
"""The event types of valid rules: A to D, each with x: int, y: double, s: string."""

_small_values: dict[str, SearchStrategy[Constant]] = {
    "x": st.builds(Constant, st.integers(-3, 3), st.just(ValueType.INT)),
    "y": st.builds(Constant, st.sampled_from([-1.5, 0.0, 0.5, 1.0, 2.5]), st.just(ValueType.FLOAT)),
    "s": st.builds(Constant, st.sampled_from(["", "a", "b", "ab"]), st.just(ValueType.STRING)),
}
_windows = st.integers(1, 8).map(lambda seconds: seconds * SECOND) | st.just(500 * MILLISECOND)


@dataclass(slots=True)
class _Scope:
    """What the part of a rule drawn so far has introduced: events, and the attribute each parameter was bound to."""

    events: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)
    aliases: int = 0
    moment: str = ""
    collections: list[Collection] = field(default_factory=list)


@st.composite
def _valid_constraint(draw: DrawFn, scope: _Scope, name: str, binding: bool) -> Constraint:
    """Draw one constraint on one attribute; never two on the same, so that no event contradicts itself."""
    own = AttributeRef(None, name)
    known = sorted(parameter for parameter, source in scope.parameters.items() if source == name)
    operator = draw(st.sampled_from(COMPARATORS if name != "s" else ("=", "!=")))
    choice = draw(st.sampled_from(["constant", "chain", "parameter", "parameter", "function", "joined"]))
    if choice == "parameter" and (known or binding):
        fresh = [f"{name}{len(known)}"] if binding else []
        parameter = draw(st.sampled_from(known + fresh))
        if parameter not in scope.parameters:
            scope.parameters[parameter] = name
            return Comparison((own, Parameter(parameter)), ("=",))
        if name != "s" and draw(st.booleans()):
            shift = Arithmetic(draw(st.sampled_from("+-")), Parameter(parameter), draw(_small_values[name]))
            return Comparison((own, shift), (operator,))
        return Comparison((own, Parameter(parameter)), (operator,))
    if choice == "joined":
        one, other = draw(_small_values[name]), draw(_small_values[name])
        options: list[Constraint] = [
            Call(IN, (own, one, other)),
            Call(NOT, (Call(IN, (own, one)),)),
            Call(OR, (Comparison((own, one), ("=",)), Call(IS_NULL, (own,)))),
            Call(NOT, (Call(AND, (Comparison((own, one), ("=",)), Comparison((own, other), ("!=",)))),)),
        ]
        return draw(st.sampled_from(options))
    if choice == "chain" and name != "s":
        low, high = sorted((draw(_small_values[name]), draw(_small_values[name])), key=lambda bound: bound.value)
        return Comparison((low, own, high), ("<=", "<="))
    if choice == "function" and name == "s":
        return Call(draw(st.sampled_from(("contains", "starts_with"))), (own, draw(_small_values["s"])))
    if choice == "function" and name == "x":
        return Comparison((Call("abs", (own,)), draw(_small_values["x"])), (">=",))
    return Comparison((own, draw(_small_values[name])), (operator,))


@st.composite
def _valid_event(draw: DrawFn, scope: _Scope, binding: bool) -> EventPattern:
    event_type = draw(st.sampled_from(TYPES)).name
    constrained = draw(st.lists(st.sampled_from(sorted(ATTRIBUTES)), unique=True, max_size=2))
    constraints = tuple([draw(_valid_constraint(scope, name, binding)) for name in constrained])
    alias = None
    if event_type in scope.events or draw(st.integers(0, 4)) == 0:
        scope.aliases += 1
        alias = f"E{scope.aliases}"
    return EventPattern(event_type, constraints, alias)


@st.composite
def _valid_scope(draw: DrawFn, scope: _Scope) -> Scope:
    known = sorted(scope.events)
    if len(known) > 1 and draw(st.booleans()):
        first, second = draw(st.permutations(known))[:2]
        return Between(first, second)
    return Within(draw(_windows), draw(st.sampled_from(known)))


@st.composite
def _valid_aggregation(draw: DrawFn, scope: _Scope, name: str) -> Aggregation:
    # Count gives an int, the others give what their attribute is; parameters remember the attribute they act like.
    functions = ["Count", "Sum", "Avg", "Min", "Max", "Median", "Slope", "Percentile", *APPROXIMATIONS.values()]
    function = draw(st.sampled_from(functions))
    attribute = "x" if "Count" in function else "y"
    value = None if function == "Count" else AttributeRef(None, "y")
    argument = draw(st.sampled_from([5.0, 50.0, 95.0])) if function == "Percentile" else None
    event = draw(_valid_event(scope, binding=False))
    aggregate = Aggregate(function, event, value, draw(_valid_scope(scope)), argument)
    if AGGREGATES[function.lower()].goes_on and draw(st.integers(0, 3)) == 0:
        aggregate = replace(
            aggregate, event=replace(event, constraints=()), scope=replace(_SINCE_START, reference=scope.moment)
        )
    parameter = draw(st.none() | st.just(name))
    comparison = None
    if parameter is None or draw(st.booleans()):
        comparison = Comparison((draw(_small_values[attribute]), aggregate), (draw(st.sampled_from(COMPARATORS[2:])),))
    if parameter is not None:
        scope.parameters[parameter] = attribute
    return Aggregation(aggregate, parameter, comparison)


@st.composite
def _valid_condition(draw: DrawFn, scope: _Scope) -> FreeCondition:
    """Draw a condition over the events so far; one alternative always may hold, so that nothing is contradicted."""
    known = st.sampled_from(sorted(scope.events))
    one, other = AttributeRef(draw(known), "y"), AttributeRef(draw(known), "y")
    shift = Arithmetic("+", other, draw(_small_values["y"]))
    compared = Comparison((one, shift), (draw(st.sampled_from(COMPARATORS[2:])),))
    if draw(st.booleans()) and scope.collections:
        value, name = draw(_value_of_members(scope.collections))
        compared = Comparison((value, draw(_small_values[name])), (draw(st.sampled_from(COMPARATORS[2:])),))
    return FreeCondition(Call(OR, (compared, Call(IS_NULL, (AttributeRef(draw(known), "x"),)))))


@st.composite
def _value_of_members(draw: DrawFn, collections: list[Collection]) -> tuple[Aggregate, str]:
    """Draw a value of a collection, and the attribute that it acts like."""
    found = draw(st.sampled_from(collections))
    function, value, name = draw(
        st.sampled_from(
            [("Count", None, "x"), ("Avg", "y", "y"), ("Max", "x", "x"), ("First", "y", "y"), ("Last", "x", "x")]
        )
    )
    of = None if value is None else AttributeRef(None, value)
    end = function in ("First", "Last") and draw(st.booleans())
    return Aggregate(function, found.event, of, found.scope, of=found.event.alias, even_undefined=end), name


@st.composite
def _valid_ranking(draw: DrawFn, scope: _Scope, reference: str) -> Selection:
    """Draw a choice of the greatest, of all or of groups, by what they have or what is counted for each."""
    window = Within(draw(_windows), reference)
    event = draw(_valid_event(scope, binding=True))
    by: Expression = AttributeRef(event.name, draw(st.sampled_from("xy")))
    if draw(st.booleans()):
        equal = Comparison((AttributeRef(None, "x"), AttributeRef(event.name, "x")), ("=",))
        counted = EventPattern(draw(st.sampled_from(TYPES)).name, (equal,))
        if counted.name not in scope.events and counted.name != event.name:
            by = Aggregate(
                "Count", counted, None, Within(draw(_windows), draw(st.sampled_from([reference, event.name])))
            )
    groups = draw(st.lists(st.sampled_from(sorted(ATTRIBUTES)), max_size=2, unique=True))
    per = tuple(AttributeRef(None, name) for name in groups)
    policy = Policy.LAST if per else Policy.EACH
    return Selection(policy, event, window, per=per, ranking=Ranking(draw(st.integers(1, 3)), by))


@st.composite
def valid_patterns(draw: DrawFn, max_items: int = 3) -> tuple[Pattern, _Scope]:
    """Draw a pattern over A to D in which every reference is to an event before, and what it introduces."""
    scope = _Scope()
    timer = draw(st.none() | st.none() | st.builds(After, _windows) | st.builds(Every, _windows))
    drawn: list[PatternItem] = []
    if isinstance(timer, Every):
        terminator = moments_of(timer)
        first = draw(_valid_event(scope, binding=True))
        drawn.append(Selection(Policy.LAST, first, Within(draw(_windows), NOW)))
        scope.events[first.name] = first.type
    else:
        terminator = draw(_valid_event(scope, binding=True))
        scope.events[terminator.name] = terminator.type
    scope.moment = terminator.name if timer is None else NOW
    for place in range(draw(st.integers(0, max_items))):
        kind = draw(
            st.sampled_from(["selection", "selection", "negation", "aggregation", "condition", "ranking", "collection"])
        )
        if kind == "selection":
            window = Within(draw(_windows), draw(st.sampled_from(sorted(scope.events))))
            event = draw(_valid_event(scope, binding=True))
            policy = draw(st.sampled_from(Policy))
            count = None if policy is Policy.EACH else draw(st.none() | st.integers(1, 3))
            groups = [] if policy is Policy.EACH else draw(st.lists(st.sampled_from(sorted(ATTRIBUTES)), max_size=2))
            per = tuple(AttributeRef(None, name) for name in dict.fromkeys(groups)) if draw(st.booleans()) else ()
            drawn.append(Selection(policy, event, window, count, per))
            scope.events[event.name] = event.type
        elif kind == "condition":
            drawn.append(draw(_valid_condition(scope)))
        elif kind == "ranking":
            reference = draw(st.sampled_from(sorted(scope.events)))
            ranked = draw(_valid_ranking(scope, reference))
            drawn.append(ranked)
            scope.events[ranked.event.name] = ranked.event.type
        elif kind == "collection":
            event = replace(draw(_valid_event(scope, binding=False)), alias=f"All{place}")
            most = draw(st.none() | st.just(4))
            scope.collections.append(Collection(event, draw(_valid_scope(scope)), draw(st.integers(0, 2)), most))
            drawn.append(scope.collections[-1])
        elif kind == "negation":
            drawn.append(Negation(draw(_valid_event(scope, binding=False)), draw(_valid_scope(scope))))
        else:
            drawn.append(draw(_valid_aggregation(scope, f"t{place}")))
    return Pattern(terminator, tuple(drawn), timer), scope


@st.composite
def valid_rules(draw: DrawFn, composite: str = "Out", max_items: int = 3) -> Rule:
    """Draw a rule over A to D that passes every check; it defines the event type ``composite``."""
    pattern, scope = draw(valid_patterns(max_items))
    sources: list[tuple[Expression, str]] = [
        *((AttributeRef(event, name), name) for event in sorted(scope.events) for name in ATTRIBUTES),
        *((Parameter(parameter), name) for parameter, name in sorted(scope.parameters.items())),
    ]
    if pattern.timer is not None:
        since = AttributeRef(draw(st.sampled_from(sorted(scope.events))), "time")
        sources.append((Arithmetic("-", AttributeRef(NOW, "time"), since), "x"))
    if scope.collections:
        sources.append(draw(_value_of_members(scope.collections)))
    values = draw(st.lists(st.sampled_from(sources), max_size=2))
    attributes = tuple(Attribute(f"a{place}", ATTRIBUTES[name]) for place, (_, name) in enumerate(values))
    assignments = tuple(Assignment(f"a{place}", value) for place, (value, _) in enumerate(values))
    whole = {
        node.event.type
        for node in walk(pattern)
        if isinstance(node, Aggregate) and isinstance(node.scope, Within) and node.scope.since_start
    }
    chosen = [item.event for item in pattern.items if isinstance(item, Selection | Collection)]
    chosen += [] if isinstance(pattern.timer, Every) else [pattern.terminator]
    selected = [event.name for event in chosen if event.type not in whole]
    consuming = draw(st.lists(st.sampled_from(selected), unique=True, max_size=2)) if selected else []
    return Rule(EventType(composite, attributes), pattern, assignments, tuple(consuming), name=f"Rule{composite}")


@st.composite
def valid_rule_sets(draw: DrawFn, max_rules: int = 2, max_items: int = 3) -> RuleSet:
    """Draw declarations of A to D and rules over them that pass every check; no rule feeds another."""
    count = draw(st.integers(1, max_rules))
    return RuleSet(TYPES, tuple(draw(valid_rules(f"Out{place}", max_items)) for place in range(count)))
