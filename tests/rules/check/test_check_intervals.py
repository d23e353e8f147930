"""Checks on interval rules: what is refused, what is warned of, what is found out."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cepheus.core.errors import RuleError
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.values import ValueType
from cepheus.language.etalis import parse
from cepheus.rules.check import Checked, check
from cepheus.rules.check.interval import signatures as types
from cepheus.rules.interval.model import IntervalRule, Knowledge, Relation
from cepheus.rules.json_form import from_json, to_json
from cepheus.rules.model import RuleSet


def _checked(text: str, schema: Schema | None = None) -> Checked:
    return check(parse(text), schema=schema)


REFUSED = [
    ("e(X, Y) <- a(X) SEQ b(X).", "unbound-variable", "Y"),
    ("e(X) <- a(X) OR b.", "unbound-variable", "X"),
    ("e(X) <- NOT(c(X)).[a, b].", "negated-variable", "NOT(c(X)).[a, b]"),
    ("e <- a(X) WHERE X > Y.", "unsafe-variable", "Y"),
    ("e <- a(X) WHERE Y > 3, Y = X.", "unsafe-variable", "Y"),
    ("near(a, b). e <- a(X) WHERE NOT near(X, Y).", "unsafe-variable", "Y"),
    ("e <- (NOT(c(X)).[a, b]) SEQ d(X).", "negated-variable", "(NOT(c(X)).[a, b])"),
    ("e <- a(X) SEQ b. f <- a.", "arity", "a"),
    ("event a(x: int). e <- a.", "arity", "a"),
    ("e <- a WHERE near(a).", "unknown-relation", "near(a)"),
    ("near(a, b). e <- a WHERE near(a).", "arity", "near(a)"),
    ("near(a, b). near(c).", "arity", "near(c)."),
    ("near(a, b). e <- near(X, Y).", "guard", "near(X, Y)"),
    ("near(a). near(X) <- b(X).", "ambiguous-name", "near(a)."),
    ("p(X) :- q(X), NOT p(X). q(1).", "unstratified", "NOT p(X)"),
    ("p(X) :- q(X), NOT r(X). r(X) :- p(X). q(1).", "unstratified", "NOT r(X)"),
    ("p(X) :- q(Y). q(1).", "unbound-variable", "X"),
    ("n(N) <- n(K) WHERE N = COUNT(n(_) WITHIN 1 s).", "unstratified", "COUNT(n(_) WITHIN 1 s)"),
    ("p <- a SEQ p. p <- a. q <- NOT(c).[a, q]. q <- p.", "unstratified", "NOT(c).[a, q]"),
    ("e <- a POLICY recent, least V.", "policy", "recent, least V"),
    ("event a(x: int). e <- b.", "unknown-type", "b"),
    ("LABEL r: e <- a. LABEL r: f <- a.", "duplicate-rule", None),
    ("event a(x: string). e(X) <- a(X) WHERE X / 2 > 1.", "arithmetic", "X"),
    ("event a(x: bool). e(Y) <- a(X) WHERE Y is 1 + X.", "arithmetic", "X"),
    ("event a(x: string). e(-X) <- a(X).", "arithmetic", "X"),
    ("event a(x: string). b(X) <- a(X). e <- b(X) WHERE X * 2 > 1.", "arithmetic", "X"),
    ("event a(x: bool). e <- a(X) WHERE abs(X) > 0.", "argument-type", "X"),
    ("event a(x: int). e <- a(X) WHERE upper(X) = 'A'.", "argument-type", "X"),
    ("event a(x: double). e <- a(X) WHERE year(X) = 1970.", "argument-type", "X"),
    ("event a(x: string). e(S) <- a(_) WHERE S = SUM(X, a(X) WITHIN 1 s).", "aggregate-type", "X"),
    ("event a(x: int). e(X) <- a(X) WHERE X = foo.", "comparison", "foo"),
    ("event a(x: int). e(X) <- a(X) WHERE X != 'b', X > 2.", "comparison", "'b'"),
    ("event a(x: int). e <- a(foo).", "comparison", "foo"),
    ("event a(x: int). event b(y: string). e <- a(X) SEQ b(Y) WHERE X < Y.", "comparison", "Y"),
    ("event a(x: list). e <- a(3).", "comparison", "3"),
    ("event a(x: int). e <- a([_|_]).", "comparison", "[_|_]"),
    ("event a(x: list). e <- a(X) WHERE X > [1].", "comparison", "X > [1]"),
    ("event a(x: list). e(Y) <- a(X) WHERE Y = X + 1.", "arithmetic", "X"),
    ("event a(x: list). e(Y) <- a(X) WHERE Y = upper(X).", "argument-type", "X"),
    ("event a(x: int). e(Y) <- a(X) WHERE Y = length(X).", "argument-type", "X"),
    ("event a(x: int). e(Y) <- a(X) WHERE Y in X.", "list-type", "X"),
    ("event a(x: int). e(Y) <- a(X) WHERE [Y] = X.", "list-type", "X"),
    ("event a(x: int). e([1|X]) <- a(X).", "list-type", "X"),
    ("event a(x: list). e(S) <- a(_) WHERE S = MIN(X, a(X) WITHIN 1 s).", "aggregate-type", "X"),
    ("e([X, Y]) <- a(X).", "unbound-variable", "Y"),
    ("e <- a(X) WHERE L = [X, Y].", "unsafe-variable", "Y"),
    ("e <- a(X) WHERE L = [X|_].", "unsafe-variable", "_"),
    ("e <- a(X) WHERE X in L.", "unsafe-variable", "L"),
    ("near([1]). e <- a(X) WHERE NOT near([X, Y]).", "unsafe-variable", "Y"),
    ("p(X, Y) :- q([X]). q([1]).", "unbound-variable", "Y"),
    ("e(V) <- a(X) WHERE V = abs(X, X).", "argument-count", "abs(X, X)"),
    ("e(min(X)) <- a(X).", "argument-count", "min(X)"),
    ("e(X) <- a(X) WHERE mod(X) = 1 OR X = 2.", "argument-count", "mod(X)"),
    ("p(Y) :- q(X), Y = abs(X, X). q(1).", "argument-count", "abs(X, X)"),
    ("p(abs(X, X)) :- q(X). q(1).", "argument-count", "abs(X, X)"),
    ("p(X) :- q(X), COUNT(a(_) WITHIN 5 s) > 0. q(1).", "misplaced-aggregate", "COUNT(a(_) WITHIN 5 s)"),
    ("p(X) :- q(X), NOT (COUNT(a(_) WITHIN 5 s) > 0). q(1).", "misplaced-aggregate", "COUNT(a(_) WITHIN 5 s)"),
    ("p(X) :- q(X), X > 1 + foo. q(1).", "arithmetic", "foo"),
    ("abs(1). e(X) <- a(X).", "ambiguous-name", "abs(1)."),
    ("Contains(X) :- q(X). q(1).", "ambiguous-name", "Contains(X) :- q(X)."),
    ("e(X) <- a(X) WHERE abs(X).", "not-a-condition", "abs(X)"),
    ("e(X) <- a(X) WHERE X > 3 OR length(X).", "not-a-condition", "length(X)"),
    ("event a(x: int). e(X) <- a(X) WHERE X.", "not-a-condition", "X"),
    ("p(X) :- q(X), abs(X). q(1).", "not-a-condition", "abs(X)"),
    ("p(1). e(X) <- a(X) WHERE COUNT(p(_) WITHIN 5 s) > 0.", "guard", "p(_)"),
    ("event e(x: string). event a(x: int). e(X) <- a(X).", "assignment-type", "X"),
    ("event e(x: list). event a(x: int). e(X) <- a(X).", "assignment-type", "X"),
    ("event e(x: bool). e(1) <- 5.", "assignment-type", "1"),
    ("event e(x: int). event a(x: double). e(X) <- a(X).", "narrowing", "X"),
    ("event e(x: int). event a(x: int). e(X / 2) <- a(X).", "narrowing", "X / 2"),
    ("event e(x: int). event a(x: int). f(X, 1.5) <- a(X). e(Y) <- f(_, Y).", "narrowing", "Y"),
    ("e(X) <- a(X) WHERE matches(X, '(').", "regular-expression", "("),
    ("p(X) :- q(X), matches(X, '['). q(b).", "regular-expression", "["),
    ("event a(x: bool). e(S) <- a(_) WHERE S = MAX(X, a(X) WITHIN 1 s).", "aggregate-type", "X"),
]


def test_a_table_named_like_a_function_is_refused() -> None:
    for rows in (((1,),), ()):
        tables = Knowledge(tables=(Relation("day", len(rows), rows),))
        with pytest.raises(RuleError) as raised:
            check(parse("e <- a.") + RuleSet(knowledge=tables))
        assert raised.value.diagnostics[0].code == "ambiguous-name"


@pytest.mark.parametrize(
    "rules",
    [
        [f"e{n}(X) <- a(X)." for n in range(100)],
        [f"e{n}(X) <- e{n + 1}(X)." for n in range(100)],
        [f"e{n}(X) <- e{n + 1}(X)." for n in range(100)] + ["e100(1) <- a(_)."],
        [f"e{n}(X) <- e{(n + 1) % 100}(X)." for n in range(100)] + ["e50(1) <- a(_).", "e50(1.5) <- b(_)."],
        ["e({0}) <- a({0}).".format(", ".join(f"X{n}" for n in range(100)))],
    ],
)
def test_many_rules_and_arguments_are_looked_at_a_few_times_each(
    rules: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0
    before = types.variable_kinds

    def counted(rule: IntervalRule, known: Mapping[str, EventType]) -> types.Kinds:
        nonlocal asked
        asked += 1
        return before(rule, known)

    monkeypatch.setattr(types, "variable_kinds", counted)
    _checked("\n".join(rules))
    assert asked <= 5 * len(rules)


def test_values_that_fit_what_a_head_is_declared_with() -> None:
    checked = _checked(
        "event e(x: double, t: timestamp, n: int). event a(x: int, t: timestamp). event b(y: string). "
        "e(X, T, T) <- a(X, T). e(X / 2, X, length(Y)) <- a(X, _) SEQ b(Y)."
    )
    assert checked.composites["e"].attributes[0].type is ValueType.FLOAT


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            "n(N) <- n(K) WHERE N = COUNT(n(_) WITHIN 1 s).",
            "break the recursion: take the aggregate over events that do not depend on what the rule makes",
        ),
        (
            "p <- a SEQ p. p <- a. q <- NOT(c).[a, q]. q <- p.",
            "break the recursion, or choose policy recent or chronological for the NOT",
        ),
        ("event a(time: int). e(X) <- a(X).", "leave it out, or give a time of the data's own another name"),
        ("event a(x: int). e(Y) <- a(X) WHERE Y = length(X).", "write length(string) or length(list)"),
    ],
)
def test_hints(text: str, hint: str) -> None:
    with pytest.raises(RuleError) as raised:
        _checked(text)
    assert [finding.hint for finding in raised.value.diagnostics] == [hint]


def test_what_may_be_true_is_a_condition() -> None:
    _checked("event a(x: bool, s: string). e <- a(X, S) WHERE X, coalesce(X, true), contains(S, 'b'), true.")
    _checked("e <- a(X) WHERE X, coalesce(X, X) OR X.")


@pytest.mark.parametrize(("text", "code", "place"), REFUSED)
def test_refused(text: str, code: str, place: str | None) -> None:
    with pytest.raises(RuleError) as raised:
        _checked(text)
    found = {(finding.code, finding.span and finding.span.text) for finding in raised.value.diagnostics}
    assert code in {each for each, _ in found}
    if place is not None:
        assert (code, place) in found


@pytest.mark.parametrize("rule", ["n(Y) :- n(X), Y is X + 1.", "n(X + 1) :- n(X).", "n(X + 1) :- m(X). m(X) :- n(X)."])
def test_rules_that_count_up_without_an_end_are_refused(rule: str) -> None:
    with pytest.raises(RuleError, match="more than 50 facts and elements of lists are derived") as raised:
        _checked(f"limit 50. n(1). {rule}")
    (finding,) = raised.value.diagnostics
    assert finding.code == "too-many-facts"
    assert finding.span is not None
    assert finding.span.text in rule


@pytest.mark.parametrize("rule", ["n([1|L]) :- n(L).", "n([L, L]) :- n(L).", "n(M) :- n(L), M = [[1]|L]."])
def test_the_limit_of_facts_counts_the_elements_of_lists(rule: str) -> None:
    with pytest.raises(RuleError, match="more than 1,000 facts and elements of lists are derived"):
        _checked(f"limit 1000. n([]). {rule}")
    text = "n([1, [2]]). m(L) :- n(L). e <- a(L) WHERE m(L)."
    assert _checked(f"limit 4. {text}").rules.interval_rules[0].relations[0].rows == (((1, (2,)),),)
    with pytest.raises(RuleError, match="more than 3 facts"):
        _checked(f"limit 3. {text}")


def test_the_limit_of_facts_is_that_of_derived_ones() -> None:
    text = "n(0). n(1). n(2). m(X) :- n(X). e <- a(X) WHERE m(X)."
    assert len(_checked(f"limit 3. {text}").rules.interval_rules[0].relations[0].rows) == 3
    with pytest.raises(RuleError, match="more than 2 facts"):
        _checked(f"limit 2. {text}")
    assert from_json(to_json(parse(f"limit 3. {text}"))).knowledge.most_facts == 3


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("e <- a AND b.", ["unbounded-state"]),
        ("e <- (a AND b).5 s.", []),
        ("e <- a AND b POLICY recent.", []),
        ("e <- (a AND b).5 s POLICY recent.", []),
        ("e <- (a AND b).5 s POLICY recent, onesided.", ["unbounded-state"]),
        ("e <- (a SEQ b).5 s POLICY recent, onesided.", []),
        ("e <- (a AND b).20.", ["bare-duration"]),
        ("e <- (a AND b).20 us.", []),
        ("unit s. e <- (a AND b).20.", []),
        ("e <- a EQUALS b.", []),
        ("e(A) <- s(X, P) WHERE A = AVG(P, s(X, P) WITHIN 1 s).", ["aggregate-of-one-value"]),
        ("e(A) <- s(X, P) WHERE A = AVG(Q, s(X, Q) WITHIN 1 s).", []),
    ],
)
def test_warnings(text: str, codes: list[str]) -> None:
    assert [warning.code for warning in _checked(text).warnings] == codes


def test_types_of_heads_follow_from_what_is_declared() -> None:
    checked = _checked(
        """
        event s(name: string, price: int, part: double).
        size(a, 7).
        e(X, P * 2, P / 2, P + F, length(X), 3.5, true) <- s(X, P, F).
        f(N, A, S, Z) <- s(X, _, _) WHERE N = COUNT(s(X, _, _) WITHIN 1 s), A = AVG(P, s(X, P, _) WITHIN 1 s),
            S = SUM(Q, s(X, Q, _) WITHIN 1 s), size(_, Z).
        g(X) <- e(_, X, _, _, _, _, _). g(X) <- h(X).
        k(1) <- s(_, _, _). k(F) <- s(_, _, F).
        event h(x: int).
        """
    )
    kinds = {name: [attribute.type for attribute in kind.attributes] for name, kind in checked.composites.items()}
    string, integer, double, truth = ValueType.STRING, ValueType.INT, ValueType.FLOAT, ValueType.BOOL
    assert kinds["e"] == [string, integer, double, double, integer, double, truth]
    assert kinds["f"] == [integer, double, integer, integer]
    assert kinds["g"] == [integer]
    assert kinds["k"] == [double]


def test_arguments_are_the_attributes_of_declarations_and_data() -> None:
    data = Schema([EventType("b", (Attribute("left", ValueType.INT), Attribute("right", None)))])
    checked = check(parse("e(X) <- a(X, _) SEQ b(X, _)."), schema=data)
    assert [attribute.name for attribute in checked.inputs["b"].attributes] == ["left", "right"]
    assert [attribute.name for attribute in checked.inputs["a"].attributes] == ["arg1", "arg2"]
    declared = _checked("event e(pair: int). event a(x: int). e(X) <- a(X).")
    assert declared.rules.interval_rules[0].head.attributes[0].name == "pair"


def test_an_attribute_may_be_called_id() -> None:
    checked = _checked("event stock(id: string, price: int). e(X) <- stock(X, _).")
    assert [attribute.name for attribute in checked.inputs["stock"].attributes] == ["id", "price"]


def test_rules_that_need_all_of_an_instant_come_after_what_they_look_at() -> None:
    checked = _checked(
        """
        p <- a SEQ b.
        q <- NOT(c).[a, p].
        n(N) <- a WHERE N = COUNT(q WITHIN 5 s).
        m <- n(_) SEQ a.
        i <- NOT(c).[a, b].
        r <- NOT(c).[a, p] POLICY recent.
        """
    )
    late = {str(rule.name): rule.decided_late for rule in checked.rules.interval_rules}
    assert late == {"p": 0, "q": 1, "n": 2, "m": 2, "i": 0, "r": 0}


def test_background_knowledge_is_complete() -> None:
    text = """
    near(X, Y) :- road(X, Y).
    near(X, Z) :- near(X, Y), road(Y, Z), NOT closed(Z).
    closed(c).
    e(X) <- a(X) WHERE near(X, _).
    """
    tables = Knowledge(tables=(Relation("road", 2, (("a", "b"), ("b", "c"), ("b", "d"))),))
    (rule,) = check(parse(text) + RuleSet(knowledge=tables)).rules.interval_rules
    assert {relation.name: set(relation.rows) for relation in rule.relations} == {
        "near": {("a", "b"), ("b", "c"), ("b", "d"), ("a", "d")}
    }


def test_json_form() -> None:
    text = """
    event s(id: string, price: int). near(a, b). near(X, Z) :- near(X, Y), near(Y, Z), NOT far(X). far(z).
    LABEL r: e(X, P + 1) <- ((s(X, P) SEQ s(X, _)).5 s OR (s(X, P) DURING (1 SEQ 9)))
        WHERE P > 3, near(X, _), X in [a, b] POLICY recent, once, longer.
    f(N) <- NOT(s(_, _)).[s(_, 1), s(_, 2)] WHERE N = COUNT(s(_, _) WITHIN 3 s), NOT (N > 3 OR N = 1).
    """
    rules = parse(text)
    assert from_json(to_json(rules)) == rules
    checked = check(rules, closed=False).rules
    assert check(from_json(to_json(checked)), closed=False).rules == checked


@pytest.mark.parametrize(
    ("change", "message"),
    [({"is": "Rule"}, "there is no node 'Rule'"), ({"extra": 1}, "the field 'extra' is unknown"),
     ({"is": "Fact"}, "field")],
)  # fmt: skip
def test_json_that_is_no_rule(change: dict[str, object], message: str) -> None:
    data = to_json(parse("e <- a."))
    data["interval_rules"][0] |= change
    with pytest.raises(RuleError, match=message):
        from_json(data)


def test_a_rule_that_feeds_itself_has_the_type_that_it_starts_from() -> None:
    def kinds(text: str) -> list[ValueType | None]:
        (head,) = check(parse(text)).composites.values()
        return [attribute.type for attribute in head.attributes]

    assert kinds("n(1) <- a. n(N) <- n(M) SEQ a WHERE N is M+1.") == [ValueType.INT]
    assert kinds("n(1) <- a. n(N) <- n(M) SEQ a WHERE N is M/2.") == [ValueType.FLOAT]
    assert kinds("n(1) <- a. n(N) <- n(N) SEQ b(N).") == [ValueType.INT]
    assert kinds("n(1) <- a. n(N) <- n(_) SEQ b(N).") == [None]
    assert kinds('n(1) <- a. n("x") <- n(_) SEQ b.') == [None]


def test_a_table_without_rows_is_a_relation_of_any_arity() -> None:
    rules = parse("e(X) <- a(X) WHERE k(X, _). f(X) <- a(X) WHERE NOT k(X, 1). g(X) :- k(X, X), l(X). l(1). k(2, 2).")
    empty = RuleSet(knowledge=Knowledge(tables=(Relation("k", 0, ()),)))
    assert check(rules + empty).rules.interval_rules[0].relations[0].rows == ((2, 2),)
    alone = parse("e(X) <- a(X) WHERE k(X, _). f(X) <- a(X) WHERE NOT k(X).")
    assert check(alone + empty).rules.interval_rules[0].relations[0].rows == ()
    columns = RuleSet(knowledge=Knowledge(tables=(Relation("k", 2, ()),)))
    with pytest.raises(RuleError, match="'k' has 2 arguments, not 1"):
        check(alone + columns)
