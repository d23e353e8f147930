"""The generated rules of the agreement suites have all that rules can be written with, and find something."""

from __future__ import annotations

from agreement import run
from random_cases import make_case
from random_rules import LIVELY

from cepheus.core.errors import LimitError, RuleError
from cepheus.plan.pattern.constructs import Construct, things_of
from cepheus.plan.support import words_of
from cepheus.rules.aggregates import AGGREGATES
from cepheus.rules.policies import Policy
from cepheus.rules.timers import After, Every

ELSEWHERE = {
    Construct.WINDOWS,  # they are in every rule that chooses
    Construct.PARAMETERS,
    Construct.HIERARCHIES,
    Construct.OTHER_GROUPS,
    Construct.RENAMED,
    Construct.INTERVAL_RULES,
    Construct.PROBABILITIES,
    Construct.ERRORS,
    Construct.BELIEFS,
    Construct.TEXT_FUNCTIONS,
    Construct.FUNCTIONS_OF_TWO_TEXTS,
    Construct.ORDER_OF_TWO_TEXTS,
    Construct.EXTREMES_OF_TEXTS,
    Construct.LONG_PATTERNS,
    Construct.DEEP_EXPRESSIONS,
    Construct.UNTOLD_TYPES,
    Construct.OTHER_TYPE,
    Construct.OTHER_TOTALS,
    Construct.UNCERTAIN_FORMS,
    Construct.ROW_QUERIES,
    Construct.LOCAL_FUNCTIONS,
}
"""Constructs that the text does not tell, or that other suites have."""


def test_every_construct_is_written_and_finds_something() -> None:
    firing: set[str] = set()
    for seed in range(400):
        try:
            case = make_case(seed, share=0, timed=True, ordered=seed % 4 == 1, full=seed % 5 == 2, habits=LIVELY)
            made = {event.rule for event in run(case, "reference", "single")[0]}
        except (RuleError, LimitError):
            continue
        for rule in case.checked.rules.rules:
            if rule.name in made:
                alone = type(case.checked.rules)((), (rule,))
                firing |= {words_of(thing) for thing, _ in things_of(alone)}
                timer = rule.pattern.timer
                firing |= {f"{type(timer).__name__} {rule.ordered}"} if timer is not None else set()
    wanted = {words_of(thing) for thing in (*Policy, *AGGREGATES.values(), *Construct) if thing not in ELSEWHERE}
    wanted |= {f"{timer.__name__} {ordered}" for timer in (After, Every) for ordered in (False, True)}
    assert wanted <= firing, wanted - firing
