"""Rules of TESLA as Python: objects (``from_tesla``), and text (``to_python``) that gives the same rules when run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from cepheus.core.errors import UnsupportedError
from cepheus.core.schema import TIME_ATTRIBUTE, Attribute, EventType
from cepheus.core.time import format_duration, format_time
from cepheus.core.values import ValueType, as_int
from cepheus.language.python.aggregates import python_aggregate
from cepheus.language.python.events import PYTHON_TYPES, Composite, Event, class_of, python_name
from cepheus.language.python.functions import python_function
from cepheus.language.python.rules import PythonRule, TypedRules, as_typed
from cepheus.language.tesla.parse import parse
from cepheus.language.tesla.print import format_belief, format_rules
from cepheus.rules.aggregates import exact_form
from cepheus.rules.expressions import (
    Aggregate,
    Arithmetic,
    AttributeRef,
    Between,
    Call,
    Comparison,
    Constant,
    EventPattern,
    Expression,
    Negative,
    Parameter,
    Scope,
    Within,
)
from cepheus.rules.functions import CONNECTIVES
from cepheus.rules.interval.model import Knowledge
from cepheus.rules.model import (
    Aggregation,
    Collection,
    FreeCondition,
    Negation,
    PatternItem,
    Rule,
    RuleSet,
    Selection,
)
from cepheus.rules.policies import Policy
from cepheus.rules.timers import NOW, After, Every, format_clock
from cepheus.rules.walk import walk

PythonRules = PythonRule[Any] | TypedRules | Sequence[PythonRule[Any]]
"""Rules in Python: one, several, or a set of them."""


def to_tesla(rules: PythonRules) -> str:
    """Rules in Python as TESLA text, with the declarations of their types."""
    return format_rules(as_typed(rules).model)


def from_tesla(source: str | RuleSet) -> TypedRules:
    """Rules of TESLA as Python objects: a class for each event type, and rules over them.

    >>> rules = from_tesla("event Temp(value: double) define Hot() from Temp(value > 45)")
    >>> rules.types["Temp"].value > 50
    <part of a rule: value>50>
    """
    model = _only_tesla(parse(source) if isinstance(source, str) else source)
    kinds = {
        described.name: class_of(described, base=Composite if made else Event, declared=declared)
        for described, made, declared in _types(model)
    }
    rules = tuple(_as_python(rule, kinds) for rule in model.rules)
    return TypedRules(model, kinds, rules)


def _as_python(rule: Rule, kinds: dict[str, type[Event]]) -> PythonRule[Any]:
    own = {node.type: kinds[node.type] for node in walk(rule) if isinstance(node, EventPattern) and node.type in kinds}
    composite = kinds[rule.composite.name]
    assert issubclass(composite, Composite)
    return PythonRule(rule, {**own, rule.composite.name: composite}, composite)


def to_python(source: str | RuleSet | PythonRules) -> str:
    """Rules as the text of a Python module, which has them in ``RULES`` when it is run.

    >>> print(to_python("define Hot(v: double) from Temp(value > 45) where v = Temp.value"))
    from datetime import datetime
    ...
    """
    if isinstance(source, str | RuleSet):
        model = parse(source) if isinstance(source, str) else source
    else:
        model = as_typed(source).model
    return _Module(_only_tesla(model)).text()


def _only_tesla(model: RuleSet) -> RuleSet:
    others = [rule.span for rule in model.interval_rules] + [rule.span for rule in model.row_rules]
    if others or model.knowledge != Knowledge():
        hint = "leave such rules in their own language, and compile both together"
        message = "Python has no form for rules over intervals and row patterns"
        raise UnsupportedError.of("unsupported", message, span=others[0] if others else None, hint=hint)
    return model


def _types(model: RuleSet) -> Iterator[tuple[EventType, bool, bool]]:
    """Every type that rules name: what is known of it, whether rules make it, whether it is declared."""
    made = {rule.composite.name: rule.composite for rule in model.rules}
    declared = {each.name: each for each in model.declarations}
    read = _attributes_read(model)
    for name in dict.fromkeys((*declared, *made, *read)):
        if name in made:
            yield made[name], True, name in declared
        elif name in declared:
            yield declared[name], False, True
        else:
            yield EventType(name, tuple(Attribute(each, None) for each in read[name])), False, False


def _attributes_read(model: RuleSet) -> dict[str, dict[str, None]]:
    """The attributes that rules read of each type, as far as they say whose they are."""
    found: dict[str, dict[str, None]] = {}
    for rule in model.rules:
        types = {node.name: node.type for node in walk(rule) if isinstance(node, EventPattern)}
        timer = rule.pattern.timer
        for node in walk(rule):
            if isinstance(node, EventPattern) and not (isinstance(timer, Every) and node is rule.pattern.terminator):
                found.setdefault(node.type, {}).update(_own_names(node.constraints))
            match node:
                case AttributeRef(event=str(event), name=name) if event in types:
                    found.setdefault(types[event], {})[name] = None
                case Aggregate(event=event, value=value) if value is not None:
                    found.setdefault(event.type, {}).update(_own_names((value,)))
                case Selection(event=event, per=per, ranking=ranking):
                    by = () if ranking is None else (ranking.by,)
                    found.setdefault(event.type, {}).update(_own_names((*per, *by)))
    for each in model.errors:
        found.setdefault(each.event, {})[each.attribute] = None
    return {name: {key: None for key in own if key != TIME_ATTRIBUTE} for name, own in found.items()}


def _own_names(nodes: Iterable[Expression]) -> dict[str, None]:
    """The attributes of the event itself in expressions about it; aggregates inside are about other events."""
    found: dict[str, None] = {}
    for node in nodes:
        for inner in _outside_aggregates(node):
            if isinstance(inner, AttributeRef) and inner.event is None:
                found[inner.name] = None
    return found


def _outside_aggregates(node: Any) -> Iterator[Any]:
    if isinstance(node, Aggregate):
        return
    yield node
    from cepheus.rules.walk import children

    for child in children(node):
        yield from _outside_aggregates(child)


@dataclass(slots=True)
class _Class:
    """A class of the module: its name, and what it calls the attributes."""

    name: str
    described: EventType
    keys: dict[str, str]


_IMPORTED: tuple[str, ...] = (
    "Any", "Composite", "Event", "agg", "all_of", "any_of", "attribute", "chain", "collect", "const", "consume",
    "datetime", "duration", "each", "error", "first", "fn", "is_null", "last", "let", "named", "no", "not_", "now",
    "one_of", "parameter", "require", "rule", "rule_set", "timestamp", "top", "when", "RULES",
)  # fmt: skip
_IMPORTED += tuple(policy.value for policy in Policy if policy.value not in _IMPORTED)
_HEADER = f"""from datetime import datetime
from typing import Any

from cepheus.typed import {", ".join(name for name in _IMPORTED if name not in ("Any", "datetime", "RULES"))}
"""


class _Module:
    """The text of a module."""

    def __init__(self, model: RuleSet) -> None:
        self._model = model
        self._taken: dict[str, object] = dict.fromkeys(_IMPORTED)
        self.classes: dict[str, _Class] = {}

    def text(self) -> str:
        parts = [_HEADER]
        parts += [self._class(*each) for each in _types(self._model)]
        names: list[str] = []
        for rule in self._model.rules:
            names.append(self._name(rule.name or f"rule_{len(names) + 1}"))
            parts.append(_Function(rule, names[-1], self.classes, self._taken).text())
        types = ", ".join(self.classes[each.name].name for each in self._model.declarations)
        said = [*names, f"types=[{types}]"]
        if self._model.errors:
            errors = (
                f'error({self._attribute(each.event, each.attribute)}, "{each.error}")' for each in self._model.errors
            )
            said.append(f"errors=[{', '.join(errors)}]")
        if self._model.beliefs:
            said.append(f"networks=[{', '.join(repr(format_belief(each)) for each in self._model.beliefs)}]")
        parts.append(f"RULES = rule_set({', '.join(said)})\n")
        return "\n\n".join(parts)

    def _name(self, wanted: str) -> str:
        name = python_name(wanted, self._taken)
        self._taken[name] = None
        return name

    def _attribute(self, event: str, name: str) -> str:
        known = self.classes[event]
        return f"{known.name}.{known.keys[name]}"

    def _class(self, described: EventType, made: bool, declared: bool) -> str:
        known = _Class(self._name(described.name), described, {TIME_ATTRIBUTE: TIME_ATTRIBUTE})
        self.classes[described.name] = known
        said = ["Composite" if made else "Event"]
        if known.name != described.name:
            said.append(f"name={described.name!r}")
        if declared is made:
            said.append(f"declared={declared}")
        lines = [f"class {known.name}({', '.join(said)}):"]
        for each in described.attributes:
            taken = {**dict.fromkeys(known.keys.values()), **dict.fromkeys(dir(Event))}
            key = known.keys[each.name] = python_name(each.name, taken)
            hint = "Any" if each.type is None else PYTHON_TYPES[each.type].__name__
            hint += " | None" if each.optional and each.type is not None else ""
            more = [f"name={each.name!r}"] * (key != each.name) + [f"column={each.column!r}"] * (
                each.column is not None
            )
            lines.append(f"    {key}: {hint}" + (f" = attribute({', '.join(more)})" if more else ""))
        return "\n".join(lines if len(lines) > 1 else [*lines, "    pass"]) + "\n"


@dataclass(slots=True)
class _Function:
    """The text of the function of one rule."""

    rule: Rule
    name: str
    classes: dict[str, _Class]
    taken: dict[str, object]
    lines: list[str] = field(default_factory=list)
    events: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)
    members: dict[str, str] = field(default_factory=dict)

    def text(self) -> str:
        rule = self.rule
        terminator = rule.pattern.terminator
        nodes = list(walk(rule))
        self.types = {node.name: node.type for node in nodes if isinstance(node, EventPattern)}
        if isinstance(rule.pattern.timer, Every):
            argument = ""
        else:
            argument = f"{self._variable(terminator.name)}: {self.classes[terminator.type].name}"
        bound = (item.parameter for item in rule.pattern.items if isinstance(item, Aggregation) and item.parameter)
        for name in dict.fromkeys((*(node.name for node in nodes if isinstance(node, Parameter)), *bound)):
            self.parameters[name] = self._free(name)
            self.lines.append(f"{self.parameters[name]} = parameter({name!r})")
        if terminator.constraints:
            self.lines.append(f"when({', '.join(self._conditions(terminator))})")
        for item in rule.pattern.items:
            self._item(item)
        if rule.consuming:
            self.lines.append(f"consume({', '.join(map(self._event, rule.consuming))})")
        composite = self.classes[rule.composite.name]
        given = (f"{composite.keys[a.attribute]}={self._value(a.value, None)}" for a in rule.assignments)
        self.lines.append(f"return {composite.name}({', '.join(given)})")
        body = "\n".join(f"    {line}" for line in self.lines)
        return f"{self._decorator()}\ndef {self.name}({argument}) -> {composite.name}:\n{body}\n"

    def _decorator(self) -> str:
        rule, said = self.rule, []
        if rule.name != self.name:
            said.append(f"name={rule.name!r}")
        if rule.pattern.terminator.alias is not None and not isinstance(rule.pattern.timer, Every):
            said.append(f"alias={rule.pattern.terminator.alias!r}")
        match rule.pattern.timer:
            case After(duration=length):
                said.append(f"after={format_duration(length)!r}")
            case Every(period=period, start=start):
                said.append(f"every={format_duration(period)!r}")
                said += [f"start={format_clock(start)!r}"] if start else []
            case None:
                pass
        said += [] if rule.min_probability is None else [f"min_probability={rule.min_probability!r}"]
        said += ["ties='ordered'"] if rule.ordered else []
        return f"@rule({', '.join(said)})" if said else "@rule"

    # ---- Names ---------------------------------------------------------------------------------------------------

    def _free(self, wanted: str) -> str:
        used = (*self.taken, *self.events.values(), *self.parameters.values(), *self.members.values(), self.name)
        return python_name(wanted.lower(), dict.fromkeys(used))

    def _variable(self, event: str) -> str:
        self.events[event] = self._free(event)
        return self.events[event]

    def _event(self, name: str) -> str:
        """An event of the rule: a variable, or its name where Python has none yet."""
        if name == NOW and self.rule.pattern.timer is not None:
            return "now"
        if name in self.events:
            return self.events[name]
        return f"named({self.classes[self.types[name]].name}, {name!r})"

    # ---- Parts of the pattern --------------------------------------------------------------------------------------

    def _item(self, item: PatternItem) -> None:
        match item:
            case Selection():
                self._selection(item)
            case Negation(event=event, scope=scope):
                said = [self.classes[event.type].name, *self._conditions(event)]
                said += [] if event.alias is None else [f"name={event.alias!r}"]
                self.lines.append(f"no({', '.join(said)}){self._scope(scope)}")
            case Aggregation():
                self._aggregation(item)
            case Collection(event=event, scope=scope, least=least, most=most):
                said = [self.classes[event.type].name, *self._conditions(event)]
                said += [f"least={least}"] * (least != 1) + ([] if most is None else [f"most={most}"])
                said += [] if event.alias is None else [f"name={event.alias!r}"]
                text = f"collect({', '.join(said)}){self._scope(scope)}"
                self.members[event.name] = self._free(event.name)
                self.lines.append(f"{self.members[event.name]} = {text}")
            case FreeCondition(constraint=constraint):
                self.lines.append(f"require({self._condition(constraint, None)})")
            case _:
                assert_never(item)

    def _selection(self, item: Selection) -> None:
        event = item.event
        own = self.classes[event.type]
        said = [own.name, *self._conditions(event)]
        said += [] if item.count is None else [f"n={item.count}"]
        word = item.policy.value
        if item.ranking is not None:
            word, said = "top", [str(item.ranking.count), *said, f"by={self._value(item.ranking.by, own)}"]
        if item.per:
            said.append(f"per=({', '.join(self._value(each, own) for each in item.per)},)")
        alias = event.alias
        free = event.type if event.type not in self._introduced() else None
        if alias is not None or free is None:
            said.append(f"name={event.name!r}")
        text = f"{word}({', '.join(said)}){self._scope(item.window)}"
        self.lines.append(f"{self._variable(event.name)} = {text}")
        assert item.policy in Policy

    def _introduced(self) -> set[str]:
        return {*self.events, *self.members}

    def _aggregation(self, item: Aggregation) -> None:
        if item.parameter is None and item.comparison is not None:
            self.lines.append(f"require({self._condition(item.comparison, None)})")
            return
        whole = self._free("total")
        self.lines.append(f"{whole} = {self._value(item.aggregate, None)}")
        said = [whole, repr(item.parameter)]
        if item.comparison is not None:
            said.append(self._comparison(item.comparison, None, {item.aggregate: whole}))
        self.lines.append(f"let({', '.join(said)})")

    def _scope(self, scope: Scope) -> str:
        match scope:
            case Within(since_start=True):
                return ".since_start()"
            case Within(duration=length, reference=reference):
                return f".within({format_duration(length)!r}, of={self._event(reference)})"
            case Between(first=first, second=second):
                return f".between({self._event(first)}, {self._event(second)})"
            case _:
                assert_never(scope)

    def _conditions(self, event: EventPattern) -> list[str]:
        own = self.classes.get(event.type)
        return [self._condition(constraint, own) for constraint in event.constraints]

    # ---- Expressions -----------------------------------------------------------------------------------------------

    def _condition(self, node: Expression, own: _Class | None) -> str:
        return self._value(node, own)

    def _value(self, node: Expression, own: _Class | None) -> str:
        match node:
            case Constant():
                return _literal(node)
            case AttributeRef(event=None, name=name):
                assert own is not None
                return f"{own.name}.{own.keys[name]}"
            case AttributeRef(event=str(event), name=name):
                if event == NOW and self.rule.pattern.timer is not None:
                    return f"now.{name}"
                return f"{self._event(event)}.{self.classes[self.types[event]].keys[name]}"
            case AttributeRef():
                raise AssertionError("an attribute has an event or none")
            case Parameter(name=name):
                return self.parameters[name]
            case Arithmetic(operator=operator, left=left, right=right):
                both = isinstance(left, Constant) and isinstance(right, Constant)
                return f"({self._operand(left, own, wrap=both)} {operator} {self._operand(right, own)})"
            case Negative(operand=operand):
                return f"(-{self._operand(operand, own, wrap=isinstance(operand, Constant))})"
            case Comparison():
                return self._comparison(node, own, {})
            case Call():
                return self._call(node, own)
            case Aggregate():
                return self._aggregate(node)
            case _:
                assert_never(node)

    def _operand(self, node: Expression, own: _Class | None, *, wrap: bool = False) -> str:
        text = self._value(node, own)
        return f"const({text})" if wrap else text

    def _comparison(self, node: Comparison, own: _Class | None, known: dict[Aggregate, str]) -> str:
        texts = [
            known[each] if isinstance(each, Aggregate) and each in known else self._value(each, own)
            for each in node.operands
        ]
        if len(texts) > 2:
            said = [texts[0]]
            for operator, text in zip(node.operators, texts[1:], strict=True):
                said += [repr(operator), text]
            return f"chain({', '.join(said)})"
        left = f"const({texts[0]})" if isinstance(node.operands[0], Constant) else texts[0]
        operator = "==" if node.operators[0] == "=" else node.operators[0]
        return f"({left} {operator} {texts[1]})"

    def _call(self, node: Call, own: _Class | None) -> str:
        said = [self._value(argument, own) for argument in node.arguments]
        names = {"and": "all_of", "or": "any_of", "not": "not_", "in": "one_of", "is null": "is_null"}
        name = names[node.function] if node.function in CONNECTIVES else f"fn.{python_function(node.function)}"
        return f"{name}({', '.join(said)})"

    def _aggregate(self, node: Aggregate) -> str:
        event = node.event
        own = self.classes[event.type]
        value = own.name if node.value is None else self._value(node.value, own)
        if node.even_undefined and node.of is not None and isinstance(node.value, AttributeRef):
            return f"{self.members[node.of]}.{node.function.lower()}.{own.keys[node.value.name]}"
        said = [value]
        if node.of is None:
            said += self._conditions(event)
            owned = node.value is not None and not _own_names((node.value,))
            said += [f"events={own.name}"] if owned else []
        else:
            said.append(f"over={self.members[node.of]}")
        said += [] if node.argument is None else [f"argument={node.argument!r}"]
        scope = self._scope(node.scope) if node.of is None else ""
        alias = "" if event.alias is None or node.of is not None else f", name={event.alias!r}"
        exact = exact_form(node.function)
        said += ["approximate=True"] * (exact != node.function)
        return f"agg.{python_aggregate(exact)}({', '.join(said)}{alias}){scope}"


def _literal(constant: Constant) -> str:
    match constant.type:
        case ValueType.TIMESTAMP:
            return f"timestamp({format_time(as_int(constant.value))!r})"
        case ValueType.INT if constant.duration:
            return f"duration({format_duration(as_int(constant.value))!r})"
        case _:
            return repr(constant.value)
