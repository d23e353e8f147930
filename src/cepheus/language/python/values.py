"""Values that stand for themselves in a rule: what is computed with them is written down, not computed.

To a type checker an attribute is what its class says, ``Temp.value`` a float and ``Temp.value > 45`` a bool. While a
rule is read they are objects of this module, which hold the expression that the rule's engines will evaluate.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NoReturn, TypeVar, cast

from cepheus.core.errors import RuleError, did_you_mean
from cepheus.core.source import Span
from cepheus.core.time import from_datetime, parse_duration, parse_time
from cepheus.core.values import INT_MAX, INT_MIN, ValueType
from cepheus.language.python.parts import PartOfRule, WithoutWindow
from cepheus.language.python.places import Site, here, site
from cepheus.rules.expressions import (
    Arithmetic,
    AttributeRef,
    Call,
    Comparison,
    Constant,
    Expression,
    Negative,
    Parameter,
    joined_by,
)
from cepheus.rules.functions import AND, FUNCTIONS, IN, IS_NULL, NOT, OR

T = TypeVar("T")

MIXED_TRUTH = (
    "write & for and, | for or, not_(..) for not, one_of(x, ..) for in, chain(1, '<', x, '<', 9) for 1 < x < 9"
)


class Symbol(PartOfRule):
    """A value of a rule: its expression, and the classes of events whose own attributes it reads (``Temp.value``)."""

    __slots__ = ("__weakref__", "node", "owners")
    __hash__ = None  # type: ignore[assignment]  # == writes a comparison down, so no dict can hold these

    def __init__(self, node: Expression, owners: frozenset[type] = frozenset()) -> None:
        self.node = node
        self.owners = owners

    def __repr__(self) -> str:
        return f"<part of a rule: {_shown(self.node)}>"

    def __bool__(self) -> NoReturn:
        raise RuleError.of(
            "python-truth",
            "Python asks here whether a condition of a rule is true, which only events can tell",
            span=here(),
            hint=MIXED_TRUTH,
        )

    def __iter__(self) -> NoReturn:
        raise RuleError.of("python-value", "a value of a rule cannot be iterated over", span=here())

    def __len__(self) -> NoReturn:
        raise _no_number("write fn.length(..) for the length of a text")

    def __int__(self) -> NoReturn:
        raise _no_number("write fn.floor(..), fn.ceil(..) or fn.round(..)")

    def __float__(self) -> NoReturn:
        raise _no_number("leave float(..) out: rules compute with ints and floats alike")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _no_part(name)

    # ---- Comparisons ---------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> Any:
        return _compared(self, "=", other)

    def __ne__(self, other: object) -> Any:
        return _compared(self, "!=", other)

    def __lt__(self, other: object) -> Symbol:
        return _compared(self, "<", other)

    def __le__(self, other: object) -> Symbol:
        return _compared(self, "<=", other)

    def __gt__(self, other: object) -> Symbol:
        return _compared(self, ">", other)

    def __ge__(self, other: object) -> Symbol:
        return _compared(self, ">=", other)

    # ---- Conditions ----------------------------------------------------------------------------------------------

    def __and__(self, other: object) -> Symbol:
        return joined(AND, [self, other])

    def __rand__(self, other: object) -> Symbol:
        return joined(AND, [other, self])

    def __or__(self, other: object) -> Symbol:
        return joined(OR, [self, other])

    def __ror__(self, other: object) -> Symbol:
        return joined(OR, [other, self])

    def __invert__(self) -> Symbol:
        return called(NOT, [self])

    # ---- Arithmetic ----------------------------------------------------------------------------------------------

    def __add__(self, other: object) -> Symbol:
        return _computed("+", self, other)

    def __radd__(self, other: object) -> Symbol:
        return _computed("+", other, self)

    def __sub__(self, other: object) -> Symbol:
        return _computed("-", self, other)

    def __rsub__(self, other: object) -> Symbol:
        return _computed("-", other, self)

    def __mul__(self, other: object) -> Symbol:
        return _computed("*", self, other)

    def __rmul__(self, other: object) -> Symbol:
        return _computed("*", other, self)

    def __truediv__(self, other: object) -> Symbol:
        return _computed("/", self, other)

    def __rtruediv__(self, other: object) -> Symbol:
        return _computed("/", other, self)

    def __neg__(self) -> Symbol:
        return Symbol(Negative(self.node, here()), self.owners)

    def __pos__(self) -> Symbol:
        return self

    def __mod__(self, other: object) -> Symbol:
        return called("mod", [self, other])

    def __rmod__(self, other: object) -> Symbol:
        return called("mod", [other, self])

    def __pow__(self, other: object) -> Symbol:
        return called("pow", [self, other])

    def __rpow__(self, other: object) -> Symbol:
        return called("pow", [other, self])

    def __abs__(self) -> Symbol:
        return called("abs", [self])

    def __round__(self) -> Symbol:
        return called("round", [self])

    def __floor__(self) -> Symbol:
        return called("floor", [self])

    def __ceil__(self) -> Symbol:
        return called("ceil", [self])


def _no_number(hint: str) -> RuleError:
    message = "Python makes a number of a value of a rule here, which only events can tell"
    return RuleError.of("python-value", message, span=here(), hint=hint)


def _no_part(name: str) -> RuleError:
    function = {"startswith": "starts_with", "endswith": "ends_with", "strip": "trim"}.get(name, name)
    hint = f"write fn.{function}(..)" if function in FUNCTIONS else did_you_mean(name, FUNCTIONS)
    return RuleError.of(
        "python-value", f"a value of a rule has no '{name}': its functions are in fn", span=here(), hint=hint
    )


def _shown(node: Expression) -> str:
    from cepheus.language.tesla.print import format_condition

    return format_condition(node)


# ---- Python values as constants ----------------------------------------------------------------------------------


def expression_of(value: object, place: Site | None = None) -> Expression:
    """The expression of a value of a rule, or of a Python value as a constant."""
    if isinstance(value, Symbol):
        return value.node
    if isinstance(value, WithoutWindow):
        raise RuleError([value.lacking()])
    place = place or site()
    found = constant_of(value, place.literal(value))
    if found is None:
        hint = "a rule knows bools, ints, floats, strings, datetimes and timedeltas, and attributes of events"
        raise RuleError.of("python-value", f"{_named(value)} is no value of a rule", span=place.span, hint=hint)
    return found


def constant_of(value: object, span: Span | None = None) -> Constant | None:
    """A Python value as a constant of a rule, None if rules have none like it."""
    match value:
        case bool():
            return Constant(value, ValueType.BOOL, span)
        case int() if INT_MIN <= value <= INT_MAX:
            return Constant(value, ValueType.INT, span)
        case float() if value - value == 0:
            return Constant(value, ValueType.FLOAT, span)
        case str():
            return Constant(value, ValueType.STRING, span)
        case datetime():
            return Constant(from_datetime(value), ValueType.TIMESTAMP, span)
        case timedelta():
            return Constant(value // timedelta(microseconds=1), ValueType.INT, span, duration=True)
        case _:
            return None


def _named(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) < 60 else f"{shown[:57]}.."


def owners_of(*values: object) -> frozenset[type]:
    """The classes of events whose own attributes values read."""
    return frozenset().union(*(value.owners for value in values if isinstance(value, Symbol)))


# ---- What operators write down -----------------------------------------------------------------------------------


def _compared(left: object, operator: str, right: object) -> Symbol:
    place = site()
    operands = (expression_of(left, place), expression_of(right, place))
    return Symbol(Comparison(operands, (operator,), place.span), owners_of(left, right))


def _computed(operator: str, left: object, right: object) -> Symbol:
    place = site()
    node = Arithmetic(operator, expression_of(left, place), expression_of(right, place), place.span)
    return Symbol(node, owners_of(left, right))


def called(function: str, arguments: list[object]) -> Symbol:
    """A function of values."""
    place = site()
    node = Call(function, tuple(expression_of(argument, place) for argument in arguments), place.span)
    return Symbol(node, owners_of(*arguments))


def joined(word: str, parts: list[object]) -> Symbol:
    """Conditions joined by a word, those that are joined by it already taken apart."""
    place = site()
    nodes = tuple(inner for part in parts for inner in joined_by(word, expression_of(part, place)))
    return Symbol(Call(word, nodes, place.span), owners_of(*parts))


# ---- What Python has no operator for -----------------------------------------------------------------------------


def not_(condition: bool) -> bool:
    """That a condition is false; where it is unknown, so is this.

    >>> not_(const(3) > 5)
    <part of a rule: not 3>5>
    """
    return cast("bool", called(NOT, [condition]))


def all_of(*conditions: bool) -> bool:
    """That all conditions hold, as ``a & b & c``."""
    return cast("bool", joined(AND, list(conditions)))


def any_of(*conditions: bool) -> bool:
    """That one of several conditions holds, as ``a | b | c``."""
    return cast("bool", joined(OR, list(conditions)))


def one_of(value: T, *choices: T) -> bool:
    """That a value is equal to one of several.

    >>> one_of(parameter("x", int), 1, 2)
    <part of a rule: $x in (1, 2)>
    """
    return cast("bool", called(IN, [value, *choices]))


def is_null(value: object) -> bool:
    """That a value is undefined: an attribute that the event lacks, an aggregate of nothing."""
    return cast("bool", called(IS_NULL, [value]))


def chain(first: object, *rest: object) -> bool:
    """A chain of comparisons, values and operators in turn.

    >>> chain(10, "<", parameter("km", float), "<=", 20)
    <part of a rule: 10 < $km <= 20>
    """
    place = site()
    operators, values = rest[::2], (first, *rest[1::2])
    known = ("=", "!=", "<", "<=", ">", ">=")
    written = tuple("=" if each == "==" else each for each in operators)
    wrong = next((each for each in written if each not in known), None)
    if wrong is not None or not written or len(values) != len(written) + 1:
        hint = "write values and operators in turn: chain(10, '<', Temp.km, '<=', 20)"
        raise RuleError.of("python-value", "this is no chain of comparisons", span=place.span, hint=hint)
    node = Comparison(
        tuple(expression_of(each, place) for each in values), cast("tuple[str, ...]", written), place.span
    )
    return cast("bool", Symbol(node, owners_of(*values)))


def const(value: T) -> T:
    """A Python value as a constant of a rule, for places where Python would compute with it first: ``1 < 2``."""
    return cast("T", Symbol(expression_of(value)))


def parameter(name: str, kind: type[T] | None = None) -> T:
    """``$name`` of TESLA: bound where an attribute is compared with it first, compared with that value elsewhere."""
    del kind
    return cast("T", Symbol(Parameter(name, here())))


def duration(text: str) -> timedelta:
    """A length of time as it is written in rules.

    >>> duration("5 min")
    datetime.timedelta(seconds=300)
    """
    return timedelta(microseconds=parse_duration(text))


def timestamp(text: str) -> datetime:
    """A moment as it is written in rules: ISO 8601, in UTC unless it says otherwise.

    >>> timestamp("2026-01-31T10:00:00Z")
    datetime.datetime(2026, 1, 31, 10, 0, tzinfo=datetime.timezone.utc)
    """
    return moment_of(parse_time(text))


_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def moment_of(microseconds: int) -> datetime:
    """A time as a datetime in UTC."""
    return _EPOCH + timedelta(microseconds=microseconds)


def own_attribute(kind: type, name: str) -> Symbol:
    """An attribute of any event of a class, as conditions on events of that type read it."""
    return Symbol(AttributeRef(None, name, here()), frozenset({kind}))
