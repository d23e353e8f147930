"""The network of one rule: what the rule says and what an expert adds, evaluated with the rule's parts observed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from cepheus.core.errors import OptionError, RuleError, did_you_mean
from cepheus.core.time import format_time
from cepheus.language.tesla import format_belief, parse
from cepheus.rules.belief.model import NO, YES, Bands, Belief, Node, Observation, Row, Season
from cepheus.rules.belief.periods import contains, next_change
from cepheus.rules.belief.translate import CERTAIN, IMPOSSIBLE, enrich, translate
from cepheus.rules.check.belief import check_belief, node_alone, states_of
from cepheus.rules.check.findings import Findings
from cepheus.rules.model import Rule
from cepheus.uncertainty.belief.structure import Structure
from cepheus.uncertainty.belief.written import Table, bands_of, period_of, rows_of


@dataclass(frozen=True)
class RuleBelief:
    """The Bayesian network of a rule; an edit gives a new one, and one that makes no sense is a RuleError.

    >>> from cepheus.language.tesla import parse
    >>> from cepheus.rules.check.check import name_rules
    >>> rules = name_rules(parse("define Fire() from Smoke() and last Temp(value > 45) within 5 min from Smoke"))
    >>> belief = RuleBelief.of(rules.rules[0])
    >>> belief.probability()
    1.0
    >>> belief = belief.set("Barbecue", {"YES": 0.2, "NO": 0.8})
    >>> smoke = {("YES", "*"): {"YES": 1, "NO": 0}, ("NO", "YES"): {"YES": 0.5, "NO": 0.5},
    ...          ("NO", "NO"): {"YES": 0, "NO": 1}}
    >>> belief = belief.set("Smoke", smoke, given=["Fire", "Barbecue"])
    >>> belief.probability()  # Temp still has no other cause
    1.0
    >>> temp = {"YES": {"YES": 1, "NO": 0}, "NO": {"YES": 0.5, "NO": 0.5}}
    >>> belief.set("Temp", temp, given=["Fire"]).probability()  # 1 / (1 + 0.2 * 0.5 * 0.5)
    0.9523809523809523
    """

    rule: Rule
    added: Belief
    translated: Belief = field(compare=False, repr=False)
    whole: Belief = field(compare=False, repr=False)
    structure: Structure = field(compare=False, repr=False)

    @classmethod
    def of(cls, rule: Rule, added: Belief | None = None) -> RuleBelief:
        """The network of a rule that has a name; what is added to it must have been checked."""
        translated = translate(rule)
        added = Belief(str(rule.name)) if added is None else added
        whole = enrich(translated, added)
        return cls(rule, added, translated, whole, Structure.of(whole, states_of(translated, whole)))

    def __reduce__(self) -> tuple[Callable[..., RuleBelief], tuple[Rule, Belief]]:
        """Travel without what was worked out for it, which the other side works out again."""
        return RuleBelief.of, (self.rule, self.added)

    # ---- What it is ----------------------------------------------------------------------------------------------

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """All nodes by name: the composite event, its parts, and what was added."""
        return {node.name: node for node in self.whole.nodes}

    @property
    def states(self) -> Mapping[str, tuple[str, ...]]:
        """The states of each node."""
        return self.structure.states

    @property
    def composite(self) -> str:
        """The node that is asked for: the composite event."""
        return self.translated.nodes[0].name

    @property
    def parts(self) -> Mapping[str, str]:
        """The events that are observed in every match, each with its state."""
        return {known.node: known.state for known in self.translated.observations}

    @property
    def observed(self) -> Mapping[str, str]:
        """Everything that is observed: the parts, and what an expert says is known."""
        return {known.node: known.state for known in self.whole.observations}

    @property
    def is_scheduled(self) -> bool:
        """Whether the probability depends on the time."""
        return any(node.seasons for node in self.nodes.values())

    def text(self) -> str:
        """What was added, as it is written next to the rule."""
        return format_belief(self.added)

    # ---- What it is worth ----------------------------------------------------------------------------------------

    def probability(self, at: int | None = None) -> float:
        """The probability of the composite event when all its parts are observed.

        ``at`` is a time in microseconds since the epoch, for tables that change over time; without it they have the
        values that hold outside all periods. A rule to whose network nothing was added gives exactly 1.
        """
        return self._posterior(self.composite, self.whole.observations, at)[YES]

    def posterior(
        self, node: str, at: int | None = None, observed: Mapping[str, str] | None = None
    ) -> dict[str, float]:
        """The probabilities of a node's states; ``observed`` takes the place of what a match observes.

        >>> rules = parse('''rule Hot define HotWater() from SolarPanel()
        ... network Hot {
        ...   node SolarPanel {YES: .7, NO: .3}
        ...   node Boiler given SolarPanel { YES: {ON: .8, OFF: .2}  NO: {ON: .95, OFF: .05} }
        ...   node HotWater given SolarPanel, Boiler {
        ...     YES, ON: {YES: 1, NO: 0}  YES, OFF: {YES: .9, NO: .1}
        ...     NO, ON: {YES: .9, NO: .1}  NO, OFF: {YES: .1, NO: .9} } }''')
        >>> belief = RuleBelief.of(rules.rules[0], rules.beliefs[0])
        >>> round(belief.probability(), 9), round(belief.posterior("HotWater", observed={})["YES"], 4)
        (0.98, 0.944)
        """
        self._require(node)
        known = self.whole.observations
        if observed is not None:
            for name, state in observed.items():
                self._require(name, state)
            known = tuple(Observation(name, state) for name, state in observed.items())
        return self._posterior(node, known, at)

    def next_change(self, after: int) -> int | None:
        """The first time after the given one at which a table changes, in microseconds since the epoch."""
        seasons = (season for node in self.nodes.values() for season in node.seasons)
        found = (next_change(season.period, after) for season in seasons)
        return min((time for time in found if time is not None), default=None)

    def _posterior(self, asked: str, known: tuple[Observation, ...], at: int | None) -> dict[str, float]:
        states = self.states[asked]
        rows = {node.name: _rows_at(node, at) for node in self.whole.nodes}
        others = tuple(each for each in known if each.node != asked)
        joint = self.structure.joint(asked, others, self.nodes, rows)
        for each in known:
            if each.node == asked:
                joint = [chance if state == each.state else 0.0 for state, chance in zip(states, joint, strict=True)]
        total = sum(joint)
        if total <= 0.0:
            raise self._impossible(known, at)
        return {state: chance / total for state, chance in zip(states, joint, strict=True)}

    def _impossible(self, known: tuple[Observation, ...], at: int | None) -> RuleError:
        seen = ", ".join(f"{each.node} = {each.state}" for each in known)
        when = f" at {format_time(at)}" if at is not None and self.is_scheduled else ""
        return RuleError.of(
            "evidence",
            f"by the network of '{self.rule.name}' what is observed cannot be{when}: {seen}",
            span=self.added.span,
            hint="give it a probability above 0, if only a small one",
        )

    # ---- Edits ---------------------------------------------------------------------------------------------------

    def set(
        self,
        node: str,
        table: Table,
        *,
        given: list[str] | tuple[str, ...] | None = None,
        bands: Bands | str | None = None,
    ) -> RuleBelief:
        """Add a node, or give one another table.

        ``table`` is a mapping of states to probabilities or, for a number, a distribution; for a node that depends on
        others it maps their states, ``"*"`` standing for any, to those. ``given`` names the nodes that it depends on,
        ``bands`` how a number is seen by others; both stay as they are if left out, and so do the node's seasons.
        """
        before = self.nodes.get(node)
        parents = tuple(given) if given is not None else before.parents if before is not None else ()
        seen = bands_of(bands) if bands is not None else before.bands if before is not None else None
        seasons = before.seasons if before is not None and before.parents == parents else ()
        return self.with_node(Node(node, rows_of(table, parents), parents, seen, seasons))

    def during(self, node: str, start: str, end: str, table: Table) -> RuleBelief:
        """Let a node have another table during a period; the last of several that apply counts.

        ``start`` and ``end`` are times of day (``07:00``), of the week (``Mon 07:00``), of the year (``12-01``), or
        ISO 8601 times, in UTC.
        """
        self._require(node)
        before = self.nodes[node]
        season = Season(period_of(start, end), rows_of(table, before.parents))
        return self.with_node(replace(before, seasons=(*before.seasons, season)))

    def remove(self, node: str) -> RuleBelief:
        """Take away an added node, or what was said of an event, which is then as the rule has it."""
        self._require(node)
        nodes = tuple(other for other in self.added.nodes if other.name != node)
        known = tuple(other for other in self.added.observations if other.node != node)
        return self._checked(replace(self.added, nodes=nodes, observations=known))

    def observe(self, node: str, state: str | None) -> RuleBelief:
        """Say that an added node is known to be in a state; None forgets what was said."""
        self._require(node, state)
        known = tuple(other for other in self.added.observations if other.node != node)
        if state is not None:
            known += (Observation(node, state),)
        return self._checked(replace(self.added, observations=known))

    def reverse(self, *parts: str) -> RuleBelief:
        """Make parts of the rule causes of the composite event instead of effects.

        The composite event then happens if and only if they all do as the rule says; set its table to say more. Where a
        table was written that has no place then, that is an OptionError.
        """
        for part in parts:
            if part not in self.parts:
                hint = did_you_mean(part, self.parts) or f"the parts are {', '.join(self.parts)}"
                raise OptionError.of("node", f"'{part}' is not a part of the rule '{self.rule.name}'", hint=hint)
        composite = self.nodes[self.composite]
        already = tuple(cause for cause in composite.parents if cause in self.parts)
        effects = [node for node in self.added.nodes if node.name in parts and self.composite in node.parents]
        own = [composite] if composite in self.added.nodes and composite != self._caused_by(already) else []
        for node in (*own, *effects):
            raise OptionError.of(
                "node",
                f"the table that was written for '{node.name}' would be lost",
                hint=f"remove '{node.name}' first, then reverse, and write another",
            )
        made = self._caused_by(tuple(dict.fromkeys([*already, *parts])))
        kept = tuple(node for node in self.added.nodes if node.name != self.composite)
        return self._checked(replace(self.added, nodes=(made, *kept)))

    def _caused_by(self, parts: tuple[str, ...]) -> Node:
        """The composite event as what happens if and only if parts do as the rule says."""
        fits = tuple(self.parts[part] for part in parts)
        others = [(*fits[:place], NO if fits[place] == YES else YES) for place in range(len(fits))]
        rows = [Row(CERTAIN, fits), *(Row(IMPOSSIBLE, (*case, *[None] * (len(fits) - len(case)))) for case in others)]
        return Node(self.composite, tuple(rows), parts)

    def write(self, text: str) -> RuleBelief:
        """Put nodes written as text in place of those of their names: ``node Jam {HIGH: .1, LOW: .9}``."""
        read = parse(f"network {self.rule.name} {{\n{text}\n}}", "<network>").beliefs[0]
        nodes = self.added.nodes
        for node in read.nodes:
            nodes = _put(nodes, node)
        known = {each.node for each in read.observations}
        return self._checked(
            replace(
                self.added,
                nodes=nodes,
                observations=(
                    *(each for each in self.added.observations if each.node not in known),
                    *read.observations,
                ),
            )
        )

    def with_nodes(self, nodes: tuple[Node, ...]) -> RuleBelief:
        """Put nodes in place of all that was added; what was observed of nodes that stay is kept."""
        names = {node.name for node in nodes}
        known = tuple(each for each in self.added.observations if each.node in names)
        return self._checked(replace(self.added, nodes=nodes, observations=known))

    def with_node(self, node: Node) -> RuleBelief:
        """Put a node in place of that of its name, or add it."""
        added = replace(self.added, nodes=_put(self.added.nodes, node))
        before = self.nodes.get(node.name)
        if before is None or (before.parents, before.states) != (node.parents, node.states):
            return self._checked(added)
        findings = Findings()
        node_alone(node, self.states, findings, is_event=any(node.name == each.name for each in self.translated.nodes))
        _raise(findings)
        return replace(self, added=added, whole=replace(self.whole, nodes=_put(self.whole.nodes, node)))

    def _checked(self, added: Belief) -> RuleBelief:
        findings = Findings()
        check_belief(self.rule, added, findings)
        _raise(findings)
        return RuleBelief.of(self.rule, added)

    def _require(self, node: str, state: str | None = None) -> None:
        if node not in self.nodes:
            hint = did_you_mean(node, self.nodes) or f"its nodes are {', '.join(self.nodes)}"
            raise OptionError.of("node", f"the network of '{self.rule.name}' has no node '{node}'", hint=hint)
        if state is not None and state not in self.states[node]:
            hint = did_you_mean(state, self.states[node]) or f"its states are {', '.join(self.states[node])}"
            raise OptionError.of("node", f"'{node}' has no state '{state}'", hint=hint)


def _rows_at(node: Node, at: int | None) -> tuple[Row, ...]:
    if at is not None:
        for season in reversed(node.seasons):
            if contains(season.period, at):
                return season.rows
    return node.rows


def _put(nodes: tuple[Node, ...], node: Node) -> tuple[Node, ...]:
    """Put a node in place of that of its name, or behind the others."""
    if any(other.name == node.name for other in nodes):
        return tuple(node if other.name == node.name else other for other in nodes)
    return (*nodes, node)


def _raise(findings: Findings) -> None:
    errors = findings.errors()
    if errors:
        raise RuleError(errors)
