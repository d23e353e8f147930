"""Random rules, written as text: every policy, scope, aggregate and condition, with timers and corners mixed in."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).parents[1]))

from cepheus.core.values import ValueType
from strategies.corners import CORNERS, Corners, literal

_COMPOSITE = "(x: int, y: double, s: string, b: bool, at: timestamp, o: int?)"
_DELAYS = ("1 us", "2 us", "3 us", "4 us", "7 us", "5 days")
_WINDOWS = ("0 us", "1 us", "2 us", "3 us", "5 us", "5 us", "8 us", "8 us", "20 us", "1 ms", "5 days")
_OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
_AGGREGATES = (
    *("Avg", "Sum", "Count", "Min", "Max", "Stddev", "First", "Last"),
    *("Median", "CountDistinct", "Percentile", "Slope", "Mode"),
)
_PERCENTS = (0, 12.5, 50, 95, 99.9, 100)
_OF_COLLECTIONS = (
    *(
        "Sum({}.y)",
        "first({}).x",
        "last({}).o",
        "Max({}.x)",
        "count({})",
        "Avg({}.(x + y))",
        "Last({}.o)",
        "First({}.y)",
    ),
    *("Min({}.y)", "Stddev({}.y)", "Median({}.x)", "Percentile({}.y, 95)", "Slope({}.y)", "Mode({}.x)"),
    *("CountDistinct({}.s)", "CountDistinct({}.y, approximate)", "last({0}).y - first({0}).y", "2 * count({})"),
)
_COPYING = ("First", "Last", "Min", "Max", "Mode")
_CALLED = (
    "exp(y) > 1",
    "exp(x) < 1000",
    "ln(x) < 1",
    "log10(y) >= 0",
    "pow(y, 2) != 1",
    "pow(x, -1) < 1",
    "pow(o, y) >= 0",
    "sign(y) != -1",
    "sign(o) = 1",
    "coalesce(sign(o), x) > 0",
)
TEXTS = ("a", "b", "ab", "B", "")


@dataclass(frozen=True)
class Habits:
    """How random rules are written: how many parts they have, how often the parts are of a kind.

    ``plain`` is how many events have no constraints by choice; ``timed`` are the rules with timers.
    """

    parts: tuple[int, ...]
    windows: tuple[str, ...]
    plain: float
    timed: float
    ranked: float
    grouped: float
    collected: float
    since_start: float


USUAL = Habits((1, 2, 2, 3, 3, 4, 5), _WINDOWS, 0.0, 0.2, 0.1, 0.3, 0.25, 0.1)
"""Long rules with many conditions: whatever can be said is said together, and few of them find anything."""

LIVELY = Habits((1, 2, 2, 2, 3, 3), ("3 us", "5 us", "8 us", "20 us", "50 us", "1 ms"), 0.75, 0.45, 0.3, 0.5, 0.6, 0.3)
"""Short rules with few conditions, which find something, and many of the constructs that look at many events."""


class RandomRule:
    """Writes one random rule; only those that may be ``timed`` have timers."""

    def __init__(
        self,
        random: Random,
        corners: Corners,
        number: int,
        count: int,
        *,
        timed: bool = False,
        habits: Habits = USUAL,
    ) -> None:
        self.timed = timed
        self.habits = habits
        self.random = random
        self.corners = corners
        self.number = number
        self.composites = [f"P{k}" for k in range(count)]
        self.names: list[str] = []
        self.parameters: list[str] = []
        self.results: list[str] = []
        self.copies: dict[str, list[str]] = {}
        self.future: list[str] = []
        self.aside = Random(str(random.getstate()[1][:4]))  # takes nothing from what others draw

    def text(self) -> str:
        """The rule, made of what its random numbers say."""
        return self._about_aggregates() if self.corners.comes(0.5) else self._usual_text()

    def _about_aggregates(self) -> str:
        """Write a rule that gives aggregates of values at corners, with little that keeps it from firing."""
        choice = self.corners.random.choice
        terminator = choice([*"ABC", *self.composites[: self.number]])
        members = choice(("", "", "", "s = e0.s", "b = e0.b", "x = e0.x", "y = e0.y", "y != e0.y", "x <= 0", "o >= 0"))
        scope = choice(("within 5 days from e0", "within 8 us from e0", "within 3 us from e1", "between e0 and e1"))
        pieces = [f"{terminator}() as e0", f"{choice(('each', 'first'))} {choice('ABC')}() as e1 within 8 us from e0"]
        pieces = pieces if "e1" in scope else pieces[:1]
        values = {"x": "e0.x", "y": "e0.y", "s": "e0.s", "b": "e0.b", "at": "e0.at", "o": "e0.o"}
        for number in range(choice((1, 2))):
            function = choice(_AGGREGATES)
            value = self._corner_of_aggregates(function, ".y")
            event_type = choice([*"ABCD", *self.composites])
            argument = f", {choice(_PERCENTS)}" if function == "Percentile" else ""
            pieces.append(f"$t{number} = {function}({event_type}({members}){value} {scope}{argument})")
            copied = function in _COPYING and value in (".s", ".b", ".at")
            values[value[1:] if copied else choice("yo") if function.startswith("Count") else "y"] = f"$t{number}"
        consuming = choice(("", "", "", "\nconsuming e1")) if "e1" in scope else ""
        where = ", ".join(f"{name}={value}" for name, value in values.items())
        body = " and\n  ".join(pieces)
        return f"define P{self.number}{_COMPOSITE}\nfrom {body}\nwhere {where}{consuming};\n"

    def _usual_text(self) -> str:
        random = self.random
        terminator = random.choice([*"AABC", *self.composites[: self.number]])
        pieces = [self._event(terminator, "e0", binds=True)]
        selected = []
        collections: list[str] = []
        for index in range(1, random.choice(self.habits.parts)):
            kind = random.random()
            if kind < 0.6:
                name = f"e{index}"
                pieces.append(self._selection(name))
                selected.append(name)
            elif kind < 0.8 and self.aside.random() < self.habits.collected:
                pieces.append(self._collection(index))
                collections.append(f"m{index}")
            elif kind < 0.8:
                pieces.append(f"not {self._event(self._type(), None)} {self._scope()}")
            else:
                pieces.append(self._aggregation(index))
        if self.future:  # a parameter that was used ahead of its binding
            bindings = " and ".join(f"x=${name}" for name in self.future)
            name = f"e{len(pieces) + 9}"
            policy = random.choice(("each", "last"))
            window = f"within {random.choice(self.habits.windows[:5])} from {random.choice(self.names)}"
            pieces.append(f"{policy} {self._type()}({bindings}) as {name} {window}")
            self.names.append(name)
            selected.append(name)
        while self.aside.random() < 0.25 - 0.1 * self.habits.plain:
            pieces.insert(self.aside.randint(1, len(pieces)), "")
        self._conditions(pieces)
        body = " and\n  ".join(self._timed(pieces))
        consuming = [name for name in selected if random.random() < 0.25]
        consuming += [name for name in collections if self.aside.random() < 0.25]
        consuming += ["e0"] if self.aside.random() < 0.1 else []
        clause = f"\nconsuming {', '.join(consuming)}" if consuming else ""
        values = self._values()
        if (" after " in body or body.startswith("every ")) and self.aside.random() < 0.4:
            values["at"] = "now.time"
        where = ", ".join(f"{name}={value}" for name, value in values.items())
        return f"define P{self.number}{_COMPOSITE}\nfrom {body}\nwhere {where}{clause};\n"

    def _conditions(self, pieces: list[str]) -> None:
        """Write free conditions into the empty places among the parts, over events that stand before them."""
        for place, piece in enumerate(pieces):
            if not piece:
                before = " ".join(pieces[:place])
                pieces[place] = self._free_condition([name for name in self.names if f" as {name}" in before])

    def _free_condition(self, names: list[str]) -> str:
        choice = self.aside.choice
        one, other = choice(names), choice(names)
        operator = choice(_OPERATORS)
        member = choice(("", "x > 0", f"s = {one}.s", f"x = {one}.x or o is null"))
        window = choice(("2 us", "5 us", "1 ms"))
        computed = [f"{choice(('Avg', 'Max', 'Count'))}({choice('ABC')}({member}).y within {window} from {one})"]
        computed.append(f"Sum({choice('AB')}().x between {one} and {other})" if one != other else f"{one}.y")
        if self.aside.random() < 0.2:
            return self._computed(one, other, operator, computed)
        return str(
            choice(
                (
                    f"{one}.x {operator} {other}.x + {choice((0, 1))}",
                    f"({one}.y > {other}.y or {one}.o is null)",
                    f"not ({one}.s = {other}.s and {one}.b)",
                    f"{one}.o not in (0, 1, {other}.x)",
                    f"{one}.time - {other}.time <= {window}",
                    f"if({one}.b, {one}.x, {other}.o) {operator} 1",
                    f"{computed[0]} {operator} 2 * {computed[1]}",
                    f"({computed[0]} is null or {computed[1]} > {one}.x)",
                    f"({one}.s = {other}.s and {one}.x > 0 or {one}.s = {other}.s and {computed[0]} > 0)",
                    f"not (coalesce({computed[0]}, -1) < 0)",
                )
            )
        )

    def _computed(self, one: str, other: str, operator: str, computed: list[str]) -> str:
        """Give a parameter that stands for a computed value, and a condition on it."""
        name = f"c{len(self.results)}"
        self.results.append(name)
        value = self.aside.choice(
            (
                f"{one}.x + {other}.y",
                f"{one}.y / 2",
                f"if({one}.b, {one}.x, {other}.o)",
                f"{computed[0]} - {computed[1]}",
            )
        )
        return str(
            self.aside.choice(
                (
                    f"${name} = {value} and ${name} {operator} {other}.x",
                    f"-2 < ${name} = {value}",
                    f"${name} = {value} and Count(A(y {operator} ${name}) within 5 us from {one}) < 3",
                )
            )
        )

    def _joined(self, constraint: str) -> str:
        """Give a constraint as part of a larger one."""
        choice = self.aside.choice
        other = choice(("o is null", "x > 1", "s in ('a', 'ab')", "b", "not (o > 0)", "y not in (0, 0.5)", "o != 1"))
        return str(
            choice(
                (
                    f"({constraint} or {other})",
                    f"({other} or {constraint})",
                    f"not ({constraint})",
                    f"not ({constraint} and {other})",
                    f"({constraint} and {other} or x in (0, 1, 2))",
                    f"if({constraint}, b, {other})",
                    "o is not null",
                    "(x = 1 and o > 0 or x = 1 and s = 'a')",
                    "x not in (1, 2, o)",
                    "at - time < 2 us",
                    "cidr_match(concat('10.0.0.', s, '0'), '10.0.0.0/30', '::/0')",
                    "distance(y, x, 0.5, 1) < 100",
                    "split(s, 'b', 1) = 'a'",
                    "if(b, length(s), x) > 1",
                )
            )
        )

    def _timed(self, pieces: list[str]) -> list[str]:
        """Have some rules evaluated at moments: after their first event, or at regular times, which then looks back."""
        choice, kind = self.aside.choice, self.aside.random()
        share = self.habits.timed
        if kind > share or not self.timed:
            return pieces
        first, *others = pieces
        for name in ("from e0", "between e0", "and e0"):
            others = [other.replace(name, choice((name, name.replace("e0", "now")))) for other in others]
        others = [other.replace("between now and now", "between e0 and now") for other in others]
        if kind < share / 3 and not self.corners.values:
            begin = choice(("every 2 us", "every 3 us", "every 5 us from 00:00:07"))
            chosen = choice(
                (
                    f"{choice(('last', 'first', 'each'))} {first}",
                    f"{choice(('last', 'first', '2 last'))} {first} per {choice(('s', 'b', 'o, x'))}",
                    f"{choice((1, 2))} top {first} by {choice(('y', 'o', 'x - o'))}{choice(('', ' per s', ' per b'))}",
                )
            )
            return [begin, f"{chosen} within {choice(self.habits.windows[1:6])} from now", *others]
        delay = choice(_DELAYS)
        if kind > share * 0.8:  # an absence ahead of the event sets the timer
            absent = f"{choice('ABCD')}({choice(('', '', 'x > 0', 's = e0.s'))})"
            return [first, f"not {absent} within {delay} after e0", *others]
        return [f"{delay} after {first}", *others]

    def _type(self) -> str:
        if self.random.random() < self.habits.plain:
            return str(self.random.choice("AB"))
        return str(self.random.choice([*"ABCD", *self.composites]))

    def _selection(self, name: str) -> str:
        random = self.random
        policy = random.choice(("each", "each", "last", "last", "first", "2 last", "3 first", "1 last"))
        reference = random.choice(self.names)
        event_type = self._type()
        windows = self.habits.windows
        windows = windows[1:6] if event_type in self.composites else windows  # recursion must not explode
        event = self._event(event_type, name, binds=True)
        window = f"within {random.choice(windows)} from {reference}"
        if self.aside.random() < self.habits.ranked:
            return self._ranking(event, window)
        return f"{policy} {event}{self._groups(policy)} {window}"

    def _ranking(self, event: str, window: str) -> str:
        """Give a choice of the greatest."""
        name = self.names[-1]
        other = self.aside.choice("ABCD")
        reference = self.aside.choice(self.names)
        values = (
            "x",
            "y",
            "o",
            f"x + {self.names[0]}.x",
            f"Count({other}(x = {name}.x) within 8 us from {reference})",
            f"Sum({other}(s = {name}.s).y within 5 us from {reference}) - y",
            f"Max({other}(b = {name}.b).x within 20 us from {self.names[0]})",
        )
        groups = self.aside.choice(("", "", " per s", " per b", " per o, x"))
        value, bound = self.aside.choice(values), ""
        if "(" in value and self.aside.random() < 0.5:  # it is bound behind the choice
            bound = f" and\n  $r{len(self.results)} = {value.replace(' - y', f' - {name}.y')}"
            value = f"$r{len(self.results)}"
            self.results.append(value[1:])
        return f"{self.aside.choice((1, 2, 3))} top {event} by {value}{groups} {window}{bound}"

    def _collection(self, index: int) -> str:
        """Give a collection, and a value of it."""
        bounds = self.aside.choice(("", "", "0.. ", "2.. ", "1..2 ", "0..3 "))
        event_type = self.aside.choice([*"ABCD", *self.composites])
        members = f"all {bounds}{self._event(event_type, None)} as m{index} {self._scope()}"
        value = self.aside.choice(_OF_COLLECTIONS).format(f"m{index}")
        self.results.append(f"t{index}")
        return f"{members} and\n  $t{index} = {value}"

    def _groups(self, policy: str) -> str:
        """Give attributes by whose values a choice is made, now and then."""
        if policy == "each" or self.aside.random() > self.habits.grouped:
            return ""
        groups = self.aside.choice(("x", "y", "s", "b", "at", "o", "s, b", "b, o", "o, y, x"))
        return f" per {groups}"

    def _event(self, event_type: str, name: str | None, *, binds: bool = False) -> str:
        count = self.random.choice((0, 0, 0, 1, 1, 2)) if self.random.random() >= self.habits.plain else 0
        constraints = [self._constraint(binds and name is not None) for _ in range(count)]
        constraints = [
            constraint if self.aside.random() > 0.2 or "$later" in constraint else self._joined(constraint)
            for constraint in constraints
            if constraint
        ]
        if binds and name is not None and self.random.random() < 0.3 * (1.0 - self.habits.plain):
            parameter = f"p{len(self.parameters)}"
            self.parameters.append(parameter)
            constraints.append(f"x=${parameter}")
        if name is None:
            return f"{event_type}({' and '.join(constraints)})"
        self.names.append(name)
        return f"{event_type}({' and '.join(constraints)}) as {name}"

    def _scope(self) -> str:
        random = self.random
        if len(self.names) > 1 and random.random() < 0.4:
            first, second = random.sample(self.names, 2)
            return f"between {first} and {second}"
        return f"within {random.choice(self.habits.windows)} from {random.choice(self.names)}"

    def _since_start(self, index: int) -> str:
        """Give an aggregate of all that there was, or of all that equals something."""
        choice = self.aside.choice
        member = choice(("", "", "b", "x > 0", "o >= 0", "x = e0.x", "s = e0.s and b = e0.b", "y = e0.y"))
        function, value = choice(
            (
                *(("Count", value) for value in ("", ".x", ".o")),
                *((function, value) for function in ("Sum", "Avg", "Min", "Max") for value in (".x", ".y", ".o")),
                *((function, value) for function in ("First", "Last") for value in (".s", ".at", ".y", ".o")),
                ("Sum", ".(x + y)"),
            )
        )
        if value in (".s", ".at"):
            self.copies.setdefault(value[1:], []).append(f"$t{index}")
        else:
            self.results.append(f"t{index}")
        return f"$t{index} = {function}({choice('AABBCD')}({member}){value} since start)"

    def _aggregation(self, index: int) -> str:
        if self.aside.random() < self.habits.since_start:
            return self._since_start(index)
        random = self.random
        function = random.choice(_AGGREGATES)
        value = random.choice((".x", ".y", ".(x + 1)", ".(y * 2)", ".o"))
        if function == "Count":
            value = random.choice(("", ".x", ".o"))
        if self.corners.comes(0.5):
            value = self._corner_of_aggregates(function, value)
        argument = f", {random.choice(_PERCENTS)}" if function == "Percentile" else ""
        if function == "CountDistinct" and self.aside.random() < 0.4:
            argument = ", approximate"
        inner = f"{function}({self._event(self._type(), None)}{value} {self._scope()}{argument})"
        kind = random.random()
        if function in _COPYING and value in (".s", ".b", ".at"):
            self.copies.setdefault(value[1:], []).append(f"$t{index}")
            return f"$t{index} = {inner}"
        if kind < 0.35:
            number = self.corners.value(ValueType.FLOAT, random.choice((0, 1, 0.5)))
            return f"{number!r} {random.choice(_OPERATORS)} {inner}"
        name = f"t{index}"
        self.results.append(name)
        return f"${name} = {inner}" if kind < 0.7 else f"{random.choice((-1, 0))} < ${name} = {inner}"

    def _corner_of_aggregates(self, function: str, usual: str) -> str:
        """Give what an aggregate is of: any attribute where it may be, and expressions that leave their range."""
        choice = self.corners.random.choice
        match function:
            case "Count":
                return choice((".y", ".y", ".s", ".b", ".at", ".(y * y)", ".(o + x)", ".(y / o)", ".(sqrt(y))"))
            case "CountDistinct":
                return choice((".y", ".s", ".s", ".b", ".at", ".o", ".(y * 0)", ".(o + x)"))
            case "First" | "Last" | "Mode":
                return choice((".s", ".b", ".at", ".(y * y)", ".(x * x)", ".(o - x)"))
            case "Min" | "Max":
                return choice((usual, ".at", ".(-y)", ".(y - x)", ".(x * 3)"))
            case _:
                return choice((usual, ".y", ".x", ".(y * y)", ".(x * x)", ".(y - x)", ".(x + o)", ".(y / 3)"))

    def _number(self) -> str:
        random = self.random
        options = [str(random.choice((0, 1, 2, 0.5, 1.5)))]
        if self.corners.comes(0.3):
            kind = self.corners.random.choice((ValueType.INT, ValueType.FLOAT))
            options = [literal(self.corners.value(kind, 2 if kind is ValueType.INT else 2.5), kind)]
        options += [f"${name}" for name in self.parameters[-2:]] * 2
        options += [f"{name}.{random.choice('xy')}" for name in self.names[-2:]]
        options += [f"${name}" for name in self.results]
        return random.choice(options)

    def _constraint(self, allow_future: bool) -> str:
        random = self.random
        kind = random.randint(0, 15)
        operator = random.choice(_OPERATORS)
        other = self._number()
        if self.corners.comes(0.25):
            return self._corner_of_constraints(operator)
        if kind <= 3:
            return f"{random.choice('xy')} {operator} {other}"
        if kind <= 5 and self.parameters:
            return f"x = ${random.choice(self.parameters)}"
        if kind == 6:
            return f"{other} - 1 < y < {other} + 1"
        if kind == 7:
            return f"s {random.choice(('=', '!=', '<', '>='))} '{random.choice(TEXTS)}'"
        if kind == 8 and self.names:
            return f"s = {random.choice(self.names)}.s"
        if kind == 9:
            return random.choice(("b", "b = true", "b != false", "contains(s, 'a')", "starts_with(lower(s), 'b')"))
        if kind == 10:
            return f"coalesce(o, 1) {operator} {random.choice((0, 1, 2))}"
        if kind == 11:
            return f"o {operator} {random.choice((0, 1))}"
        if kind == 12:
            expression = ("x * 2", "y / x", "abs(x)", "min(x, 2)", "max(y, x)", "floor(y)", "mod(x, 3)", "length(s)")
            return f"{random.choice(expression)} {operator} {random.choice((0, 1, 2))}"
        if kind == 13:
            return random.choice(("hour(at) >= 1", "year(at) > 1970", "time >= at", "weekday(at) != 4", "x + 1 > x"))
        if kind == 14 and allow_future and not self.future:
            self.future.append("later")
            return "x <= $later"
        return self.aside.choice(("x != 7", *_CALLED))

    def _corner_of_constraints(self, operator: str) -> str:
        """Give a constraint that compares an attribute, or what is computed from some, with a corner."""
        choice = self.corners.random.choice
        kind = choice(tuple(CORNERS))
        constant = literal(choice(self.corners.values[kind]), kind)
        match kind:
            case ValueType.BOOL:
                return f"b {choice(('=', '!='))} {constant}"
            case ValueType.INT:
                terms = (
                    "x",
                    "o",
                    "-x",
                    "x * x",
                    "abs(x)",
                    "x + 1",
                    "mod(x, 3)",
                    "floor(y)",
                    "round(y)",
                    "ceil(y)",
                    "y",
                )
                return f"{choice(terms)} {operator} {constant}"
            case ValueType.FLOAT:
                terms = ("y", "y", "-y", "y * y", "x / 3", "y + x", "abs(y)", "mod(y, 3)", "sqrt(y)", "min(y, x)", "x")
                return f"{choice((*terms, 'max(-0.0, y)', 'mod(x, y)', 'coalesce(o, y)'))} {operator} {constant}"
            case ValueType.STRING:
                tests = (f"s {operator} {constant}", f"contains(s, {constant})", f"upper(s) = upper({constant})")
                return choice((*tests, f"concat(s, {constant}) != s", "length(trim(s)) < length(s)", f"s = {constant}"))
            case _:
                parts = ("year(at) > 1", "month(at) = 2", "day(at) = 29", "weekday(at) < 4", "second(at) = 59")
                return choice((*parts, f"at {operator} {constant}", f"time {operator} {constant}", "at - time > 0"))

    def _values(self) -> dict[str, str]:
        values = self._usual_values()
        for name, copied in self.copies.items():
            values[name] = self.corners.random.choice((values[name], *copied))
        if self.corners.comes(0.4):
            name = self.corners.random.choice(self.names)
            values["y"] = self.corners.random.choice(
                (f"min(-0.0, {name}.y)", f"max(e0.y, {name}.y)", f"{name}.y * e0.y", f"-{name}.y", f"mod({name}.y, 2)")
            )
            values["o"] = self.corners.random.choice((f"{name}.x * {name}.x", f"round({name}.y)", f"abs({name}.x)"))
        return values

    def _usual_values(self) -> dict[str, str]:
        random = self.random
        name = random.choice(self.names)
        numbers = [f"{name}.y", "e0.x", "e0.y + 0.5", f"{name}.x * 1", f"{name}.y / 3", "0.25", *self._results()]
        return {
            "x": random.choice((f"{name}.x", "e0.x", f"{name}.x + e0.x", "floor(e0.y)", "7", f"length({name}.s)")),
            "y": random.choice(numbers),
            "s": random.choice((f"{name}.s", f"upper({name}.s)", f"concat({name}.s, 'z')", "'k'")),
            "b": random.choice((f"{name}.b", "true", f"contains({name}.s, 'b')")),
            "at": random.choice((f"{name}.at", "e0.time", f"{name}.time")),
            "o": random.choice((f"{name}.o", f"{name}.x", "1")),
        }

    def _results(self) -> list[str]:
        return [f"${name}" for name in self.results]
