from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="notebooks cannot be run without nbformat")
nbclient = pytest.importorskip("nbclient", reason="notebooks cannot be run without nbclient")

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("**/*.ipynb"))


def _run(notebook: Any, folder: Path) -> list[Any]:
    nbclient.NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(folder)}}).execute()
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_example_runs_from_top_to_bottom(path: Path) -> None:
    outputs = _run(nbformat.read(path, as_version=4), path.parent)
    shown = [output.data for cell in outputs for output in cell if output.output_type == "execute_result"]
    html = "".join(each.get("text/html", "") for each in shown)
    assert "1 composite event<" in html
    assert "51.5" in html
    assert any("image/png" in each for each in shown)
    assert "22.0" in shown[-1]["text/html"]  # what the query over rows found


def test_a_mistake_in_a_cell_is_shown_as_the_language_has_it(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook()
    for text in ("%load_ext cepheus", "%%tesla\ndefine Fire() from", "%%tesla rules over nothing\ndefine A() from B()"):
        notebook.cells.append(nbformat.v4.new_code_cell(text))
    _, mistake, missing = _run(notebook, tmp_path)
    assert "error[syntax]" in mistake[0].data["text/html"]
    assert "there is no variable &#x27;nothing&#x27;" in missing[0].data["text/html"]


def test_queries_over_rows_are_cells_too(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook()
    query = """MATCH_RECOGNIZE (ORDER BY day MEASURES LAST(DOWN.price) AS low
      PATTERN (STRT DOWN+) DEFINE DOWN AS price < PREV(price))"""
    rule = f"SELECT * FROM Stock {query.replace('day', 'time')} AS Fall"
    for text in (
        "%load_ext cepheus",
        "import pandas as pd\nprices = pd.DataFrame({'day': [1, 2, 3], 'price': [9, 7, 8]})\n"
        "events = [{'type': 'Stock', 'time': n, 'price': p} for n, p in enumerate([9, 7, 8])]",
        f"%%sql match_recognize falls in prices\n{query}",
        "falls.low.tolist()",
        f"%%match_recognize over events time_unit=s\n{rule}",
        f"%%sql match_recognize in prices\n{query.replace('PATTERN', 'PATERN')}",
        "%%sql\nSELECT 1",
    ):
        notebook.cells.append(nbformat.v4.new_code_cell(text))
    *_, table, lows, found, mistake, other = _run(notebook, tmp_path)
    assert "<table" in table[0].data["text/html"]
    assert lows[0].data["text/plain"] == "[7]"
    assert "1 composite event<" in found[0].data["text/html"]
    assert "error[syntax]" in mistake[0].data["text/html"]
    assert "write %%sql match_recognize" in other[0].data["text/html"]
