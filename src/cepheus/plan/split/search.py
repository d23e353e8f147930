"""The search for one attribute per event type by which events that rules bring together are always close.

Equal values make a key, bounded distances a band. An event goes to shards by one attribute only, so what one rule needs
of a type must suit all rules of its component; the search tries the few choices there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from cepheus.core.schema import TIME_ATTRIBUTE
from cepheus.plan.split.component import Component, IntervalMember, Member, RowMember
from cepheus.plan.split.links import SAME, Distance, Known, at_site, at_terminator, candidates, learn, of_value
from cepheus.rules.interval.reach import points
from cepheus.rules.timers import Every

Attributes = Mapping[str, str]
"""For each event type, the attribute that is chosen."""

Fits = Callable[[str, str, Distance], bool]
"""Whether an attribute of an event type, at some distance from the terminator's, will do."""

_MOST_TRIALS = 20_000


@dataclass(slots=True)
class Obstacle:
    """The farthest that a search came: the rule that it did not get past, and why."""

    rule: str = ""
    words: str = ""
    depth: tuple[int, int] = (-1, -1)

    def note(self, depth: tuple[int, int], rule: str, words: str) -> None:
        """Remember what stopped the search, unless it came farther before."""
        if depth > self.depth:
            self.depth, self.rule, self.words = depth, rule, words


def search(component: Component, given: Attributes, fits: Fits, need: str, obstacle: Obstacle) -> Attributes | None:
    """Find an attribute for every event type of a component; None, and the obstacle noted, if there is none.

    ``given`` are choices that stand. ``need`` says in words what events must be tied by.
    """
    members = component.all_members
    stack: list[Iterator[Attributes]] = [_fit(members[0], given, fits, need, obstacle, 0)]
    trials = 0
    while stack:
        found = next(stack[-1], None)
        trials += 1
        if found is None or trials > _MOST_TRIALS:
            stack.pop()
        elif len(stack) == len(members):
            return found
        else:
            number = len(stack)
            stack.append(_fit(members[number], found, fits, need, obstacle, number))
    return None


def _fit(
    member: Member | IntervalMember | RowMember,
    given: Attributes,
    fits: Fits,
    need: str,
    obstacle: Obstacle,
    number: int,
) -> Iterator[Attributes]:
    """Yield the ways to extend choices so that they suit a rule."""
    if isinstance(member, RowMember):
        yield from _fit_rows(member, given, fits, obstacle, number)
        return
    if isinstance(member, IntervalMember):
        yield from _fit_intervals(member, given, fits, obstacle, number)
        return
    rule = member.resolved
    terminator = rule.terminator.type
    if isinstance(rule.timer, Every):
        obstacle.note((number, 0), rule.name, "its moments go with every value")
        return
    choices = (given[terminator],) if terminator in given else _of_terminator(member)
    if not choices:
        obstacle.note((number, 0), rule.name, f"nothing ties other events to {rule.terminator.name} by {need}")
    for attribute in choices:
        known = at_terminator(rule, attribute)
        start = {**given, terminator: attribute}
        if not fits(terminator, attribute, known[rule.terminator.name, attribute]):
            obstacle.note(
                (number, 0), rule.name, f"nothing ties other events to {rule.terminator.name}.{attribute} by {need}"
            )
            continue
        yield from _fit_sites(member, 0, start, known, fits, need, obstacle, number)


def _of_terminator(member: Member) -> tuple[str, ...]:
    """The attributes to try; a rule that looks at nothing else is at home anywhere, such as at its time."""
    return candidates(member.resolved) + ((TIME_ATTRIBUTE,) if not member.sites else ())


def _fit_sites(
    member: Member, at: int, given: Attributes, known: Known, fits: Fits, need: str, obstacle: Obstacle, number: int
) -> Iterator[Attributes]:
    if at == len(member.sites):
        yield from _fit_composite(member, given, known, fits, obstacle, number)
        return
    site = member.sites[at]
    tied = [name for name, distance in at_site(site, known).items() if fits(site.type, name, distance)]
    wanted = given.get(site.type)
    if not tied or wanted not in (None, *tied):
        rule = member.resolved
        attribute = given[rule.terminator.type]
        by = f"{need} to {rule.terminator.name}.{attribute}"
        words = f"'{site.what}' is not tied by {by}"
        if tied:
            words = f"'{site.what}' is tied by its {tied[0]}, but {site.type} goes by its {wanted} elsewhere"
        obstacle.note((number, at + 1), rule.name, words)
        return
    further = dict(known)
    learn(site, further)
    for name in [wanted] if wanted is not None else tied:
        yield from _fit_sites(member, at + 1, {**given, site.type: name}, further, fits, need, obstacle, number)


def _fit_composite(
    member: Member, given: Attributes, known: Known, fits: Fits, obstacle: Obstacle, number: int
) -> Iterator[Attributes]:
    """Go on if the composite event carries the value along, or nobody looks at it."""
    rule = member.resolved
    if not member.feeds:
        yield given
        return
    carried = [
        name
        for name, distance in carries(member, given[rule.terminator.type], known).items()
        if fits(rule.composite.name, name, distance)
    ]
    wanted = given.get(rule.composite.name)
    if not carried or wanted not in (None, *carried):
        words = f"{rule.composite.name} does not carry along {rule.terminator.name}.{given[rule.terminator.type]}"
        obstacle.note((number, len(member.sites) + 1), rule.name, words)
        return
    for name in [wanted] if wanted is not None else carried:
        yield {**given, rule.composite.name: name}


def carries(member: Member, attribute: str, known: Known) -> dict[str, Distance]:
    """The attributes of a composite event whose distance from the terminator's attribute is known."""
    found = {
        assignment.attribute: distance
        for assignment in member.resolved.assignments
        if (distance := of_value(assignment.value, known)) is not None
    }
    if attribute == TIME_ATTRIBUTE and not member.resolved.delay:  # a composite event has its terminator's time
        found[TIME_ATTRIBUTE] = known[member.resolved.terminator.name, attribute]
    return found


def _fit_intervals(
    member: IntervalMember, given: Attributes, fits: Fits, obstacle: Obstacle, number: int
) -> Iterator[Attributes]:
    """Yield the ways to extend choices so that they suit an interval rule.

    All its atoms must share one variable, those that are negated or aggregated included: then partners are only ever
    looked for, chosen, replaced and used up among events of one value, under every policy. And what it makes must carry
    the value along, whether or not rules look at it, since equal complex events are one.
    """
    rule = member.rule
    if points([rule]):
        obstacle.note((number, 0), str(rule.name), "a point in time goes with every value")
        return
    variables = list(dict.fromkeys(variable for atom in member.atoms for variable in atom.variables))
    if not variables:
        obstacle.note((number, 0), str(rule.name), "no variable is shared by its events")
    for variable in variables:
        yield from _fit_atoms(member, variable, 0, given, fits, obstacle, number)


def _fit_atoms(
    member: IntervalMember, variable: str, at: int, given: Attributes, fits: Fits, obstacle: Obstacle, number: int
) -> Iterator[Attributes]:
    """Go on atom by atom, and then with the head."""
    name, head = str(member.rule.name), member.rule.head.name
    places = [(atom.type, atom.variables.get(variable, ())) for atom in member.atoms]
    places.append((head, member.carried.get(variable, ())))
    if at == len(places):
        yield given
        return
    event_type, attributes = places[at]
    tied = [attribute for attribute in attributes if fits(event_type, attribute, SAME)]
    wanted = given.get(event_type)
    if not tied or wanted not in (None, *tied):
        if tied:
            words = f"'{event_type}' has {variable} as its {tied[0]}, but goes by its {wanted} elsewhere"
        elif attributes:
            words = f"{variable} is uncertain in '{event_type}'"
        elif at == len(member.atoms):
            words = f"{head} does not carry along {variable}, and equal events of different {variable} are one"
        else:
            words = f"'{event_type}' does not share {variable}"
        obstacle.note((number, at + 1), name, words)
        return
    for attribute in [wanted] if wanted is not None else tied:
        yield from _fit_atoms(member, variable, at + 1, {**given, event_type: attribute}, fits, obstacle, number)


def _fit_rows(
    member: RowMember, given: Attributes, fits: Fits, obstacle: Obstacle, number: int
) -> Iterator[Attributes]:
    """Yield the ways to extend choices so that they suit a query: by a column of PARTITION BY, which matches carry."""
    rule, source = member.rule, member.rule.query.source
    name, composite = str(rule.name), rule.composite.name
    wanted = given.get(source)
    tied = [each for each in rule.query.partition if fits(source, each, SAME) and wanted in (None, each)]
    if not tied:
        by = ", ".join(rule.query.partition)
        words = f"its rows are partitioned by {by}, and go by {wanted} elsewhere" if by else "it has no PARTITION BY"
        obstacle.note((number, 0), name, words)
    for attribute in tied:
        further = {**given, source: attribute}
        if not member.feeds:
            yield further
            continue
        carried = [each for each, column in rule.carried.items() if column == attribute]
        carried = [each for each in carried if fits(composite, each, SAME) and given.get(composite) in (None, each)]
        if not carried:
            obstacle.note((number, 1), name, f"{composite} does not carry along {attribute}")
        for each in carried:
            yield {**further, composite: each}
