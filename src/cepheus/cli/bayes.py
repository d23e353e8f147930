"""``cepheus bayes``: the Bayesian networks of rules, shown, edited and evaluated."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cepheus.cli.check import Rules, read_all
from cepheus.cli.console import check_writable, note, replace_file, report, write_file
from cepheus.core.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    from cepheus.rules.model import RuleSet
    from cepheus.uncertainty.belief.belief import RuleBelief

_PIPE_WIDTH = 400  # wide enough that no line is broken where no terminal sets the width
_MOST_NAMED = 8

bayes = typer.Typer(
    name="bayes",
    no_args_is_help=True,
    help="Show, edit and evaluate the Bayesian networks of rules.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

RuleName = Annotated[
    str | None, typer.Option("--rule", help="Only the network of this rule; needed where there are several.")
]
At = Annotated[
    str | None, typer.Option(help="The time that tables are taken at, in ISO 8601; without it, outside all periods.")
]


@bayes.command()
def show(
    rules: Rules,
    rule: RuleName = None,
    at: At = None,
    svg: Annotated[Path | None, typer.Option("--svg", help="Also draw the network into this file.")] = None,
    export: Annotated[Path | None, typer.Option(help="Also write the network to this .bif or .xdsl file.")] = None,
) -> None:
    """Show networks: their nodes, what each depends on, their tables, and what is observed.

    A rule to whose network nothing was added is shown as the rule itself says.
    """
    from rich.console import Console

    from cepheus.explain.belief import belief_tree

    found = _beliefs(_checked(rules), rule)
    time = _time(at)
    if (svg is not None or export is not None) and len(found) > 1:
        raise _several(found, "--svg and --export take one network")
    for path in (svg, export):
        if path is not None:
            check_writable(path)
    if export is not None:
        from cepheus.uncertainty.belief.interchange import check_format

        check_format(export)
    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=_PIPE_WIDTH)
    for place, belief in enumerate(found):
        if place:
            console.print()
        console.print(belief_tree(belief, time))
    if svg is not None:
        from cepheus.explain.belief import draw_belief

        write_file(svg, draw_belief(found[0], time))
        note(f"drawn to {svg}")
    if export is not None:
        from cepheus.uncertainty.belief.interchange import write_belief_file

        write_belief_file(found[0], export)
        note(f"written to {export}")


@bayes.command(name="set")
def set_(
    rules: Rules,
    rule: RuleName = None,
    write: Annotated[
        list[str] | None,
        typer.Option(
            help="A node or an observation, as in rule text: 'node Jam {HIGH: .1, LOW: .9}'. May be repeated."
        ),
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option(help="A node to take away, or an event to leave as the rule has it.")
    ] = None,
    reverse: Annotated[list[str] | None, typer.Option(help="A part to make a cause of the composite event.")] = None,
    read: Annotated[Path | None, typer.Option("--import", help="Take all nodes from this .bif or .xdsl file.")] = None,
) -> None:
    """Edit the network of a rule in its rule file, and print what the rule is worth then.

    Edits are made in the order of the options above. Nothing is written if the network makes no sense afterwards.
    """
    from cepheus.uncertainty.belief.belief import verify
    from cepheus.uncertainty.belief.interchange import read_belief_file

    checked = _checked(rules)
    found = _beliefs(checked, rule)
    if len(found) > 1:
        raise _several(found, "one network can be edited at a time")
    belief = found[0]
    if write:
        belief = belief.write("\n".join(write))
    for node in remove or ():
        belief = belief.remove(node)
    if reverse:
        belief = belief.reverse(*reverse)
    if read is not None:
        belief = read_belief_file(belief, read)
    verify(belief)
    _replace(checked, found[0], belief)


@bayes.command(name="learn")
def learn_(
    rules: Rules,
    cases: Annotated[
        Path, typer.Option(help="A table of cases: a column for each node that was observed, empty where it was not.")
    ],
    rule: RuleName = None,
    smoothing: Annotated[
        float, typer.Option(help="So many cases are added to each row, spread over its states.")
    ] = 1.0,
    only: Annotated[list[str] | None, typer.Option(help="Learn the table of this node alone. May be repeated.")] = None,
) -> None:
    """Learn the tables of the network of a rule from cases, and write them into its rule file.

    The cases are a .csv, .jsonl or .parquet file. Where they leave nodes out, expectation and maximisation is used.
    """
    from cepheus.formats.plain_table import plain_rows
    from cepheus.uncertainty.belief.belief import verify

    checked = _checked(rules)
    found = _beliefs(checked, rule)
    if len(found) > 1:
        raise _several(found, "the tables of one network can be learned at a time")
    belief = found[0].learned(plain_rows(cases), smoothing=smoothing, only=only)
    verify(belief)
    _replace(checked, found[0], belief)


def _replace(checked: RuleSet, before: RuleBelief, belief: RuleBelief) -> None:
    """Put a network in the place of another in its rule file, and print what the rule is worth then."""
    from cepheus.cli.belief_text import with_belief
    from cepheus.runtime.embedded.rule_sources import read_text

    place = next((each.span for each in checked.beliefs if each.rule == belief.rule.name), belief.rule.span)
    assert place is not None
    path = Path(place.source.name)
    if belief.added == before.added:
        note(f"nothing to change in {path}")
    else:
        replace_file(path, with_belief(read_text(path), belief.added, str(path)))
        note(f"changed {path}")
    print(_sentence(belief, None))


@bayes.command(name="eval")
def eval_(
    rules: Rules,
    rule: RuleName = None,
    at: At = None,
    ask: Annotated[str | None, typer.Option(help="The node asked for, if not the composite event.")] = None,
    observe: Annotated[
        list[str] | None,
        typer.Option(help="NODE=STATE, in place of what a match observes; may be repeated. NONE for nothing."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print probabilities as JSON.")] = False,
) -> None:
    """Evaluate networks: how likely is the composite event when all its parts are observed?"""
    time = _time(at)
    answers: dict[str, Any] = {}
    for belief in _beliefs(_checked(rules), rule):
        if ask is None and observe is None:
            answers[str(belief.rule.name)] = {belief.composite: belief.probability(time)}
            if not as_json:
                print(_sentence(belief, time))
            continue
        asked = belief.composite if ask is None else ask
        found = belief.posterior(asked, time, _observed(observe))
        answers[str(belief.rule.name)] = found
        if not as_json:
            print(f"{asked}: " + ", ".join(f"{state} {chance:.6g}" for state, chance in found.items()))
    if as_json:
        print(json.dumps(answers, indent=2))


def _checked(paths: list[Path]) -> RuleSet:
    """Read and check rules; what is strange about them goes to stderr."""
    from cepheus.rules.check import check

    found = read_all(paths)
    checked = check(found, closed=False)
    report(checked.warnings)
    return checked.rules


def _beliefs(rules: RuleSet, name: str | None) -> list[RuleBelief]:
    """The network that was asked for, or those of all rules; rules of the ETALIS language have none."""
    from cepheus.uncertainty.belief.belief import belief_of

    others = [str(rule.name) for rule in rules.interval_rules]
    if name is not None and name not in others:
        return [belief_of(rules, name)]
    if name is not None or (others and not rules.rules):
        which = "rules of the ETALIS language" if name is None else f"'{name}' is a rule of the ETALIS language: these"
        raise OptionError.of("network", f"{which} have no networks", hint="networks belong to rules of TESLA")
    if not rules.rules:
        raise OptionError.of("network", "there are no rules, and hence no networks", hint="give a file with rules")
    if others:
        note(f"rules of the ETALIS language have no networks: {', '.join(others[:_MOST_NAMED])}")
    return [belief_of(rules, str(rule.name)) for rule in rules.rules]


def _several(found: list[RuleBelief], message: str) -> OptionError:
    names = ", ".join(str(belief.rule.name) for belief in found[:_MOST_NAMED])
    return OptionError.of("network", message, hint=f"choose one with --rule: {names}")


def _sentence(belief: RuleBelief, time: int | None) -> str:
    worth = belief.probability(time)
    return f"{belief.rule.name}: {belief.composite} has probability {worth:.6g} when all its parts are observed"


def _observed(given: list[str] | None) -> dict[str, str] | None:
    if given is None:
        return None
    observed = {}
    for text in given:
        if text.upper() == "NONE":
            continue
        node, equals, state = text.partition("=")
        if not equals:
            hint = did_you_mean(text, ["NONE"]) or "write it as in --observe TrafficJam=LOW"
            raise OptionError.of("node", f"'{text}' does not say what is observed", hint=hint)
        observed[node.strip()] = state.strip()
    return observed


def _time(text: str | None) -> int | None:
    from cepheus.core.time import parse_time

    if text is None:
        return None
    try:
        return parse_time(text)
    except (ValueError, OverflowError):
        raise OptionError.of("time", f"'{text}' is not a time", hint="write it as in 2026-01-31T08:00:00Z") from None
