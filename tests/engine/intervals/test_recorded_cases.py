"""Cases recorded from the ETALIS system and the model of Figure 2 computed by someone else: see cases/README.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from interval_runs import AS_RECORDED, checked, event, in_order, model, run

FOLDER = Path(__file__).parent / "cases"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


def _case(name: str) -> dict[str, Any]:
    case: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    case["stream"] = [event(kind, values, time, time, i) for i, (kind, values, time) in enumerate(case["events"])]
    return case


@pytest.mark.parametrize("name", NAMES)
def test_unrestricted_is_the_model(name: str) -> None:
    case = _case(name)
    program = checked("\n".join(case["rules"]))
    assert in_order(run(program, case["stream"])) == in_order(case["model"])
    assert in_order(model(program, case["stream"])) == in_order(case["model"])


@pytest.mark.parametrize("policy", ["recent", "chronological"])
@pytest.mark.parametrize("name", NAMES)
def test_policies_give_what_the_system_gives(name: str, policy: str) -> None:
    case = _case(name)
    if policy not in case["recorded"]:
        pytest.skip("not recorded")
    expected = case.get("ours", {}).get(policy, case["recorded"][policy])
    program = checked("\n".join(case["rules"]), AS_RECORDED[policy])
    assert in_order(run(program, case["stream"])) == in_order(expected)


def test_every_difference_has_its_reason() -> None:
    assert all("why" in case for name in NAMES if "ours" in (case := _case(name)))
