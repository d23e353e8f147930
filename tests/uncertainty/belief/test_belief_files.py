"""Networks in BIF and XDSL files, there and back."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheus.core.errors import CepheusError, OptionError
from cepheus.language.tesla import parse
from cepheus.uncertainty.belief.belief import RuleBelief
from cepheus.uncertainty.belief.interchange import FORMATS, read_belief_file, write_belief_file
from cepheus.uncertainty.belief.tables import tabulate
from strategies.beliefs import beliefs, rules

FIRE = parse("rule R define Fire() from Smoke() and last Temp(value > 45) within 5 min from Smoke").rules[0]

# An excerpt of the kind that GeNIe writes: the last parent changes fastest.
GENIE = """<?xml version="1.0" encoding="UTF-8"?>
<smile version="1.0" id="Network1" numsamples="10000" discsamples="10000">
  <nodes>
    <cpt id="Fire"><state id="YES" /><state id="NO" /><probabilities>0.2 0.8</probabilities></cpt>
    <cpt id="Jam">
      <state id="HIGH" /><state id="MEDIUM" /><state id="LOW" />
      <probabilities>0.1 0.3 0.6</probabilities>
    </cpt>
    <cpt id="Temp">
      <state id="YES" /><state id="NO" />
      <parents>Fire Jam</parents>
      <probabilities>1 0 1 0 1 0 0.3 0.7 0.2 0.8 0.1 0.9</probabilities>
    </cpt>
  </nodes>
</smile>
"""


@settings(max_examples=40)
@given(st.data(), st.sampled_from(FORMATS))
def test_files_keep_networks(data: st.DataObject, ending: str) -> None:
    rule = data.draw(rules())
    belief = RuleBelief.of(rule, data.draw(beliefs(rule)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"network{ending}"
        write_belief_file(belief, path)
        same = read_belief_file(belief, path)
        fresh = read_belief_file(RuleBelief.of(rule), path)
    assert dict(same.nodes) == dict(belief.nodes)  # seasons and distributions included
    off = 1e-12 if ending == ".xdsl" else 1e-6
    for name, node in belief.nodes.items():
        found = tabulate(fresh.nodes[name], fresh.nodes[name].rows, belief.states)
        assert found == pytest.approx(tabulate(node, node.rows, belief.states), abs=off)


@pytest.mark.parametrize("ending", FORMATS)
def test_what_changed_in_the_file_changes_here(ending: str, tmp_path: Path) -> None:
    belief = RuleBelief.of(FIRE).set("Jam", {"HIGH": 0.125, "LOW": 0.875})
    path = tmp_path / f"fire{ending}"
    write_belief_file(belief, path)
    path.write_text(path.read_text().replace("0.125", "0.375").replace("0.875", "0.625"))
    assert read_belief_file(belief, path).nodes["Jam"].rows[0].value == (("HIGH", 0.375), ("LOW", 0.625))


def test_a_file_of_genie(tmp_path: Path) -> None:
    path = tmp_path / "fire.xdsl"
    path.write_text(GENIE)
    belief = read_belief_file(RuleBelief.of(FIRE), path)
    medium = belief.posterior("Temp", observed={"Fire": "NO", "Jam": "MEDIUM"})
    assert medium["YES"] == pytest.approx(0.2)
    assert belief.nodes["Smoke"].parents == ("Fire",)  # the file says nothing of it
    assert belief.probability() == 1.0


def test_numbers_of_few_digits_are_taken_as_written(tmp_path: Path) -> None:
    path = tmp_path / "fire.bif"
    path.write_text(
        "network Fire {\n}\nvariable Fire {\n  type discrete [ 2 ] { YES, NO };\n}\n"
        "variable Jam {\n  type discrete [ 3 ] { HIGH, MEDIUM, LOW };\n}\n"
        "probability ( Fire ) {\n  table 0.1, 0.9;\n}\n"
        "probability ( Jam ) {\n  table 0.333333, 0.333333, 0.333333;\n}\n"
    )
    belief = read_belief_file(RuleBelief.of(FIRE), path)
    assert belief.nodes["Fire"].rows[0].value == (("YES", 0.1), ("NO", 0.9))
    assert sum(dict(belief.nodes["Jam"].rows[0].value).values()) == pytest.approx(1.0, abs=1e-15)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.txt", "", "not the name of a network file"),
        ("a.bif", "network {", "pyAgrum cannot read it"),
        ("a.xdsl", "<smile>", "not XML"),
        ("a.xdsl", "<other/>", "not XDSL"),
        ("a.xdsl", "<smile><nodes><noisymax id='Fire'/></nodes></smile>", "has no table"),
        ("a.xdsl", GENIE.replace("<parents>Fire Jam", "<parents>Fire Jan"), "is not in the file"),
        ("a.xdsl", GENIE.replace("0.2 0.8</prob", "0.2</prob"), "2 numbers"),
        ("a.xdsl", GENIE.replace("0.2 0.8</prob", "a b</prob"), "2 numbers"),
        ("a.xdsl", GENIE.replace('"HIGH"', '"very high"'), "cannot be a name"),
        ("a.xdsl", GENIE.replace("Fire", "F").replace("Temp", "T"), "no node of the file is an event"),
        ("a.xdsl", GENIE.replace("0.2 0.8</prob", "0.2 0.7</prob"), "sum to 0.9"),
        ("a.xdsl", GENIE.replace('"YES"', '"ON"'), "has no state 'ON'"),
    ],
)
def test_files_that_are_wrong_say_so(name: str, text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(CepheusError, match=words):
        read_belief_file(RuleBelief.of(FIRE), path)


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="there is no file"):
        read_belief_file(RuleBelief.of(FIRE), tmp_path / "none.bif")
    with pytest.raises(OptionError, match="cannot be written"):
        write_belief_file(RuleBelief.of(FIRE), tmp_path / "no" / "folder.bif")
