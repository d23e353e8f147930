"""Rules that go on for ever from one event are warned of, and stopped early."""

from __future__ import annotations

import pytest

import cepheus
from cepheus.core.errors import LimitError

START = "e(0) <- a(_). "


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        (START + "e(X) <- e(Y) WHERE X = Y + 1.", ["e_2"]),
        (START + "e(Y + 1) <- e(Y).", ["e_2"]),
        (START + "e(Y + 1) <- e(Y) OR b(Y).", ["e_2"]),
        (START + "e(X) <- e(Y) WHERE Z = Y * 2, X = Z.", ["e_2"]),
        (START + "f(Y + 1) <- e(Y). e(X) <- f(X).", ["f"]),
        (START + "e(Y + 1) <- (e(Y) AND a(_)).5 s.", ["e_2"]),
        (START + "e(Y + 1) <- (a(_) DURING e(Y)).5 s.", ["e_2"]),
        (START + "e(Y + 1) <- (e(Y) AND e(Y)).5 s POLICY chronological.", ["e_2"]),
        ("e([]) <- a(_). e([1|T]) <- e(T).", ["e_2"]),
        ("e([]) <- a(_). e(L) <- e(T) WHERE L = [1|T].", ["e_2"]),
        ("e(x, 0) <- a(_). e(concat(X, y), 0) <- e(X, 0).", ["e_2"]),
        # a condition may end it
        (START + "e(X) <- e(Y) WHERE X = Y + 1, X < 10.", []),
        (START + "e(X) <- e(Y) WHERE Y < 10, X = Y + 1.", []),
        (START + "f(Y + 1) <- e(Y). e(X) <- f(X) WHERE X < 5.", []),
        ("k(1, 2). " + START + "e(X + 1) <- e(Y) WHERE k(Y, X).", []),
        # each step takes another event
        (START + "e(Y + 1) <- (e(Y) SEQ a(_)).5 s.", []),
        (START + "e(Y + 1) <- (e(Y) DURING a(_)).5 s.", []),
        (START + "e(Y + 1) <- (e(Y) AND a(_)).5 s POLICY chronological.", []),
        # no new values
        ("e(X, Y) <- a(X, Y). e(X, Z) <- (e(X, Y) AND e(Y, Z)).5 s.", []),
        ("e([1, 2]) <- a(_). e(T) <- e([_|T]).", []),
        ("e(0, 0) <- a(_). e(X + 1, 1) <- e(X, 0).", []),
        (START + "e(X + 1) <- (e(_) AND b(X)).5 s.", []),
    ],
)
def test_endless_recursion(text: str, warned: list[str]) -> None:
    warnings = [w for w in cepheus.compile(text).warnings if w.code == "endless-recursion"]
    assert [w.message.split("'")[1] for w in warnings] == warned
    assert all(w.span is not None and w.hint is not None for w in warnings)


EVENT = {"type": "a", "time": 1, "args": [1]}


@pytest.mark.parametrize("engine", ["goals", "interval-reference"])
def test_endless_rules_have_a_limit_of_their_own(engine: str) -> None:
    program = cepheus.compile(START + "e(X) <- e(Y) WHERE X = Y + 1.")
    with pytest.raises(LimitError, match="more than 100000 composite events") as caught:
        program.detect([EVENT], engine=engine)
    assert "let a condition of WHERE end that" in (caught.value.diagnostics[0].hint or "")
    with pytest.raises(LimitError, match="more than 10 composite events"):
        program.detect([EVENT], engine=engine, limit=10)


@pytest.mark.parametrize("engine", ["goals", "interval-reference"])
def test_a_recursion_that_ends_has_the_usual_limit(engine: str) -> None:
    program = cepheus.compile(START + "e(X) <- e(Y) WHERE X = Y + 1, X < 1000.")
    assert len(program.detect([EVENT], engine=engine)) == 1000
    with pytest.raises(LimitError) as caught:
        program.detect([EVENT], engine=engine, limit=500)
    assert "let its condition of WHERE end that earlier" in (caught.value.diagnostics[0].hint or "")


@pytest.mark.parametrize("engine", ["goals", "interval-reference"])
def test_other_rules_do_not_use_up_that_limit(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheus.engine.base.limits.ENDLESS_LIMIT", 20)
    # nothing but e(1) and e(0): the recursion ends by itself, although no condition says so
    text = "many(N) <- a(_) WHERE N in [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25]. "
    program = cepheus.compile(text + "e(1) <- a(_). e(Y - Y) <- e(Y).")
    assert [w.code for w in program.warnings] == ["endless-recursion"]
    assert len(program.detect([EVENT], engine=engine)) == 27
