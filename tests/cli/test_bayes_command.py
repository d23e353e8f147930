"""``cepheus bayes``: networks shown, edited in their files, evaluated, exchanged."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command import FIRE, Command, command

NETWORK = """
# what else may be behind it
network Fire {
  node Jam {HIGH: .2, LOW: .8}  -- lorries
    from '07:00' to '09:00' {HIGH: .6, LOW: .4}
  node Temp given Fire, Jam { YES, *: {YES: 1, NO: 0}  NO, HIGH: {YES: .5, NO: .5}  NO, LOW: {YES: .1, NO: .9} }
  node Smoke given Fire { YES: {YES: 1, NO: 0}  NO: {YES: .1, NO: .9} }
}
"""
WORTH = 1 / (1 + 0.1 * (0.2 * 0.5 + 0.8 * 0.1))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    found = command(monkeypatch, capsys, tmp_path)
    Path("fire.tesla").write_text(FIRE + NETWORK)
    return found


def test_eval_prints_what_the_rule_is_worth(run: Command) -> None:
    done = run("bayes", "eval", "fire.tesla")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"Fire: Fire has probability {WORTH:.6g} when all its parts are observed\n"
    rush = run("bayes", "eval", "fire.tesla", "--at", "2026-11-16T08:00:00Z", "--json")
    assert json.loads(rush.out) == {"Fire": {"Fire": pytest.approx(1 / (1 + 0.1 * (0.6 * 0.5 + 0.4 * 0.1)))}}


def test_eval_answers_other_questions(run: Command) -> None:
    assert run("bayes", "eval", "fire.tesla", "--ask", "Jam", "--observe", "NONE").out == "Jam: HIGH 0.2, LOW 0.8\n"
    found = run("bayes", "eval", "fire.tesla", "--observe", "Temp=YES", "--observe", "Jam = HIGH", "--json")
    assert json.loads(found.out)["Fire"]["YES"] == pytest.approx(1 / 1.5)
    for options, words in (
        (("--observe", "Temp"), "does not say what is observed"),
        (("--observe", "Temp=MAYBE"), "has no state 'MAYBE'"),
        (("--ask", "Jan"), "did you mean 'Jam'?"),
        (("--at", "noon"), "is not a time"),
        (("--rule", "Fier"), "did you mean 'Fire'?"),
    ):
        done = run("bayes", "eval", "fire.tesla", *options)
        assert done.code == 1
        assert words in done.err


def test_show_prints_the_nodes_and_draws_and_exports_them(run: Command) -> None:
    done = run("bayes", "show", "fire.tesla", "--svg", "fire.svg", "--export", "fire.xdsl")
    assert done.code == 0
    for words in (
        "the composite event",
        "as the rule has it",
        "a part, observed: YES",
        "in a match: HIGH",
        "from '07:00'",
    ):
        assert words in done.out
    assert done.err == "drawn to fire.svg\nwritten to fire.xdsl\n"
    texts = [element.text for element in ElementTree.parse("fire.svg").iter("{http://www.w3.org/2000/svg}text")]
    assert {"Network of the rule Fire", "Jam", "0.9", "from 07:00 to 09:00", "observed: YES"} <= set(texts)
    assert ElementTree.parse("fire.xdsl").getroot().tag == "smile"


def test_set_changes_only_the_network_in_the_file(run: Command) -> None:
    done = run("bayes", "set", "fire.tesla", "--write", "node Jam {HIGH: .5, LOW: .5}")
    assert done.code == 0
    assert done.err == "changed fire.tesla\n"
    assert done.out.startswith("Fire: Fire has probability 0.970874")
    text = Path("fire.tesla").read_text()
    assert text.startswith(FIRE)
    assert "# what else may be behind it\nnetwork Fire {\n  -- lorries\n  node Jam {HIGH: 0.5, LOW: 0.5}\n" in text
    assert run("bayes", "eval", "fire.tesla").out == done.out
    for node in ("Temp", "Smoke", "Jam"):
        run("bayes", "set", "fire.tesla", "--remove", node)
    assert "network" not in Path("fire.tesla").read_text()


COMMENTED = """
network Fire {  # of the tunnel
  # the road
  node Jam {HIGH: .2, LOW: .8}  -- lorries
  -- the sensors
  node Temp given Fire, Jam {
    YES, *: {YES: 1, NO: 0}
    NO, HIGH: {YES: .5, NO: .5}  -- measured
    NO, LOW: {YES: .1, NO: .9}
  }
  node Smoke given Fire { YES: {YES: 1, NO: 0}  NO: {YES: .1, NO: .9} }  # guessed
  observe Jam = LOW  # at night
  # that is all
}
# the end
"""


def test_set_leaves_comments_where_they_are(run: Command) -> None:
    def edited(*options: str) -> str:
        Path("fire.tesla").write_text(FIRE + COMMENTED)
        done = run("bayes", "set", "fire.tesla", *options)
        assert (done.code, done.err) == (0, "changed fire.tesla\n")
        assert run("bayes", "eval", "fire.tesla").out == done.out
        return Path("fire.tesla").read_text().removeprefix(FIRE)

    assert edited("--write", "node Jam {HIGH: .5, LOW: .5}") == COMMENTED.replace(
        "node Jam {HIGH: .2, LOW: .8}", "node Jam {HIGH: 0.5, LOW: 0.5}"
    )
    assert edited("--write", "observe Jam = HIGH") == COMMENTED.replace("Jam = LOW", "Jam = HIGH")
    assert edited("--remove", "Smoke") == COMMENTED.replace(
        "node Smoke given Fire { YES: {YES: 1, NO: 0}  NO: {YES: .1, NO: .9} }  # guessed", "# guessed"
    )
    assert edited("--write", "node Rain {YES: .5, NO: .5}") == COMMENTED.replace(
        "  # that is all\n", "  # that is all\n  node Rain {YES: 0.5, NO: 0.5}\n"
    )
    changed = edited("--write", "node Temp given Fire, Jam { *, *: {YES: .5, NO: .5} }")
    assert "  -- the sensors\n  -- measured\n  node Temp given Fire, Jam {\n    *, *: {" in changed
    Path("fire.tesla").write_text(FIRE + "network Fire { node Jam {HIGH: .2, LOW: .8} } # end\n")
    run("bayes", "set", "fire.tesla", "--write", "node Rain {YES: .5, NO: .5}")
    assert Path("fire.tesla").read_text() == (
        FIRE + "network Fire { node Jam {HIGH: .2, LOW: .8}\n  node Rain {YES: 0.5, NO: 0.5}\n} # end\n"
    )
    run("bayes", "set", "fire.tesla", "--remove", "Jam")
    assert Path("fire.tesla").read_text() == FIRE + "network Fire { \n  node Rain {YES: 0.5, NO: 0.5}\n} # end\n"


def test_set_says_when_nothing_changes(run: Command) -> None:
    before = Path("fire.tesla").read_text()
    for options in ((), ("--write", "node Smoke given Fire { YES: {YES: 1, NO: 0}  NO: {YES: 0.1, NO: 0.9} }")):
        done = run("bayes", "set", "fire.tesla", *options)
        assert (done.code, done.err) == (0, "nothing to change in fire.tesla\n")
        assert done.out.startswith("Fire: Fire has probability")
        assert Path("fire.tesla").read_text() == before


def test_reverse_does_not_lose_a_written_table(run: Command) -> None:
    before = Path("fire.tesla").read_text()
    done = run("bayes", "set", "fire.tesla", "--reverse", "Smoke")
    assert done.code == 1
    assert "the table that was written for 'Smoke' would be lost" in done.err
    assert "remove 'Smoke' first" in done.err
    assert Path("fire.tesla").read_text() == before
    assert run("bayes", "set", "fire.tesla", "--remove", "Smoke", "--reverse", "Smoke").code == 0
    assert run("bayes", "set", "fire.tesla", "--write", "node Smoke {YES: .3, NO: .7}").code == 0
    done = run("bayes", "set", "fire.tesla", "--remove", "Temp", "--reverse", "Temp")
    assert (done.code, done.err) == (0, "changed fire.tesla\n")
    assert "node Smoke {YES: 0.3, NO: 0.7}" in Path("fire.tesla").read_text()
    both = "node Fire given Smoke, Temp { *, *: {YES: .9, NO: .1} }"
    assert run("bayes", "set", "fire.tesla", "--write", both).code == 0
    done = run("bayes", "set", "fire.tesla", "--reverse", "Temp")
    assert done.code == 1
    assert "the table that was written for 'Fire' would be lost" in done.err


def test_rules_of_the_etalis_language_have_no_networks(run: Command) -> None:
    Path("pair.etalis").write_text("pair(X) <- a(X) SEQ b(X).\n")
    for word in ("show", "set", "eval"):
        done = run("bayes", word, "pair.etalis")
        assert (done.code, done.out) == (1, "")
        assert "error[network]: rules of the ETALIS language have no networks" in done.err
        assert "TESLA" in done.err
    both = run("bayes", "eval", "fire.tesla", "pair.etalis")
    assert (both.code, both.out) == (0, run("bayes", "eval", "fire.tesla").out)
    assert both.err.endswith("rules of the ETALIS language have no networks: pair\n")
    done = run("bayes", "eval", "fire.tesla", "pair.etalis", "--rule", "pair")
    assert done.code == 1
    assert "'pair' is a rule of the ETALIS language" in done.err
    Path("none.tesla").write_text("event Temp(value: double)\n")
    done = run("bayes", "set", "none.tesla")
    assert done.code == 1
    assert "there are no rules" in done.err


def test_set_adds_a_network_where_there_is_none(run: Command) -> None:
    Path("fire.tesla").write_text(FIRE)
    done = run("bayes", "set", "fire.tesla", "--reverse", "Temp", "--reverse", "Smoke")
    assert done.out == "Fire: Fire has probability 1 when all its parts are observed\n"
    assert Path("fire.tesla").read_text().startswith(FIRE + "\nnetwork Fire {\n  node Fire given Temp, Smoke {\n")


def test_set_takes_files_of_other_tools(run: Command) -> None:
    for name in ("fire.bif", "fire.xdsl"):
        Path("fire.tesla").write_text(FIRE + NETWORK)
        run("bayes", "show", "fire.tesla", "--export", name)
        text = Path(name).read_text()
        Path(name).write_text(text.replace("0.2", "0.25").replace("0.8", "0.75"))
        done = run("bayes", "set", "fire.tesla", "--import", name)
        assert done.code == 0
        assert "node Jam {HIGH: 0.25, LOW: 0.75}" in Path("fire.tesla").read_text()


def test_a_wrong_edit_changes_nothing(run: Command) -> None:
    before = Path("fire.tesla").read_text()
    for options in (
        ("--write", "node Jam {HIGH: .5, LOW: .6}"),
        ("--write", "node Jam {"),
        ("--write", "node Temp given Fire {*: {YES: 0, NO: 1}}"),
        ("--remove", "Jam"),
        ("--reverse", "Jam"),
        ("--import", "none.bif"),
        ("--rule", "Fir"),
    ):
        assert run("bayes", "set", "fire.tesla", *options).code == 1
        assert Path("fire.tesla").read_text() == before


def test_several_rules_need_a_choice(run: Command) -> None:
    Path("two.tesla").write_text("define A() from B()\ndefine C() from D()\n")
    assert run("bayes", "eval", "two.tesla").out.count("probability 1 ") == 2
    assert run("bayes", "show", "two.tesla").out.count("network of rule") == 2
    for arguments in (("show", "two.tesla", "--svg", "x.svg"), ("set", "two.tesla", "--reverse", "B")):
        done = run("bayes", *arguments)
        assert done.code == 1
        assert "choose one with --rule: A, C" in done.err
    assert run("bayes", "set", "two.tesla", "--rule", "C", "--reverse", "D").code == 0


def test_check_finds_what_cannot_be_observed(run: Command) -> None:
    Path("fire.tesla").write_text(FIRE + "network Fire { node Temp given Fire {*: {YES: 0, NO: 1}} }")
    done = run("check", "fire.tesla")
    assert done.code == 1
    assert "error[evidence]" in done.err


@pytest.mark.parametrize(
    ("option", "name", "message"),
    [
        ("--svg", "nowhere/x.svg", "there is no folder 'nowhere'"),
        ("--export", "nowhere/x.bif", "there is no folder 'nowhere'"),
        ("--svg", ".", "it is a folder"),
        ("--export", "x.txt", "is not the name of a network file"),
    ],
)
def test_nothing_is_shown_if_it_cannot_be_written(run: Command, option: str, name: str, message: str) -> None:
    done = run("bayes", "show", "fire.tesla", option, name)
    assert done.out == ""
    assert message in done.err
