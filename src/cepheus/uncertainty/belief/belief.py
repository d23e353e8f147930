"""The network of one rule: what the rule says and what an expert adds, evaluated with the rule's parts observed.

Besides, what callers write in Python for the parts of a network, and the networks of a whole rule set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from cepheus.core.distribution import Distribution, as_distribution
from cepheus.core.errors import OptionError, RuleError, did_you_mean
from cepheus.core.time import format_time
from cepheus.language.tesla import format_belief, parse
from cepheus.rules.belief.model import NO, YES, Bands, Belief, Chances, Node, Observation, Row, Season, number_of
from cepheus.rules.belief.periods import Period, contains, next_change, read_period
from cepheus.rules.belief.translate import CERTAIN, IMPOSSIBLE, enrich, translate
from cepheus.rules.check.belief import check_belief, node_alone, states_of
from cepheus.rules.check.findings import Findings
from cepheus.rules.model import Rule, RuleSet
from cepheus.uncertainty.belief.elimination import Structure


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
        self, node: str, at: int | None = None, observed: Mapping[str, str | float] | None = None
    ) -> dict[str, float]:
        """The probabilities of a node's states; ``observed`` takes the place of what a match observes.

        A node that is a number may be observed as a number: what is known is then its very value, not only its band.

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
            told = {name: str(_told(state)) for name, state in observed.items()}
            for name, state in told.items():
                self._require(name, state)
            known = tuple(Observation(name, state) for name, state in told.items())
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
                number, bands = each.number, self.nodes[asked].bands
                seen = each.state if number is None or bands is None else bands.states[bands.place_of(number)]
                joint = [chance if state == seen else 0.0 for state, chance in zip(states, joint, strict=True)]
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

    def observe(self, node: str, state: str | float | None) -> RuleBelief:
        """Say that an added node is known to be in a state, or to be a number; None forgets what was said."""
        state = _told(state)
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

    def learned(
        self, cases: Iterable[Mapping[str, object]], *, smoothing: float = 1.0, only: Iterable[str] | None = None
    ) -> RuleBelief:
        """Give nodes the tables that make cases likely: by counting, and where cases leave nodes out by expectation
        and maximisation. ``uncertainty/belief/learn.py`` tells more.
        """
        from cepheus.uncertainty.belief.learn import learned  # which is written in terms of this class

        return learned(self, cases, smoothing=smoothing, only=only)

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
        if state is not None and self.nodes[node].bands is not None and number_of(state) is not None:
            return
        if state is not None and state not in self.states[node]:
            hint = did_you_mean(state, self.states[node]) or f"its states are {', '.join(self.states[node])}"
            raise OptionError.of("node", f"'{node}' has no state '{state}'", hint=hint)


def _told(state: str | float | None) -> str | None:
    return state if state is None or isinstance(state, str) else repr(float(state))


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


Table = Mapping[Any, Any] | Distribution | str
"""What is said of a node: how likely each state is, or how a number is distributed (``N(20, 4)``, or of SciPy).

Where the node depends on others, a mapping of their states (``*`` for any), one alone or several in a tuple, to that.
"""

_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_NAME = re.compile(r"[^\W\d]\w*")


def rows_of(table: Table, parents: Iterable[str]) -> tuple[Row, ...]:
    """The rows of a table.

    >>> rows_of({("YES", "*"): {"YES": 1.0, "NO": 0.0}}, ["Fire", "Jam"])
    (Row(value=(('YES', 1.0), ('NO', 0.0)), given=('YES', None)),)
    """
    if not tuple(parents):
        return (Row(_value(table)),)
    if not isinstance(table, Mapping):
        raise _wrong("a node that depends on others needs a row for each case", "write {('YES', 'HIGH'): {..}, ..}")
    rows = []
    for key, value in table.items():
        states = (key,) if isinstance(key, str) else key
        if not isinstance(states, tuple) or not all(isinstance(state, str) for state in states):
            raise _wrong(f"{key!r} does not name states", "write ('YES', 'HIGH'), or '*' for any state")
        rows.append(Row(_value(value), tuple(None if state == "*" else state for state in states)))
    return tuple(rows)


def bands_of(bands: Bands | str) -> Bands:
    """Read the bands of a number.

    >>> bands_of("COLD < 5 < MILD < 25 < HOT")
    Bands(states=('COLD', 'MILD', 'HOT'), cuts=(5.0, 25.0))
    """
    if isinstance(bands, Bands):
        return bands
    words = [word.strip() for word in bands.split("<")]
    states, cuts = words[::2], words[1::2]
    if len(words) % 2 == 0 or not all(map(_NAME.fullmatch, states)) or not all(map(_NUMBER.fullmatch, cuts)):
        raise _wrong(f"'{bands}' does not name bands", "write them as in 'COLD < 5 < MILD < 25 < HOT'")
    return Bands(tuple(states), tuple(map(float, cuts)))


def period_of(start: str, end: str) -> Period:
    """Read the two ends of a period; OptionError if they make none."""
    try:
        return read_period(start, end)
    except ValueError as error:
        hint = "write '07:00', 'Mon 07:00', '12-01' or '2026-12-01T00:00:00Z' on both sides; times are UTC"
        raise OptionError.of("period", str(error), hint=hint) from None


def _value(value: object) -> Chances | Distribution:
    if not isinstance(value, Mapping):
        return as_distribution(value)
    chances = []
    for state, chance in value.items():
        if not isinstance(state, str) or not _is_name(state):
            raise _wrong(f"{state!r} is not the name of a state", "write {'HIGH': 0.1, 'LOW': 0.9}")
        if type(chance) is not float and (isinstance(chance, bool) or not isinstance(chance, int | float)):
            raise _wrong(f"the probability of '{state}' is {chance!r}", "write a number from 0 to 1")
        chances.append((state, float(chance)))
    return tuple(chances)


@lru_cache(maxsize=1024)
def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def _wrong(message: str, hint: str) -> OptionError:
    return OptionError.of("table", message, hint=hint)


_MOST_NAMED = 10


def beliefs_of(rules: RuleSet) -> dict[str, RuleBelief]:
    """The networks of checked rules that have one, by the name of the rule; each is evaluated once.

    A rule without a network of its own says that its parts have no other cause: its probability is 1.

    >>> from cepheus.language.tesla import parse
    >>> from cepheus.rules.check.check import name_rules
    >>> rules = parse("define Fire() from Smoke() network Fire {node Smoke given Fire {*: {YES: .5, NO: .5}}}")
    >>> beliefs_of(name_rules(rules))["Fire"].probability()
    0.5
    """
    by_name = {rule.name: rule for rule in rules.rules}
    found = {each.rule: RuleBelief.of(by_name[each.rule], each) for each in rules.beliefs}
    for belief in found.values():
        verify(belief)
    return found


def belief_of(rules: RuleSet, name: str) -> RuleBelief:
    """The network of a rule, given by its name, in checked rules."""
    rule = next((rule for rule in rules.rules if rule.name == name), None)
    if rule is None:
        names = [str(rule.name) for rule in rules.rules]
        hint = did_you_mean(name, names) or f"the rules are {', '.join(names[:_MOST_NAMED])}"
        raise OptionError.of("network", f"there is no rule '{name}'", hint=hint if names else None)
    return RuleBelief.of(rule, next((each for each in rules.beliefs if each.rule == name), None))


def verify(belief: RuleBelief) -> None:
    """Evaluate a network as it is at most times and in each of its seasons; RuleError if what is observed cannot be."""
    belief.probability()
    for node in belief.nodes.values():
        for season in node.seasons:
            begins = next_change(season.period, 0)
            while begins is not None and not contains(season.period, begins):
                begins = next_change(season.period, begins)
            if begins is not None:
                belief.probability(begins)


def probabilities_at(beliefs: Iterable[RuleBelief], time: int) -> tuple[Mapping[str, float], int | None]:
    """The probability of each rule at a time, and the time at which one of them may change next."""
    found, change = {}, None
    for belief in beliefs:
        found[str(belief.rule.name)] = belief.probability(time)
        changes = belief.next_change(time)
        change = changes if change is None else change if changes is None else min(change, changes)
    return found, change
