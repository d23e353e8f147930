"""All claims there are, paper by paper."""

from __future__ import annotations

from benchmarks.papers.claims.model import Claim, Paper
from benchmarks.papers.deployment.claims import chapter_claims, rule_deployment_claims, strategy_claims
from benchmarks.papers.etalis.claims import etalis_claims
from benchmarks.papers.overview.claims import algorithm_claims
from benchmarks.papers.uncertainty.claims import uncertainty_claims

Group = tuple[Paper, str, list[Claim]]


def groups() -> list[Group]:
    """The papers, each perhaps with a reading of what it leaves open, and their claims."""
    return [
        (Paper.OVERVIEW, "", [*algorithm_claims(), *chapter_claims()]),
        (Paper.DEPLOYMENT, "", strategy_claims()),
        (Paper.DEPLOYMENT, "rates exponential", strategy_claims(exponential=True)),
        (Paper.RULE_DEPLOYMENT, "", rule_deployment_claims()),
        (Paper.UNCERTAINTY, "", uncertainty_claims()),
        (Paper.ETALIS, "", etalis_claims()),
    ]


def all_claims() -> list[Claim]:
    """All of them."""
    return [claim for _, _, claims in groups() for claim in claims]
