"""The cookbook, made from the tested files of recipes and questions."""

from __future__ import annotations

import sys

from blocks import ROOT

sys.path += [str(ROOT / "tests" / "cookbook"), str(ROOT / "tests" / "questions")]

from question_files import Question, load_questions
from recipe_files import Recipe, load_recipes

PAGE = ROOT / "docs" / "cookbook.md"

_INTRODUCTION = """# Cookbook

Questions and their rules. Each recipe is run by the tests, with the events that are shown; times are in seconds. What
a rule means in all corners is told in [What a rule means](semantics.md), every word of the language in the
[reference](tesla.md). Rules of other systems can be [imported](importing.md).
"""

_QUESTIONS = """## What users of other systems asked

Questions from the tests, documents and rules of other systems, in our words, and how they are asked here. *Natural* is
one rule, or rules that mirror the question, without injected events, copies or encodings. What asks for repetition, or
for rows right behind one another, is asked in MATCH_RECOGNIZE. Where a source states events and outcomes, the rules
give the same.

| | question | asked in | verdict | outcome stated |
| --- | --- | --- | --- | --- |
"""


_LANGUAGES = {"tesla": "TESLA", "etalis": "ETALIS", "sql": "MATCH_RECOGNIZE"}


def cookbook_page() -> str:
    """Write the page."""
    recipes = "\n".join(map(_recipe, load_recipes()))
    rows = "\n".join(map(_row, load_questions()))
    return f"{_INTRODUCTION}\n{recipes}\n{_QUESTIONS}{rows}\n"


def _recipe(recipe: Recipe) -> str:
    until = "" if recipe.until is None else f", with `until='{recipe.until}'`"
    return (
        f"## {recipe.title}\n\n*{recipe.question}*\n\n```{recipe.language}\n{recipe.rules.strip()}\n```\n\n"
        f"{recipe.text.strip()}\n\nOf these events{until}\n\n```text\n{recipe.events.strip()}\n```\n\n"
        f"comes:\n\n```text\n{recipe.expected.strip()}\n```\n"
    )


def _row(question: Question) -> str:
    told = f"{question.verdict}: {question.why}" if question.why else question.verdict
    stated = "equal" if question.expected is not None else ""
    return f"| {question.id} | {question.question} | {_LANGUAGES[question.language]} | {told} | {stated} |"
