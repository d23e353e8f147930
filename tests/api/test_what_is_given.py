"""What is given in place of rules, handlers and histories is refused in words, and where it stands if that is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import cepheus
from cepheus.core.errors import CepheusError, EventError, OptionError, RuleError
from cepheus.core.event import Event as EventRecord
from cepheus.typed import Composite, Event, on, rule, rule_set, to_tesla

RULES = "define Alarm() from Smoke()"
HISTORY = [EventRecord("Smoke", time) for time in range(1, 50)]


class Smoke(Event):
    area: str


class Alarm(Composite):
    area: str


@rule
def alarm(smoke: Smoke) -> Alarm:
    return Alarm(area=smoke.area)


def undecorated(smoke: Smoke) -> Alarm:
    return Alarm(area=smoke.area)


ANYTHING: Any = undecorated


@pytest.mark.parametrize(
    "given", [None, 5, print, object(), Alarm, {}, {"a": "b"}, [None], [5], [alarm, 5], [rule_set(alarm)]]
)
def test_what_is_no_rule(given: Any) -> None:
    with pytest.raises(OptionError, match="is no rule, and names no file of rules") as error:
        cepheus.compile(given)
    assert "functions below @rule" in str(error.value)
    with pytest.raises(OptionError, match="is no rule"):
        cepheus.review(given, HISTORY)


@pytest.mark.parametrize("given", [RULES.encode(), bytearray(b"x"), [b"rules.tesla"]])
def test_bytes_are_no_rules(given: Any) -> None:
    with pytest.raises(OptionError, match=r"bytes are given\n  hint: decode them"):
        cepheus.compile(given)


@pytest.mark.parametrize("take", [cepheus.compile, rule_set, to_tesla])
def test_a_function_without_rule_above_it_is_shown(take: Any) -> None:
    with pytest.raises(RuleError, match="the function 'undecorated' is no rule") as error:
        take(ANYTHING)
    (finding,) = error.value.diagnostics
    assert finding.span is not None
    assert finding.span.text == "undecorated"
    assert finding.hint == "write @rule above it"


def test_rules_may_come_one_by_one(tmp_path: Path) -> None:
    file = tmp_path / "rules.tesla"
    file.write_text("rule other define Other() from Smoke()", encoding="utf-8")
    given: Any = (each for each in (alarm, file))
    assert {each.name for each in cepheus.compile(given).rules.rules} == {"alarm", "other"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([print], "'print' is no handler"),
        ([on(Smoke)(print), undecorated], "'undecorated' is no handler"),
        ([5], "'int' is no handler"),
        (5, "given as a list"),
        (on(Smoke)(print), "given as a list"),
    ],
)
def test_what_is_no_handler(given: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        cepheus.compile(alarm).start(handlers=given)


def test_a_session_takes_handlers_alone() -> None:
    with cepheus.compile(alarm).start() as session, pytest.raises(OptionError, match="write @on"):
        session.handle(ANYTHING)


@pytest.mark.parametrize("given", [5, print, {"Smoke": 5}])
def test_what_is_no_history(given: Any) -> None:
    with pytest.raises(CepheusError, match=r"is no (list of occurrences|file of events)"):
        cepheus.learn(HISTORY, "Fire", occurrences=given)
    with pytest.raises(CepheusError, match=r"is no (history|file of events)"):
        cepheus.learn(given, "Fire")


def test_what_is_in_a_history_or_among_occurrences() -> None:
    unfit: Any = [5]
    with pytest.raises(EventError, match="the list of occurrences is not made of events"):
        cepheus.learn(HISTORY, "Fire", occurrences=unfit)
    with pytest.raises(EventError, match="the history is not made of events"):
        cepheus.learn(unfit, "Fire")
