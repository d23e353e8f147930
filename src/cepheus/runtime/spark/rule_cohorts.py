"""Rules that change on a checkpoint: which keep their state, which begin, which end, and what cannot be.

Rules that were split together keep their state together: they are a *cohort*, and its shards have folders of their own.
When a query is started again with other rules, those that are word for word the same stay in their cohorts; new and
changed ones form cohorts that begin now; cohorts of which nothing is left end. Where that would not give what the rules
say, the change is refused, with the rule and the reason, before anything runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from cepheus.core.errors import Diagnostic, Place, SnapshotError
from cepheus.plan.split import ByBand, ByKey, BySlice, RuleGroup, Split, Way, Whole, split
from cepheus.plan.split.component import components
from cepheus.plan.split.model import WayName
from cepheus.rules.model import AnyRule
from cepheus.runtime.spark.checkpoint_rules import rule_digest
from cepheus.runtime.spark.layout import EventLayout
from cepheus.runtime.spark.planning import Planned, with_all_events
from cepheus.runtime.spark.shard import memory
from cepheus.runtime.spark.sources import mentioned_types

WAY_OUT = 'go on with the rules that made it, or begin anew on this checkpoint: restart="fresh state"'


@dataclass(frozen=True, slots=True)
class Cohort:
    """Rules whose state is one: digests of the rules by name, what each makes, how they are split, the folders of their
    shards, the micro-batch with which their state begins. ``bounded`` says that they look back for a bounded time.
    """

    rules: Mapping[str, str]
    makes: Mapping[str, str]
    way: Mapping[str, Any]
    shards: tuple[str, ...]
    first: int
    bounded: bool

    @classmethod
    def of(cls, group: RuleGroup, shards: Sequence[str], first: int) -> Cohort:
        """Describe a group."""
        return cls(
            {str(rule.name): rule_digest(rule) for rule in group.rules},
            {str(rule.name): rule.composite.name for rule in group.rules},
            described_way(group.way),
            tuple(shards),
            first,
            memory(group.rules) is not None,
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Cohort:
        """Read what was written down."""
        return cls(
            dict(data["rules"]),
            dict(data["makes"]),
            dict(data["way"]),
            tuple(str(name) for name in data["shards"]),
            int(data["first"]),
            bool(data["bounded"]),
        )


def described_way(way: Way) -> dict[str, Any]:
    """A way of splitting in plain words and dicts."""
    match way:
        case ByKey(attributes=attributes, as_doubles=as_doubles):
            return {"way": WayName.KEYS.value, "attributes": dict(attributes), "as_doubles": as_doubles}
        case ByBand(attributes=attributes, margins=margins):
            return {"way": WayName.BANDS.value, "attributes": dict(attributes), "margins": dict(margins)}
        case BySlice(reaches=reaches):
            return {"way": WayName.SLICES.value, "reaches": dict(reaches)}
        case Whole():
            return {"way": WayName.WHOLE.value}


def described_layout(layout: EventLayout) -> dict[str, Any]:
    """The columns of events, as far as state depends on them."""
    return {
        "ids": layout.ids.value,
        "sequenced": layout.sequenced,
        "marks_owned": layout.marks_owned,
        "intervals": layout.intervals,
        "doubtful": layout.doubtful,
        "errors": repr(layout.errors),
        "columns": {name: kind.value for name, kind in layout.columns},
    }


@dataclass(frozen=True, slots=True, eq=False)
class Regrouped:
    """Rules grouped by their cohorts; ``ended``, ``kept`` and ``begun`` name rules, for people."""

    planned: Planned
    cohorts: tuple[Cohort, ...]
    kept: tuple[str, ...] = ()
    begun: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What has changed, in words."""
        parts = [
            f"{', '.join(names)} {what}"
            for names, what in ((self.kept, "kept"), (self.begun, "begun"), (self.ended, "ended"))
            if names
        ]
        return "; ".join(parts)


def first_cohorts(planned: Planned, first: int) -> Regrouped:
    """All rules begin."""
    cohorts = tuple(Cohort.of(group, _new_shards(planned, group), first) for group in planned.split.groups)
    return Regrouped(planned, cohorts, begun=_names(planned.checked.rules.all_rules))


def regroup(
    planned: Planned, old: Sequence[Cohort], layout: Mapping[str, Any], following: int, checkpoint: str
) -> Regrouped:
    """Let rules go on in the cohorts that they had; SnapshotError says what cannot be. New ones begin with a
    micro-batch, the one that follows.
    """
    refusals = _Refusals(checkpoint)
    digests = {str(rule.name): rule_digest(rule) for rule in planned.checked.rules.all_rules}
    home = {
        name: number
        for number, cohort in enumerate(old)
        for name, digest in cohort.rules.items()
        if digests.get(name) == digest
    }
    _check_ties(planned, home, refusals)
    _check_layout(planned.events, layout, refusals)
    groups: list[RuleGroup] = []
    cohorts: list[Cohort] = []
    for number, cohort in enumerate(old):
        kept = [rule for rule in planned.checked.rules.all_rules if home.get(str(rule.name)) == number]
        if kept:
            _check_losses(cohort, kept, digests, refusals)
            group = _one_group(_split(planned, kept))
            if group is None or not _same_way(cohort.way, described_way(group.way)):
                refusals.add(str(kept[0].name), "would be split in another way, and the state of its shards with it")
                continue
            wanted = 1 if isinstance(group.way, Whole) else planned.options.shards
            if wanted != len(cohort.shards):
                refusals.add(str(kept[0].name), f"has {len(cohort.shards)} shards and now would have {wanted}")
            groups.append(group)
            cohorts.append(Cohort.of(group, cohort.shards, cohort.first))
    fresh = [rule for rule in planned.checked.rules.all_rules if str(rule.name) not in home]
    if fresh:
        for group in _split(planned, fresh).groups:
            groups.append(group)
            cohorts.append(Cohort.of(group, _new_shards(planned, group), following))
    if any(isinstance(group.way, ByBand) for group in groups) and not planned.events.marks_owned:
        refusals.add(str(groups[0].rules[0].name), "would be split in another way beside the new rules")
    refusals.raise_all()
    return Regrouped(
        replace(planned, split=Split(tuple(groups), planned.split.inputs)),
        tuple(cohorts),
        tuple(home),
        _names(fresh),
        tuple(name for cohort in old for name in cohort.rules if name not in digests),
    )


class _Refusals:
    """What stands in the way, all of it on one screen."""

    def __init__(self, checkpoint: str) -> None:
        self._checkpoint = checkpoint
        self._found: dict[str, Diagnostic] = {}

    def add(self, rule: str, reason: str) -> None:
        """Note a rule that cannot go on, or not begin."""
        message = f"the checkpoint was made by other rules: '{rule}' {reason}"
        place = Place(self._checkpoint)
        self._found.setdefault(rule, Diagnostic("checkpoint-rules", message, hint=WAY_OUT, place=place))

    def raise_all(self) -> None:
        """Raise what was found."""
        if self._found:
            raise SnapshotError(list(self._found.values()))


def _check_ties(planned: Planned, home: Mapping[str, int], refusals: _Refusals) -> None:
    """Rules that feed one another have to be of one cohort."""
    types = {**planned.checked.composites, **planned.checked.inputs}
    for component in components(planned.checked.rules.all_rules, types):
        names = [str(rule.name) for rule in component.rules]
        homes = {home.get(name) for name in names}
        if len(homes) > 1:
            newer = next((name for name in names if name not in home), names[-1])
            older = next(name for name in names if name in home and name != newer)
            refusals.add(newer, f"hangs together with '{older}', which goes on with what it remembers")


def _check_losses(cohort: Cohort, kept: Sequence[AnyRule], digests: Mapping[str, str], refusals: _Refusals) -> None:
    """Rules may leave a cohort if the others do not need what they remember, or have made."""
    gone = [name for name, digest in cohort.rules.items() if digests.get(name) != digest]
    if not gone:
        return
    names = [str(rule.name) for rule in kept]
    if not cohort.bounded:
        what = "has changed" if gone[0] in digests else "is gone"
        refusals.add(gone[0], f"{what} and shares its state with '{names[0]}', and some of them remember without end")
    made = {cohort.makes[name] for name in gone}
    for rule in kept:
        if made & set(mentioned_types(rule)):
            refusals.add(str(rule.name), f"looks at what '{gone[0]}' made, which is gone or has changed")


def _check_layout(layout: EventLayout, old: Mapping[str, Any], refusals: _Refusals) -> None:
    """What every event has must stay; attributes may come and go, and keep their types."""
    now = described_layout(layout)
    for name in ("ids", "sequenced", "intervals", "doubtful", "errors", "marks_owned"):
        if now[name] != old[name]:
            refusals.add("all rules", f"get events with other columns: {name.replace('_', ' ')}")
    for name, kind in now["columns"].items():
        if old["columns"].get(name, kind) != kind:
            refusals.add("all rules", f"get another type of '{name}': it was {old['columns'][name]}, now it is {kind}")


def _split(planned: Planned, rules: Iterable[AnyRule]) -> Split:
    names = {rule.name for rule in rules}
    own = planned.checked.rules
    part = replace(
        own,
        rules=tuple(rule for rule in own.rules if rule.name in names),
        interval_rules=tuple(rule for rule in own.interval_rules if rule.name in names),
        row_rules=tuple(rule for rule in own.row_rules if rule.name in names),
    )
    checked = replace(planned.checked, rules=part)
    found = split(checked, ways=planned.ways, shards=planned.options.shards, uncertain=planned.uncertain)
    return with_all_events(found, planned.split.inputs)


def _one_group(found: Split) -> RuleGroup | None:
    """The groups as one, if they can be: rules that stay whole may share a shard."""
    if len(found.groups) == 1:
        return found.groups[0]
    if not all(isinstance(group.way, Whole) for group in found.groups):
        return None
    rules = tuple(rule for group in found.groups for rule in group.rules)
    inputs = tuple(sorted({name for group in found.groups for name in group.inputs}))
    return RuleGroup(rules, inputs, Whole(), tuple(reason for group in found.groups for reason in group.reasons))


def _same_way(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether events go to the same shards: types that nothing looks at any longer do not matter."""
    if old["way"] != new["way"] or old.get("as_doubles") != new.get("as_doubles"):
        return False
    widest = [max(each.get("margins", {}).values(), default=0) for each in (old, new)]
    if widest[0] != widest[1]:  # the cells of a stream are as wide as that tells
        return False
    return all(
        old.get(part, {}).get(name) == value
        for part in ("attributes", "margins")
        for name, value in new.get(part, {}).items()
    )


def _new_shards(planned: Planned, group: RuleGroup) -> list[str]:
    count = 1 if isinstance(group.way, Whole) else planned.options.shards
    name = uuid4().hex[:8]
    return [f"{name}-{number}" for number in range(count)]


def _names(rules: Iterable[AnyRule]) -> tuple[str, ...]:
    return tuple(str(rule.name) for rule in rules)
