"""Rules that come and go through a session: every engine gives what the reference gives."""

from __future__ import annotations

import pytest
from agreement import normal
from random_cases import Case, make_case

from cepheus import Event, Session, UnsupportedError
from cepheus.core.errors import EventError, LimitError, OptionError, RuleError
from cepheus.core.options import RunOptions
from cepheus.rules.check import check
from cepheus.rules.model import RuleSet
from cepheus.runtime.embedded.catalog import Catalog

CASES = 40
LIMIT = 2000


def run(case: Case, engine: str, threads: int = 1) -> list[Event]:
    """Run a case: rules are deployed, and one of them withdrawn, where the case says."""
    rules = case.checked.rules
    session = Session(
        Catalog.of(check(RuleSet(rules.declarations), closed=False)),
        RunOptions(engine=engine, limit=LIMIT, threads=threads),
    )
    found: list[Event] = []
    for number, event in enumerate([*case.events, None]):
        for rule, place in zip(rules.rules, case.deployed_at, strict=True):
            if place == number:
                session.deploy(RuleSet((), (rule,)))
        if case.withdrawn_at == number:
            session.withdraw(str(rules.rules[0].name))
        if event is not None:
            found += session.feed(event)
    return found


@pytest.mark.parametrize(("engine", "threads"), [("columns", 1), ("columns", 2), ("automata", 1)])
@pytest.mark.parametrize("undeclared", [False, True])
def test_rules_that_come_and_go(engine: str, threads: int, undeclared: bool) -> None:
    agreed = 0
    for seed in range(61_000_000, 61_000_000 + CASES):
        try:
            case = make_case(seed, while_running=True, undeclared=undeclared)
            expected = run(case, "reference")
        except (RuleError, LimitError):  # a rule that needs one that is not deployed yet, or too many composite events
            continue
        except EventError:  # a composite event that was fed lacks what its rule says it has
            with pytest.raises((EventError, UnsupportedError, OptionError)):
                run(case, engine, threads)
            continue
        try:
            found = run(case, engine, threads)
        except UnsupportedError:
            continue
        except OptionError:
            assert threads > 1, "only threads keep rules apart"
            continue
        assert normal(found) == normal(expected), f"seed {seed}: {case.text}"
        agreed += 1
    assert agreed > CASES // 3
