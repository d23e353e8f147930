"""``ties ordered`` in the Python API: the option, sessions, snapshots."""

from __future__ import annotations

import pytest

import cepheus
from cepheus.core.errors import OptionError, RuleError

LOGINS = "define Attack() from Login() and Count(Login() within 1 min from Login) >= 11"
EVENTS = [{"type": "Login", "time": 7} for _ in range(12)]


def test_the_option_goes_before_what_the_rules_say() -> None:
    assert len(cepheus.compile(LOGINS).detect(EVENTS)) == 0
    assert len(cepheus.compile(LOGINS).detect(EVENTS, ties="ordered")) == 1
    assert len(cepheus.compile("ties ordered;" + LOGINS).detect(EVENTS)) == 1
    assert len(cepheus.compile("ties ordered;" + LOGINS).detect(EVENTS, ties="apart")) == 0


def test_what_ties_cannot_be_is_refused() -> None:
    with pytest.raises(OptionError, match="'order' is not a choice for ties"):
        cepheus.compile(LOGINS).detect(EVENTS, ties="order")  # type: ignore[arg-type]
    with pytest.raises(RuleError, match="'order' is nothing that ties can be"):
        cepheus.compile("ties order;" + LOGINS)
    with pytest.raises(RuleError, match="ties are spoken of before"):
        cepheus.compile("ties ordered; ties ordered;" + LOGINS)


def test_a_session_goes_on_with_the_ties_of_its_snapshot_and_refuses_others() -> None:
    program = cepheus.compile(LOGINS)
    session = program.start(ties="ordered")
    session.feed(EVENTS[:6])
    saved = session.snapshot()
    restored = program.start(ties="ordered", snapshot=saved)
    assert len(restored.feed(EVENTS[6:])) == 1
    with pytest.raises(OptionError, match="the snapshot was taken with ties ordered, the session has ties apart"):
        program.start(snapshot=saved)


def test_rules_deployed_later_have_the_ties_of_the_session() -> None:
    session = cepheus.compile(LOGINS).start(ties="ordered")
    session.deploy("rule Two define Two() from Login() and 2 last Login() as Other within 1 min from Login")
    assert {event.type for event in session.feed(EVENTS[:3]).to_events()} == {"Two"}
    other = cepheus.compile(LOGINS).start()
    with pytest.raises(RuleError, match="rule 'Two' has ties ordered, rule 'Attack' has not"):
        other.deploy("ties ordered; rule Two define Two() from Login()")


def test_rules_over_intervals_are_refused_beside_it() -> None:
    with pytest.raises(OptionError, match="to rules over intervals simultaneous events have no order"):
        cepheus.compile("both(X) <- a(X) SEQ b(X).").detect([], ties="ordered")
