"""Where a slave partial rule must look, once an event of the master has been seen."""

from __future__ import annotations

from dataclasses import dataclass

from cepheus.plan.partial.anatomy import Anatomy, anatomy, item_event, item_scope, scope_span
from cepheus.rules.expressions import AttributeRef, Comparison
from cepheus.rules.model import Aggregation, Negation, Rule
from cepheus.rules.resolve import Choose, resolve


@dataclass(frozen=True, slots=True)
class Span:
    """How far before and after an event of the master events of the slave matter, in microseconds."""

    past: int
    future: int


def span_around(rule: Rule, master: str, slave: str) -> Span:
    """The window that an event at one root opens for another; roots are named as in ``PartialRule.root``.

    With the terminator as master only the past matters, with the terminator as slave only the future; two
    sequences that meet further up open both.

    >>> from cepheus.language.tesla import parse
    >>> rule = parse("define F() from Smoke() and each Temp() within 5 min from Smoke").rules[0]
    >>> span_around(rule, "Smoke", "Temp"), span_around(rule, "Temp", "Smoke")
    (Span(past=300000000, future=0), Span(past=0, future=300000000))
    """
    shape = anatomy(rule)
    chain, behind = _hangs(shape, master)
    target, reaches = _hangs(shape, slave)
    if slave in shape.selections and slave in chain and not shape.selections[slave].policy.takes_all:
        target = target[1:]  # whoever chooses there compares it with others that lie as far from its reference
        reaches += shape.selections[slave].window.duration
    common = next(name for name in chain if name in target)
    future = behind + shape.back(chain[0], common)
    past = reaches + shape.back(target[0], common)
    return Span(past, future)


def shared_values(rule: Rule, master: str, slave: str) -> tuple[tuple[str, str], ...]:
    """Find pairs of attributes, of the master's event and of the slave's, that must be equal for both to take part.

    Only where the master's event is known when the slave's is chosen, or all of the slave's are taken: elsewhere an
    event with another value may be the one that is chosen, to no avail.
    """
    steps = {step.name: step for step in resolve(rule).steps if isinstance(step, Choose)}
    names = anatomy(rule).positions
    if master not in names or slave not in names or master == slave:
        return ()
    later, earlier = (slave, master) if names.index(slave) > names.index(master) else (master, slave)
    step = steps[later]
    selection = anatomy(rule).selections.get(slave)
    taken_all = selection is None or selection.policy.takes_all
    if later == master and not taken_all:
        return ()
    pairs = []
    for constraint in step.constraints:
        match constraint:
            case Comparison(
                operands=(AttributeRef(event=str(left), name=one), AttributeRef(event=str(right), name=other)),
                operators=("=",),
            ) if {left, right} == {earlier, later}:
                pairs.append((one, other) if left == master else (other, one))
    return tuple(pairs)


def _hangs(shape: Anatomy, root: str) -> tuple[tuple[str, ...], int]:
    """The positions that a root hangs from, the nearest first, and how far before the nearest it can lie."""
    if not root.startswith("#"):
        return shape.path(root), 0
    item = shape.pattern.items[int(root[1:])]
    assert isinstance(item, Negation | Aggregation), item_event(item).name
    reference, duration = scope_span(item_scope(item), shape)
    return shape.path(reference), duration
