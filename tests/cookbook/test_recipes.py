"""Every recipe of the cookbook gives what its page shows, on the reference and on the engine that would be chosen."""

from typing import Any

import pytest
from recipe_files import Recipe, lines_of, load_recipes

import cepheus
from cepheus.language import etalis, tesla


@pytest.mark.parametrize("engine", ["reference", "auto"])
@pytest.mark.parametrize("recipe", load_recipes(), ids=str)
def test_a_recipe_gives_what_its_page_shows(recipe: Recipe, engine: str) -> None:
    expected = sorted(line for line in recipe.expected.splitlines() if line)
    if recipe.language == "sql":
        assert lines_of(cepheus.match_recognize(recipe.rules, recipe.records, engine=engine).to_pylist()) == expected
        return
    language = etalis if recipe.language == "etalis" else tesla
    options: dict[str, Any] = {} if recipe.until is None else {"until": recipe.until}
    program = cepheus.compile(language.parse(recipe.rules, recipe.title))
    made = program.detect(recipe.records, time_unit="s", engine=engine, **options).to_dicts()
    assert lines_of(made) == expected
