"""The walkthroughs of the page on the engine, step by step in a copy of the source: right answers, or refusals."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from blocks import ROOT, blocks

PAGE = ROOT / "docs" / "engine.md"
ASK = """
import json, sys
import cepheus
from cepheus.runtime.network.protocol.supported import check_supported

rules, engines = sys.argv[1], sys.argv[2:]
program = cepheus.compile(rules)
events = [{"type": "A", "time": f"2026-01-01T00:00:0{n}Z", "x": float(n * n)} for n in range(5)]
events.append({"type": "T", "time": "2026-01-01T00:00:06Z"})
found = {}
for engine in engines:
    try:
        if engine == "network":
            found[engine] = check_supported(program.rules)
        else:
            found[engine] = [made["x"] for made in program.detect(events, engine=engine).to_events()]
    except cepheus.UnsupportedError as error:
        (finding,) = error.diagnostics
        found[engine] = f"{finding.message} at {finding.span.text}"
print(json.dumps(found))
"""


def asked(folder: Path, name: str, rules: str, *engines: str) -> dict[str, object]:
    """Apply a difference of the page to a copy of the source and ask engines there what they make of rules."""
    (difference,) = [block.text for block in blocks(PAGE) if block.title == name]
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["git", "apply", "-"], cwd=folder, input=difference, text=True, check=True)
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    run = subprocess.run(
        [sys.executable, "-c", ASK, rules, *engines], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    answer: dict[str, object] = json.loads(run.stdout)
    return answer


RANGE = "event T() event A(x: double) define R(x: double) from T() and $r = Range(A().x within 9 s from T) where x=$r"
MIDDLE = "event T() event A(x: double) define R(x: double) from T() and middle A() within 9 s from T where x=A.x"


def test_an_aggregate_is_a_record_and_a_function_of_the_kernel(tmp_path: Path) -> None:
    assert asked(tmp_path, "range.diff", RANGE, "reference", "matching", "network") == {
        "reference": [16.0],
        "matching": [16.0],
        "network": None,
    }


@pytest.mark.slow
def test_an_aggregate_runs_where_kernels_run(tmp_path: Path) -> None:
    found = asked(tmp_path, "range.diff", RANGE, "columns", "automata", "auto")
    assert found == {"columns": [16.0], "automata": [16.0], "auto": [16.0]}


def test_a_policy_is_refused_where_it_is_not_named(tmp_path: Path) -> None:
    found = asked(tmp_path, "middle.diff", MIDDLE, "reference", "auto", "columns", "automata", "matching", "network")
    choice = "middle A() within 9 s from T"
    assert found == {
        "reference": [4.0],
        "auto": [4.0],
        "columns": "the fast engines do not support the policy 'middle' at within 9 s from T",
        "automata": f"the fast engines do not support the policy 'middle' at {choice}",
        "matching": f"the engine matching does not support the policy 'middle' at {choice}",
        "network": f"a network of processors does not support the policy 'middle' at {choice}",
    }
