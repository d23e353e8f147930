"""Declared errors of what interval rules read: they would be passed over without a word."""

from __future__ import annotations

from collections.abc import Collection

from cepheus.rules.check.findings import Findings
from cepheus.rules.check.intervals.check import CheckedIntervals
from cepheus.rules.interval.model import Anything, Atom
from cepheus.rules.walk import walk


def refuse_declared_errors(
    intervals: CheckedIntervals, errors: Collection[tuple[str, str]], findings: Findings
) -> None:
    """Report every argument that a rule reads although it has a declared error; ``errors`` are types with attributes.

    ``error Temp.value ~ N(0, 1)`` goes with ``hot(A) <- Temp(A, _)``, but not with ``hot(V) <- Temp(_, V)``.
    """
    for rule in intervals.rules:
        for atom in walk(rule.pattern):
            if not isinstance(atom, Atom) or atom.type not in intervals.reads:
                continue
            for argument, attribute in zip(atom.arguments, intervals.reads[atom.type].attributes, strict=False):
                if (atom.type, attribute.name) in errors and not isinstance(argument, Anything):
                    name = f"{atom.type}.{attribute.name}"
                    message = f"rules of ETALIS take events as certain, but {name} has a declared error"
                    hint = "let a rule of TESLA read it: what that makes counts as certain, and may feed this rule"
                    findings.error("uncertain-argument", message, argument.span or atom.span, hint)
