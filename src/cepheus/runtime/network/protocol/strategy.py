"""What a network of processors runs, and how its work is spread over them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from cepheus.engine.base.capabilities import NETWORK
from cepheus.plan.pattern.constructs import require_rules
from cepheus.rules.model import RuleSet


class Strategy(Enum):
    """The five deployment strategies."""

    CENTR = "Centr"
    ST = "ST"
    MT = "MT"
    ST_PP = "ST_PP"
    MT_PP = "MT_PP"

    @property
    def many_trees(self) -> bool:
        """Whether every sink has a tree of its own, instead of one tree for all."""
        return self in (Strategy.MT, Strategy.MT_PP)

    @property
    def pulls(self) -> bool:
        """Whether some partial rules wait to be asked for their events."""
        return self in (Strategy.ST_PP, Strategy.MT_PP)

    @property
    def central(self) -> bool:
        """Whether one processor does all the work."""
        return self is Strategy.CENTR


class Filter(Enum):
    """What a partial rule lets through.

    ``exact`` sends also what a choice elsewhere needs to come out right; ``as-printed`` sends what the papers say, the
    events of complete partial matches, and can change answers.
    """

    EXACT = "exact"
    AS_PRINTED = "as-printed"


class Order(Enum):
    """When a processor evaluates an event.

    ``progress`` waits until every child has promised that nothing earlier will come; ``arrival`` does not wait, as in
    the papers, and can miss events that travel longer.
    """

    PROGRESS = "progress"
    ARRIVAL = "arrival"


class Masters(Enum):
    """How push-pull strategies choose what pushes.

    ``adaptive`` observes rates and lets partial rules wait where that saves traffic. ``lowest-rate`` does as the paper:
    the partial rule of the lowest rate is master, and all others of the rule wait, those of several events too, whether
    that saves traffic or not. ``top`` makes the top of each pattern the master from the start.
    """

    ADAPTIVE = "adaptive"
    LOWEST_RATE = "lowest-rate"
    TOP = "top"


class Delivery(Enum):
    """From where composite events go down to sinks, if one tree is for all.

    ``on-the-way`` lets each processor that a composite event passes on its way up hand it to the sinks below it;
    ``from-root`` does as the paper: it goes up to the root first.
    """

    ON_THE_WAY = "on-the-way"
    FROM_ROOT = "from-root"


@dataclass(frozen=True, slots=True)
class Options:
    """What all processors of a network agree on; times are microseconds.

    ``adapt_every`` is the period of choosing masters. ``retain`` is for how long, by the clock, events are
    remembered beyond the windows of rules, so that trees can be built anew when a processor is lost; 0 if they never
    are.
    """

    strategy: Strategy = Strategy.ST
    filter: Filter = Filter.EXACT
    order: Order = Order.PROGRESS
    masters: Masters = Masters.ADAPTIVE
    adapt_every: int = 30_000_000
    retain: int = 0
    delivery: Delivery = Delivery.ON_THE_WAY


def check_supported(rules: RuleSet) -> None:
    """Refuse rules that a network cannot run.

    >>> from cepheus.language.tesla import parse
    >>> check_supported(parse("define Fire() from Smoke() min probability 0.5"))
    Traceback (most recent call last):
    ...
    cepheus.core.errors.UnsupportedError: ...: a network of processors does not support min probability...
    """
    require_rules(NETWORK, rules)
