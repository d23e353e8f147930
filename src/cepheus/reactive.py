"""Reactive values: what programs import. The parts live in ``cepheus.runtime.reactive``."""

from cepheus.runtime.reactive.following import Consistency, Follower, follow
from cepheus.runtime.reactive.keyed import Keyed, KeyedChange
from cepheus.runtime.reactive.observing import Changes, Emission, Observer, Trigger, becomes, changes
from cepheus.runtime.reactive.reactor import KEY, Reactor
from cepheus.runtime.reactive.signals import Change, Signal

__all__ = [
    "KEY",
    "Change",
    "Changes",
    "Consistency",
    "Emission",
    "Follower",
    "Keyed",
    "KeyedChange",
    "Observer",
    "Reactor",
    "Signal",
    "Trigger",
    "becomes",
    "changes",
    "follow",
]
