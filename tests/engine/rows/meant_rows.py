"""Patterns and expressions over rows drawn together with what they mean: each piece of text with a function."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from random import Random
from typing import Any

from word_oracle import END, START, Fn, Pattern, View

Inner = Callable[[View, int], Any]
"""A value at a row of the partition."""


def strict(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: None if any(v is None for v in values) else f(*values)


def conj(*values: Any) -> Any:
    return False if any(v is False for v in values) else None if any(v is None for v in values) else True


def disj(*values: Any) -> Any:
    return True if any(v is True for v in values) else None if any(v is None for v in values) else False


def neg(value: Any) -> Any:
    return None if value is None else not value


COMPARE = {
    "=": lambda a, b: a == b, "<>": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


_AGGREGATES = {
    "number": ("count", "sum", "avg", "min", "max", "max_by", "min_by", "median", "stddev"),
    "string": ("min", "max", "max_by"),
    "bool": ("bool_or", "bool_and"),
}
_OF_VALUES: dict[str, Callable[[list[Any]], Any]] = {
    "count": len,
    "sum": lambda values: math.fsum(values) if any(isinstance(each, float) for each in values) else sum(values),
    "avg": lambda values: math.fsum(values) / len(values),
    "median": lambda values: float(statistics.median(values)),
    "stddev": lambda values: statistics.stdev(values) if len(values) > 1 else None,
    "min": min,
    "max": max,
    "bool_or": any,
    "bool_and": all,
}
"""Aggregates of values that are not NULL, at least one except for ``count``."""


class Draw:
    """Draws text with meaning; ``measuring`` where FINAL may stand."""

    def __init__(
        self, random: Random, names: list[str], subsets: dict[str, frozenset[str]], spell: dict[str, str]
    ) -> None:
        self.r, self.names, self.spell = random, names, spell
        self.scopes: dict[str, frozenset[str]] = {**{n: frozenset({n}) for n in names}, **subsets}
        self.measuring = False

    def scope(self, bare: float = 0.4) -> tuple[str, str, frozenset[str] | None]:
        """A prefix of columns, a name for CLASSIFIER, the variables."""
        if self.r.random() < bare:
            return "", "", None
        name = self.r.choice(list(self.scopes))
        return f"{self.spell[name]}.", self.spell[name], self.scopes[name]

    def inner(self, prefix: str, name: str, kind: str = "number") -> tuple[str, Inner]:
        """Something read at one row."""

        def col(c: str) -> Inner:
            return lambda view, row: view.rows[row][c]

        if kind == "string":
            if self.r.random() < 0.3:
                return f"CLASSIFIER({name})", lambda view, row: view.label(row)
            if self.r.random() < 0.2:
                return f"{prefix}s || '-'", lambda view, row: strict(lambda a: a + "-")(view.rows[row]["s"])
            return f"{prefix}s", col("s")
        if kind == "bool":
            if self.r.random() < 0.5:
                return f"{prefix}b", col("b")
            low = self.r.randint(0, 4)
            return f"{prefix}v > {low}", lambda view, row: strict(lambda a: a > low)(view.rows[row]["v"])
        c = self.r.choice(["v", "w", "v", "w", "id"])
        draw = self.r.random()
        if draw < 0.6:
            return f"{prefix}{c}", col(c)
        if draw < 0.7:
            return f"{prefix}v + {prefix}w", lambda view, row: strict(lambda a, b: a + b)(
                view.rows[row]["v"], view.rows[row]["w"]
            )
        if draw < 0.78:
            return f"{prefix}v * 2 - {prefix}id", lambda view, row: strict(lambda a, b: a * 2 - b)(
                view.rows[row]["v"], view.rows[row]["id"]
            )
        if draw < 0.84:
            return f"- {prefix}{c}", lambda view, row: strict(lambda a: -a)(view.rows[row][c])
        if draw < 0.9:
            return (
                f"CASE WHEN {prefix}v > 2 THEN {prefix}w ELSE {prefix}id END",
                lambda view, row: (
                    view.rows[row]["w"] if (view.rows[row]["v"] or 0) > 2 else float(view.rows[row]["id"])
                ),
            )
        if draw < 0.95:
            return (
                f"coalesce({prefix}v, -1)",
                lambda view, row: -1 if view.rows[row]["v"] is None else view.rows[row]["v"],
            )
        return f"{prefix}v / {prefix}w", lambda view, row: strict(lambda a, b: a / b if b else None)(
            view.rows[row]["v"], view.rows[row]["w"]
        )

    def navigation(self, kind: str) -> tuple[str, Fn]:
        """Something read at a row found from the match."""
        prefix, name, members = self.scope()
        text, value = self.inner(prefix, name, kind)
        last, logical, physical, final = True, 0, 0, False
        shape = self.r.random()
        if "coalesce" in text:
            shape = 0.6  # it has a value for NULL, so it may stand in FIRST and LAST only
        if 0.3 <= shape < 0.75:
            last = self.r.random() < 0.5
            logical = self.r.choice([0, 0, 1, 2])
            more = f", {logical}" if logical or self.r.random() < 0.2 else ""
            word, final = self.mode()
            text = f"{word}{'LAST' if last else 'FIRST'}({text}{more})"
        if 0.3 <= shape < 0.5 or shape >= 0.75:
            physical = self.r.choice([-2, -1, -1, -1, 0, 1, 1, 2])
            more = f", {abs(physical)}" if abs(physical) != 1 or self.r.random() < 0.2 else ""
            text = f"{'NEXT' if physical > 0 else 'PREV'}({text}{more})"

        def found(view: View) -> Any:
            rows = view.taken(members, final=final)
            if logical >= len(rows):
                return None
            place = (rows[::-1] if last else rows)[logical] + physical
            return value(view, place) if 0 <= place < len(view.rows) else None

        return text, found

    def mode(self) -> tuple[str, bool]:
        """RUNNING, FINAL or nothing, and whether it is final."""
        if not self.measuring:
            return self.r.choice(["RUNNING ", *[""] * 9]), False
        word = self.r.choice(["", "", "", "RUNNING ", "FINAL "])
        return word, word == "FINAL "

    def aggregate(self, kind: str) -> tuple[str, Fn]:
        """An aggregate that is a number, a string or true or false."""
        prefix, name, members = self.scope()
        word, final = self.mode()
        keep: Inner | None = None
        asked = behind = ""
        if self.r.random() < 0.25:
            asked, keep = self.inner(prefix, name, "bool")
            behind = f" FILTER (WHERE {asked})"

        def rows_of(view: View) -> list[int]:
            rows = view.taken(members, final=final)
            return rows if keep is None else [row for row in rows if keep(view, row) is True]

        if kind == "number" and self.r.random() < 0.25:
            text = f"count_if({asked})" if asked and prefix else f"count({prefix}*){behind}"
            return f"{word}{text}", lambda view: len(rows_of(view))
        text, value = self.inner(prefix, name, kind)
        function = self.r.choice(_AGGREGATES[kind])
        if function in ("max_by", "min_by"):
            key_text, key = self.inner(prefix, name, self.r.choice(["number", "string"]))
            extreme = max if function == "max_by" else min

            def found_by(view: View) -> Any:
                known = [(it, value(view, row)) for row in rows_of(view) if (it := key(view, row)) is not None]
                best = extreme((key for key, _ in known), default=None)
                return next((value for key, value in known if key == best), None)

            return f"{word}{function}({text}, {key_text}){behind}", found_by
        distinct = function in ("count", "sum", "avg") and self.r.random() < 0.4

        def found(view: View) -> Any:
            values = [it for row in rows_of(view) if (it := value(view, row)) is not None]
            values = list(dict.fromkeys(values)) if distinct else values
            return _OF_VALUES[function](values) if values or function == "count" else None

        return f"{word}{function}({'DISTINCT ' if distinct else ''}{text}){behind}", found

    def number(self) -> tuple[str, Fn]:
        """A number."""
        draw = self.r.random()
        if draw < 0.5:
            return self.navigation("number")
        if draw < 0.8:
            return self.aggregate("number")
        if draw < 0.85:
            return "MATCH_NUMBER()", lambda view: view.number
        a, f = self.navigation("number")
        b, g = self.number()
        sign = self.r.choice(["+", "-", "*"])
        do = strict({"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y}[sign])
        return f"(({a}) {sign} ({b}))", lambda view: do(f(view), g(view))

    def string(self) -> tuple[str, Fn]:
        """A text."""
        return self.navigation("string") if self.r.random() < 0.8 else self.aggregate("string")

    def condition(self, depth: int = 2) -> tuple[str, Fn]:
        """True, false or NULL."""
        draw = self.r.random()
        if depth and draw < 0.3:
            parts = [self.condition(depth - 1) for _ in range(2)]
            both = self.r.random() < 0.5
            do = conj if both else disj
            word = self.r.choice([" and ", " AND "]) if both else " OR "
            return f"({word.join(t for t, _ in parts)})", lambda view: do(*(f(view) for _, f in parts))
        if depth and draw < 0.38:
            text, value = self.condition(depth - 1)
            return f"NOT ({text})", lambda view: neg(value(view))
        if draw < 0.45:
            text, value = self.r.choice([self.number, self.string])()
            yes = self.r.random() < 0.5
            return f"({text}) IS {'' if yes else 'NOT '}NULL", lambda view: (value(view) is None) == yes
        if draw < 0.52:
            return self.navigation("bool") if self.r.random() < 0.6 else self.aggregate("bool")
        if draw < 0.66:
            a, f = self.string()
            b, g = self.string() if self.r.random() < 0.5 else self.text_literal()
            sign = self.r.choice(list(COMPARE))
            return f"({a}) {sign} ({b})", lambda view: strict(COMPARE[sign])(f(view), g(view))
        if draw < 0.72:
            a, f = self.number()
            members = self.r.sample([0, 1, 2, 3, 4], 2)
            no = self.r.random() < 0.5
            null = self.r.random() < 0.3
            listed = ", ".join([*map(str, members), *(["NULL"] if null else [])])

            def within(view: View) -> Any:
                x = f(view)
                found = None if x is None else True if x in members else None if null else False
                return neg(found) if no else found

            return f"({a}) {'NOT ' if no else ''}IN ({listed})", within
        if draw < 0.78:
            a, f = self.number()
            low, high = self.r.randint(0, 3), self.r.randint(1, 5)
            return f"({a}) BETWEEN {low} AND {high}", lambda view: strict(lambda x: low <= x <= high)(f(view))
        if draw < 0.82:
            a, f = self.number()
            b, g = self.number()
            return (
                f"({a}) IS DISTINCT FROM ({b})",
                lambda view: (f(view) is None) != (g(view) is None) or f(view) != g(view),
            )
        a, f = self.number()
        b, g = self.number() if self.r.random() < 0.6 else self.literal()
        sign = self.r.choice(list(COMPARE))
        return f"({a}) {sign} ({b})", lambda view: strict(COMPARE[sign])(f(view), g(view))

    def literal(self) -> tuple[str, Fn]:
        """A number as it is written."""
        value = self.r.choice([0, 1, 2, 3, 1.5, 5])
        return str(value), lambda _: value

    def text_literal(self) -> tuple[str, Fn]:
        """A text as it is written."""
        value = self.r.choice(["a", "ab", "A", "B", "c"])
        return f"'{value}'", lambda _: value

    def pattern(self, depth: int) -> tuple[str, Pattern]:
        """A pattern nested so deep at most."""
        draw = self.r.random()
        if depth == 0 or draw < 0.2:
            if self.r.random() < 0.07:
                mark = self.r.choice([START, END, "()"])
                return mark, ("empty",) if mark == "()" else ("mark", mark)
            name = self.r.choice(self.names)
            return self.spell[name], ("var", name)
        if draw < 0.5:
            parts = [self.pattern(depth - 1) for _ in range(self.r.randint(2, 3))]
            return " ".join(f"({t})" if "|" in t else t for t, _ in parts), ("seq", [p for _, p in parts])
        if draw < 0.65:
            parts = [self.pattern(depth - 1) for _ in range(self.r.randint(2, 3))]
            return " | ".join(t for t, _ in parts), ("alt", [p for _, p in parts])
        text, inner = self.pattern(depth - 1)
        if draw < 0.9:
            least = self.r.choice([0, 0, 1, 1, 2, 3])
            most = self.r.choice([math.inf, math.inf, max(least, 1), least + 1])
            greedy = self.r.random() < 0.6
            forms = {(0, math.inf): ["*", "{,}", "{0,}"], (1, math.inf): ["+", "{1,}"], (0, 1): ["?", "{,1}", "{0,1}"]}
            if least == most:
                written = f"{{{least}}}"
            else:
                exact = f"{{{least},{'' if most == math.inf else most}}}"
                written = self.r.choice(forms.get((least, most), [exact]))
            return f"({text}){written}{'' if greedy else '?'}", ("rep", inner, least, most, greedy)
        if draw < 0.95 and not self.r.random() < 0.3:
            return f"{{- {text} -}}", ("hide", inner)
        others = [self.pattern(0) for _ in range(self.r.randint(1, 2))]
        return f"PERMUTE({', '.join([text, *(t for t, _ in others)])})", ("perm", [inner, *(p for _, p in others)])


def names_in(p: Pattern) -> list[str]:
    """The variables of a pattern."""
    if p[0] == "var":
        return [p[1]]
    if p[0] in ("mark", "empty"):
        return []
    parts = p[1] if isinstance(p[1], list) else [p[1]]
    return list(dict.fromkeys(name for part in parts for name in names_in(part)))
