from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Error

from cepheus.editor.colours import Colour, colour_etalis, colour_tesla
from cepheus.editor.textmate import files
from cepheus.editor.words import etalis_words, tesla_words
from cepheus.language.etalis.scan import RELATIONS
from cepheus.language.tesla.parse import grammar

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted([*ROOT.glob("examples/**/*.tesla"), *ROOT.glob("examples/**/*.etalis")])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_coloured_without_a_gap(path: Path) -> None:
    text = path.read_text()
    lexer = get_lexer_for_filename(path.name, stripnl=False, ensurenl=False)
    tokens = list(lexer.get_tokens(text))
    assert "".join(piece for _, piece in tokens) == text
    assert not [piece for kind, piece in tokens if kind is Error]


@given(st.text(alphabet=st.sampled_from("aZ_ $`'\"().,;:<>=-/*%#\n0123456789\u201c\u2264é"), max_size=60))
def test_no_text_is_lost(text: str) -> None:
    for name in ("tesla", "etalis"):
        lexer = get_lexer_by_name(name, stripnl=False, ensurenl=False)
        assert "".join(piece for _, piece in lexer.get_tokens(text)) == text.replace("\r\n", "\n").replace("\r", "\n")


def _coloured(text: str) -> dict[str, Colour]:
    return {text[piece.start : piece.end]: piece.colour for piece in colour_tesla(text)}


def test_a_word_is_coloured_as_it_is_understood() -> None:
    found = _coloured(
        "define Top(n: int) from Trip(top > 1) and 3 top Trip() as T by n within 5 min from Trip where n = max(1, 2)"
    )
    assert found["Trip"] is found["T"] is Colour.EVENT
    assert found["int"] is Colour.TYPE
    assert found["max"] is Colour.FUNCTION
    assert found["n"] is Colour.NAME
    pieces = [piece for piece in colour_tesla("A(top > 1) and 3 top B() by n") if piece.end - piece.start == 3]
    assert [piece.colour for piece in pieces] == [Colour.NAME, Colour.KEYWORD, Colour.KEYWORD]


def test_variables_and_events_of_etalis() -> None:
    text = "pair(X) <- a(X) SEQ b(X) WHERE abs(X) > 3."
    found = {text[piece.start : piece.end]: piece.colour for piece in colour_etalis(text)}
    assert found["X"] is Colour.VARIABLE
    assert found["pair"] is found["a"] is Colour.EVENT
    assert found["abs"] is Colour.FUNCTION
    assert found["SEQ"] is Colour.OPERATOR
    assert found["WHERE"] is Colour.KEYWORD


def test_every_keyword_has_a_meaning() -> None:
    assert set(grammar().scanner.keywords) <= set(tesla_words())
    assert set(RELATIONS) <= set(etalis_words())
    assert all(word.meaning and word.form for word in (*tesla_words().values(), *etalis_words().values()))


@pytest.mark.parametrize("name", files())
def test_the_extension_has_the_grammars_of_today(name: str) -> None:
    kept = (ROOT / "editors/vscode/syntaxes" / name).read_text()
    assert kept == files()[name], "run: python -m cepheus.editor.textmate editors/vscode/syntaxes"


def test_the_extension_names_files_that_exist() -> None:
    folder = ROOT / "editors/vscode"
    package = json.loads((folder / "package.json").read_text())
    contributes = package["contributes"]
    named = [package["main"], *(each["configuration"] for each in contributes["languages"])]
    named += [each["path"] for each in contributes["grammars"]]
    assert all((folder / name).is_file() for name in named)
