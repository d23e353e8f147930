"""The page of claims: every measured sentence of the papers, our figure and its interval, the verdict, the command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.papers.claims.judging import Finding, Judgement, judge
from benchmarks.papers.claims.model import CHANGE, Claim, Paper, Samples, Verdict

NAME = "claims.md"
COLOURS = {
    Verdict.CONFIRMED: "green",
    Verdict.REFUTED: "red",
    Verdict.UNDECIDED: "yellow",
    Verdict.NOT_MEASURED: "dim",
}
"""Verdicts on the terminal."""
_MOST_SHOWN = 6
_FEW = 5
_NOT_RUN = "not run, or in one run alone"
_HEAD = f"""# What the papers claim, and what we measure

Written by `cepheus bench claims --write-docs` from the figures in `benchmarks/papers/results`, which the commands below
measure and keep: do not edit it. Each row is a measured sentence of one of the five papers that Cepheus builds on, in
our words; what it is about and where that must lie for the sentence to hold; what we find, with 95% confidence
intervals over the runs; and the verdict.

- **confirmed**: the intervals of all that the sentence is about lie where it has them.
- **refuted**: one of them lies wholly elsewhere, also when it is widened for as many as the sentence is about: of
  twenty intervals of 95% one strays by chance (Bonferroni).
- **undecided**: neither; more runs might tell. With two or three an interval is wide whatever is true: a column says
  over how many runs each was taken, and the summary how many verdicts are still open after fewer than {_FEW}.
- **not measured**: for the reason given.

A sentence about all strategies is judged for all, and one of them can refute it. One threshold holds throughout: what
*changes* changes by more than {CHANGE:.0%} (a factor of {1 + CHANGE:g}, or of 1/{1 + CHANGE:g}), what *does not* stays
within that, what is *slight* or *marginal* lies between. Figures are factors (one thing in relation to another, run by
run, so that what all runs have in common cancels out) unless a unit is given. A refuted sentence is not a wrong one:
the papers measured other machines, networks and constants, which they publish in part.
"""


def word(verdict: Verdict) -> str:
    """A verdict in a table."""
    return verdict.value if verdict in (Verdict.CONFIRMED, Verdict.NOT_MEASURED) else f"**{verdict.value}**"


def findings_in_words(judgement: Judgement) -> str:
    """What was found of each part of a claim; of many parts those that decide come first, and the rest is counted."""
    claim = judgement.claim
    if not claim.parts:
        return claim.reason
    if all(finding.interval is None for finding in judgement.findings):
        return _NOT_RUN
    order = [Verdict.REFUTED, Verdict.UNDECIDED, Verdict.NOT_MEASURED, Verdict.CONFIRMED]
    found = sorted(judgement.findings, key=lambda finding: order.index(finding.verdict))
    shown = list(judgement.findings) if len(found) <= _MOST_SHOWN else found[:_MOST_SHOWN]
    words = "; ".join(_words(finding) for finding in shown)
    rest = Counter(finding.verdict.value for finding in found[_MOST_SHOWN:])
    return words + "".join(f"; {count} more {verdict}" for verdict, count in rest.items())


def _words(finding: Finding) -> str:
    name, interval = finding.part.of, finding.interval
    if interval is None:
        return f"{name}: no figure"
    if interval.runs == 1:
        return f"{name} {_number(interval.mean)}"
    return f"{name} {_number(interval.mean)} ({_number(interval.low)} to {_number(interval.high)})"


def _number(value: float) -> str:
    """A number with three digits.

    >>> _number(1.2345), _number(0.01234), _number(1234.5), _number(0.0)
    ('1.23', '0.0123', '1,234', '0')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def runs_in_words(judgement: Judgement) -> str:
    """Over how many runs a claim was judged."""
    runs = sorted({finding.interval.runs for finding in judgement.findings if finding.interval is not None})
    return "" if not runs else str(runs[0]) if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"


def _has_few_runs(judgement: Judgement) -> bool:
    """Whether something that a claim is about was run less often than a verdict can be hoped for."""
    return any(finding.interval is not None and finding.interval.runs < _FEW for finding in judgement.findings)


def verdict_table(judgements: Iterable[Judgement]) -> list[str]:
    """Claims and verdicts as a table in Markdown."""
    lines = [
        "| where | the paper says | quantity, and where it must lie | ours | runs | verdict |",
        "|:--|:--|:--|:--|--:|:--|",
    ]
    for each in judgements:
        claim = each.claim
        cells = (
            claim.section,
            claim.sentence,
            f"{claim.quantity}: {claim.region.words}" if claim.parts else claim.quantity,
            findings_in_words(each),
            runs_in_words(each),
            word(each.verdict),
        )
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return lines


def claims_page(groups: Sequence[tuple[Paper, str, Sequence[Claim]]], samples: Samples) -> str:
    """The whole page; groups are papers, each perhaps with a reading of it, and their claims."""
    judged = [(paper, reading, [judge(claim, samples) for claim in claims]) for paper, reading, claims in groups]
    lines = [_HEAD, *_summary(judged)]
    for paper, reading, judgements in judged:
        lines += ["", f"## {paper.value}{f': {reading}' if reading else ''}", ""]
        commands = ", ".join(f"`{each}`" for each in dict.fromkeys(each.claim.command for each in judgements) if each)
        if reading and all(each.verdict is Verdict.NOT_MEASURED for each in judgements):
            lines += [f"The sentences are those above; none has been measured in this reading yet, by {commands}."]
            continue
        lines += [*verdict_table(judgements), "", f"Measured with {commands}."]
    return "\n".join(lines) + "\n"


def _summary(judged: Sequence[tuple[Paper, str, Sequence[Judgement]]]) -> list[str]:
    names = [*(verdict.value for verdict in Verdict), f"undecided, with fewer than {_FEW} runs"]
    lines = [f"| paper | {' | '.join(names)} |", "|:--|" + "--:|" * len(names)]
    for paper, reading, judgements in judged:
        counts = Counter(each.verdict for each in judgements)
        name = f"{paper.value}{f': {reading}' if reading else ''}"
        few = sum(each.verdict is Verdict.UNDECIDED and _has_few_runs(each) for each in judgements)
        lines.append(f"| {name} | {' | '.join(str(counts[verdict]) for verdict in Verdict)} | {few} |")
    return lines


def write_claims(docs: Path, groups: Sequence[tuple[Paper, str, Sequence[Claim]]], samples: Samples) -> Path:
    """Write the page."""
    path = docs / NAME
    path.write_text(claims_page(groups, samples), encoding="utf-8")
    return path
