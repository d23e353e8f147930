"""Questions of users: all rules are right, and those with stated outcomes give them on every engine that can."""

from typing import Any

import pytest
from question_files import AWKWARD, NATURAL, Question, load_questions

import cepheus
from cepheus.language import etalis, sql, tesla

QUESTIONS = load_questions()
WITH_OUTCOME = [question for question in QUESTIONS if question.expected is not None]


def program_of(question: Question) -> cepheus.Program:
    language = etalis if question.language == "etalis" else tesla
    return cepheus.compile(language.parse(question.rules, question.id))


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_the_rules_of_a_question_are_right(question: Question) -> None:
    if question.language == "sql":
        assert sql.parse_query(question.rules)
    else:
        assert program_of(question).rules.all_rules


@pytest.mark.parametrize("engine", ["reference", "auto"])
@pytest.mark.parametrize("question", WITH_OUTCOME, ids=str)
def test_a_question_has_the_outcome_that_its_source_states(question: Question, engine: str) -> None:
    if question.language == "sql":
        table = cepheus.match_recognize(question.rules, question.events, engine=engine)
        made = [row | {"type": "match"} for row in table.to_pylist()]
    else:
        options: dict[str, Any] = {"time_unit": question.unit, "engine": engine}
        if question.until is not None:
            options["until"] = question.until
        made = program_of(question).detect(question.events, **options).to_dicts()
    assert sorted(map(repr, question.rows(made))) == sorted(map(repr, question.expected or []))


@pytest.mark.parametrize("question", [each for each in WITH_OUTCOME if each.language == "sql"], ids=str)
@pytest.mark.parametrize("cut", [1, 1000])
def test_queries_have_their_outcome_as_rules_of_a_session_too(question: Question, cut: int) -> None:
    found: list[dict[str, Any]] = []
    program = cepheus.compile(question.rules)
    options: dict[str, Any] = {"time_unit": question.unit}
    with program.start(**options) as session:
        for start in range(0, len(question.events), cut):
            found += session.feed(question.events[start : start + cut]).to_dicts()
        found += session.close().to_dicts()
    (columns,) = question.columns.values()
    rows = [[match.get(name) for name in columns] for match in found]
    assert sorted(map(repr, rows)) == sorted(map(repr, question.expected or []))


def test_most_questions_are_natural() -> None:
    natural = [question for question in QUESTIONS if question.verdict == NATURAL]
    assert len(QUESTIONS) == 52
    assert len(WITH_OUTCOME) == 25
    assert {question.verdict for question in QUESTIONS} == {NATURAL, AWKWARD}
    assert sum(question.language != "sql" for question in natural) == 42
    assert len(natural) == 50
