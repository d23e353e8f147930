"""The recorded cases of interval rules, under all policies, for hosts: see tests/engine/intervals/cases/README.md."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cepheus.core.event import Event
from cepheus.core.time import TimeUnit
from cepheus.language.etalis import parse
from cepheus.rules.check.check import name_rules
from cepheus.rules.interval.model import Atom, IntervalRule
from cepheus.rules.model import RuleSet
from cepheus.rules.walk import transform

sys.path.append(str(Path(__file__).parents[1] / "engine" / "intervals"))

from interval_runs import AS_RECORDED, Found, event, in_order

__all__ = ["IntervalCase", "in_order", "load_interval_cases", "together"]

_INTERVALS = Path(__file__).parents[1] / "engine" / "intervals"


@dataclass(frozen=True)
class IntervalCase:
    """Rules under a policy, a stream in order, and the complex events; times of these are in seconds."""

    name: str
    rules: RuleSet
    events: list[Event]
    expected: list[Found]

    def __str__(self) -> str:
        return self.name

    @property
    def kinds(self) -> tuple[type, ...]:
        """The Python types of the arguments, by place."""
        longest = max(self.events, key=lambda each: len(each.attributes))
        return tuple(type(value) for value in longest.attributes.values())


def load_interval_cases() -> list[IntervalCase]:
    """Read every case, once for each policy that it has an answer for."""
    return [case for path in sorted((_INTERVALS / "cases").glob("*.json")) for case in _cases(path)]


def _cases(path: Path) -> list[IntervalCase]:
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    answers = {**data["recorded"], **data.get("ours", {}), "unrestricted": data["model"]}
    events = [event(kind, values, time, time, number) for number, (kind, values, time) in enumerate(data["events"])]
    text = "\n".join(data["rules"])
    return [
        IntervalCase(
            f"{path.stem} {policy}",
            parse(f"policy {AS_RECORDED[policy]}.\n{text}", unit=TimeUnit.S),
            events,
            in_order(answers[policy]),
        )
        for policy in AS_RECORDED
        if policy in answers
    ]


def together(cases: Sequence[IntervalCase]) -> IntervalCase:
    """Put cases together; event types, complex types and rules get the case's number in front."""
    rules = RuleSet()
    events: list[Event] = []
    expected: list[Found] = []
    for number, case in enumerate(cases):
        prefix = f"c{number}_"
        named = name_rules(case.rules)
        rules += replace(named, interval_rules=tuple(_renamed(rule, prefix) for rule in named.interval_rules))
        events += [replace(each, type=prefix + each.type) for each in case.events]
        expected += [(prefix + name, values, start, end) for name, values, start, end in case.expected]
    return IntervalCase(f"{len(cases)} cases", rules, events, in_order(expected))


def _renamed(rule: IntervalRule, prefix: str) -> IntervalRule:
    def change(node: Any) -> Any:
        return replace(node, type=prefix + node.type) if isinstance(node, Atom) else node

    changed: IntervalRule = transform(rule, change)
    return replace(changed, name=f"{prefix}{rule.name}", head=replace(rule.head, name=prefix + rule.head.name))
