"""``cepheus calibrate``: how far the probabilities of composite events can be believed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cepheus.cli.check import Rules, no_rules, read_all
from cepheus.cli.console import check_writable, note, report, warnings_reported, write_file
from cepheus.cli.run_options import with_run_options
from cepheus.core.errors import OptionError, did_you_mean

_FEWEST = 50
"""With fewer composite events in either half there is nothing to put probabilities right by."""


@with_run_options
def calibrate(
    rules: Rules,
    events: Annotated[list[Path], typer.Option("--events", help="A file of events, labels included; may be repeated.")],
    target: Annotated[str, typer.Option("--target", help="The type of events that confirm what a rule tells.")],
    composite: Annotated[
        str | None, typer.Option(help="The composite events to look at, where rules define several types.")
    ] = None,
    slack: Annotated[str, typer.Option(help="How far a confirming event may be away in time.")] = "0s",
    key: Annotated[
        list[str] | None,
        typer.Option(help="An attribute in which both must agree, or OURS=THEIRS. May be repeated."),
    ] = None,
    miss_cost: Annotated[float, typer.Option(help="What not telling costs.")] = 1.0,
    alarm_cost: Annotated[float, typer.Option(help="What a false alarm costs.")] = 1.0,
    network: Annotated[
        Path | None, typer.Option(help="Write the rules here, with networks that have counted what was confirmed.")
    ] = None,
    *,
    options: dict[str, Any],
) -> None:
    """Compare the probabilities that rules tell with what was so.

    Shows the reliability of probabilities in ten ranges, the Brier score, the expected calibration error, the area
    under the ROC curve, and the threshold from which on telling costs least.
    """
    from cepheus.api import compile
    from cepheus.core.options import RunOptions, microseconds_of
    from cepheus.learning.calibration import calibration, confirmed
    from cepheus.learning.reading import read_history

    if network is not None:
        check_writable(network)
    program = compile(read_all(rules, None, "us"), undeclared="allow")
    report(program.warnings)
    names = sorted(program.composites)
    if not names:
        raise no_rules(rules, "calibrate")
    if composite is not None and composite not in names:
        hint = did_you_mean(composite, names) or f"the rules define {', '.join(names)}"
        raise OptionError.of("calibrate", f"no rule defines '{composite}'", hint=hint)
    if composite is None and len(names) != 1:
        hint = f"name one with --composite: {', '.join(names)}"
        raise OptionError.of("calibrate", "the rules define several types of composite events", hint=hint)
    chosen = composite or names[0]
    with warnings_reported():
        found = program.detect(list(events), **options)
        labels = read_history(list(events), RunOptions.of(**options))
    import numpy as np

    rows = np.flatnonzero(found.codes == (found.types.index(chosen) if chosen in found.types else -1))
    made = found.take(rows)
    keys = dict(_pair(each) for each in key or ())
    so = confirmed(made, labels, target, microseconds_of(slack), keys)
    told = np.ones(len(made)) if made.probabilities is None else made.probabilities
    result = calibration(told, so, miss_cost=miss_cost, alarm_cost=alarm_cost)
    _show(result)
    _show_correction(made.times, told, so)
    if network is not None:
        write_file(network, _with_networks(program, made, so))
        note(f"rules with networks written to {network}")


def _pair(text: str) -> tuple[str, str]:
    ours, equals, theirs = text.partition("=")
    return (ours, theirs) if equals else (ours, ours)


def _show(result: Any) -> None:
    print("told          events  mean told  was so")
    for each in result.bins:
        bar = "#" * round(20 * each.so)
        print(f"{each.low:.1f} to {each.high:.1f}  {each.count:>8}  {each.told:>9.3f}  {each.so:>6.3f}  {bar}")
    print(f"{result.count} composite events, {result.confirmed} confirmed")
    print(f"Brier score {result.brier:.4f}, expected calibration error {result.error:.4f}")
    print(f"area under the ROC curve {result.area:.4f}" if result.curve else "no ROC curve: all or none was confirmed")
    if result.threshold > 1:
        print(f"telling nothing costs least: {result.cost:.4f} for each")
    else:
        print(f"telling from {result.threshold:.4f} on costs least: {result.cost:.4f} for each")


def _show_correction(times: Any, told: Any, so: Any) -> None:
    """What errors would be left if probabilities were put right by experience: learned early, tried late."""
    import numpy as np

    from cepheus.learning.calibration import calibration, correction

    order = np.argsort(times, kind="stable")
    early, late = order[: len(order) // 2], order[len(order) // 2 :]
    if len(early) < _FEWEST:
        return
    before = calibration(told[late], so[late]).error
    after = calibration(correction(told[early], so[early])(told[late]), so[late]).error
    print(f"put right by the earlier half, the later half has an error of {after:.4f} instead of {before:.4f}")


def _with_networks(program: Any, made: Any, so: Any) -> str:
    """The rules with a network for each that made any of the events, by counting what was confirmed."""
    import numpy as np

    from cepheus.language.tesla.print import format_rules
    from cepheus.learning.calibration import counted_belief

    provenance = made.provenance
    for code, name in enumerate(provenance.rules):
        own = np.asarray(provenance.rule_codes) == code
        if own.any():
            belief = counted_belief(program.belief(name), int(so[own].sum()), int((~so[own]).sum()))
            program = program.with_belief(belief)
    text: str = format_rules(program.rules)
    return text
