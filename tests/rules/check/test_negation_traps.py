"""Letters in a NOT: warnings where they change answers unnoticed, silence where they are meant so."""

from __future__ import annotations

import pytest

import cepheus

CODES = ("joined-in-not", "unseen-in-not", "ruled-out-together")
Records = list[dict[str, object]]


def _traps(rules: str) -> list[tuple[str, str, int]]:
    """Give code, marked text and column of each warning of a trap."""
    found = []
    for warning in cepheus.compile(rules).warnings:
        if warning.code in CODES:
            assert warning.span is not None
            assert warning.hint
            found.append((warning.code, warning.span.text, warning.span.start))
    return found


@pytest.mark.parametrize(
    ("rules", "letter", "column"),
    [
        ("e(X) <- NOT(c(Y)).[a(X), b(Y)].", "Y", 14),
        ("e(X, Y) <- NOT(c(X)).[a(X), b(Y)].", "X", 17),
        ("e(X, Y) <- (a(X) SEQ b(Y)) CNOT c(X).", "X", 34),
        ("e(X) <- NOT(s(X, P)).[s(X, P), s(X, Q)].", "P", 17),
        ("e(X) <- NOT(c(_) SEQ d(Y)).[a(X), b(Y)].", "Y", 23),
        ("e(P) <- (NOT(s(X, P)).[s(X, P), s(X, Q)]).5 s WHERE P < Q POLICY recent.", "P", 18),
    ],
)
def test_a_letter_that_joins_by_accident(rules: str, letter: str, column: int) -> None:
    assert _traps(rules) == [("joined-in-not", letter, column)]


@pytest.mark.parametrize(
    "rules",
    [
        "strange(W) <- NOT(badge(W)).[enter(W, _), leave(W, _)].",
        "unpaid(O) <- NOT(paid(O)).[ordered(O), day_end()].",
        "unpaid(O) <- NOT(paid(O)).[ordered(O), day_end(D)].",
        "unannounced(T) <- NOT(announced(T)).[opened(_), left(T)].",
        "e(X, Y) <- NOT(c(Z)).[a(X), b(Y)].",
        "e(X, Y) <- NOT(c(_)).[a(X), b(Y)].",
        "e(X, Y) <- (NOT(c(X)).[a(X), b(Y)]) SEQ d(X).",
        "e <- NOT(c).[a, b].",
        "e(X) <- NOT(c(X)).[a(X), 7 s].",
    ],
)
def test_letters_that_are_meant_to_join(rules: str) -> None:
    assert _traps(rules) == []


def test_a_joining_letter_changes_the_answer() -> None:
    events: Records = [
        {"type": "a", "time": 1, "args": [1]},
        {"type": "c", "time": 2, "args": [9]},
        {"type": "b", "time": 3, "args": [2]},
    ]
    found = [
        len(cepheus.compile(f"e(X) <- NOT(c({letter})).[a(X), b(Y)].").detect(events, engine="interval-reference"))
        for letter in "YZ_"
    ]
    assert found == [1, 0, 0]


DECLARED = "event a(x: int). event b(note: int?). event c().\n"


def test_values_that_may_lack() -> None:
    assert [code for code, _, _ in _traps(f"{DECLARED}e <- NOT(b(Y)).[a(_), c()].")] == ["unseen-in-not"]
    assert _traps(f"{DECLARED}e <- NOT(b(_)).[a(_), c()].") == []
    assert _traps(f"{DECLARED}e(Y) <- NOT(b(Y)).[a(Y), c()].") == []
    assert _traps("event a(x: int). event b(note: int). event c().\ne <- NOT(b(Y)).[a(_), c()].") == []


def test_a_letter_for_a_missing_value_changes_the_answer() -> None:
    events: Records = [{"type": "a", "time": 1, "x": 1}, {"type": "b", "time": 2}, {"type": "c", "time": 3}]
    found = [
        len(
            cepheus.compile(f"{DECLARED}e <- NOT(b({letter})).[a(_), c()].").detect(events, engine="interval-reference")
        )
        for letter in "Y_"
    ]
    assert found == [1, 0]


LASTING = "r(X, Y) <- a(X) SEQ b(Y).\n"


def test_delimiters_that_are_ruled_out_together() -> None:
    assert _traps(f"{LASTING}e(X) <- NOT(c).[r(X, _), d].") == [("ruled-out-together", "_", len(LASTING) + 21)]
    assert _traps(f"{LASTING}e <- NOT(c).[d, r(_, Y)].") == [("ruled-out-together", "_", len(LASTING) + 18)]
    assert _traps(f"{LASTING}e(X) <- NOT(c).[r(X, Y), d].") == []
    assert _traps(f"{LASTING}e(X) <- NOT(c).[r(X, _), d] POLICY recent.") == []
    assert _traps("e(X) <- NOT(c).[r(X, _), d].") == []  # events from outside are instants


def test_an_open_delimiter_changes_the_answer() -> None:
    events: Records = [
        {"type": "a", "time": 1, "args": [1]},
        {"type": "b", "time": 3, "args": [1]},
        {"type": "c", "time": 4},
        {"type": "b", "time": 5, "args": [2]},
        {"type": "d", "time": 9},
    ]
    found = []
    for letter in "Y_":
        program = cepheus.compile(f"{LASTING}e(X) <- NOT(c).[r(X, {letter}), d].")
        composites = program.detect(events, engine="interval-reference").to_events()
        found.append(sum(each.type == "e" for each in composites))
    assert found == [1, 0]


def test_what_a_warning_says() -> None:
    (warning,) = (w for w in cepheus.compile("e(X) <- NOT(c(Y)).[a(X), b(Y)].").warnings if w.code in CODES)
    assert warning.message == "this NOT looks only for a 'c' with the Y of its 'b': Y stands in both"
    assert warning.hint == "if the value does not matter, write _ in place of Y, or a letter that stands nowhere else"
