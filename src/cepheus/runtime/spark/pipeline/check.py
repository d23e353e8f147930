"""What can be told of a pipeline without data and Spark: are its rules right, and do they make what sinks take?"""

from __future__ import annotations

from pathlib import Path

from cepheus.core.errors import Diagnostic, RuleError, did_you_mean
from cepheus.core.time import TimeUnit
from cepheus.core.toml_file import TomlFile
from cepheus.rules.check import check
from cepheus.rules.model import RuleSet
from cepheus.runtime.embedded.sources import read_rules
from cepheus.runtime.spark.pipeline.model import Pipeline

_DATA_TELLS = {"undeclared-order"}
"""Errors of rules that the columns of the data may settle."""


def check_pipeline(path: Path, pipeline: Pipeline) -> tuple[Diagnostic, ...]:
    """Check the rules of a pipeline and the composite events that its sinks take; give the warnings.

    What only the data can tell is found when the pipeline runs.
    """
    rules = read_rules([Path(name) for name in pipeline.rules], TimeUnit(pipeline.detect.time_unit or "us"))
    warnings: tuple[Diagnostic, ...] = ()
    try:
        warnings = check(rules, closed=False).warnings
    except RuleError as error:
        mistakes = [finding for finding in error.diagnostics if finding.code not in _DATA_TELLS]
        if mistakes:
            raise RuleError(mistakes) from None
    _check_sinks(path, pipeline, rules)
    return warnings


def _check_sinks(path: Path, pipeline: Pipeline, rules: RuleSet) -> None:
    names = {rule.composite.name for rule in rules.rules} | {rule.composite.name for rule in rules.interval_rules}
    defined = sorted(names)
    wrong = [
        (number, sink.composite)
        for number, sink in enumerate(pipeline.sinks)
        if sink.composite is not None and sink.composite not in defined
    ]
    if not wrong:
        return
    file = TomlFile(path, "pipeline")
    for number, name in wrong:
        hint = did_you_mean(name, defined) or f"the rules define {', '.join(defined) or 'nothing'}"
        file.note(("sinks", number, "composite"), f"no rule defines '{name}'", hint)
    file.raise_findings()
