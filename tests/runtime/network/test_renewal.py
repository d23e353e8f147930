"""A processor that is left alone while something was under way."""

from __future__ import annotations

from collections import deque

import pytest

import cepheus
from cepheus.core.event import Event
from cepheus.rules.model import Rule
from cepheus.runtime.network.processor.processor import Processor
from cepheus.runtime.network.protocol.messages import (
    Admitted,
    AttachSource,
    Deployed,
    DeployRules,
    Lost,
    Message,
    Publish,
    Start,
    WithdrawRules,
)
from cepheus.runtime.network.protocol.strategy import Options, Strategy

RULES = tuple(rule for rule in cepheus.compile("define Fire() from Smoke()").rules.rules if isinstance(rule, Rule))


class Pair:
    """Two neighbours, of which the second may fall silent."""

    def __init__(self, strategy: Strategy) -> None:
        options = Options(strategy, retain=60_000_000)
        self.processors = {name: Processor(name, others, options) for name, others in (("p", ("q",)), ("q", ("p",)))}
        self.answers: list[Message] = []
        for rank, name in enumerate(self.processors):
            self.tell(name, Start(rank))

    def tell(self, name: str, message: Message) -> None:
        under_way: deque[tuple[str, Message, str]] = deque([(name, message, "client")])
        while under_way:
            to, message, sender = under_way.popleft()
            for next_to, answer in self.processors[to].handle(message, 0, sender):
                if next_to in self.processors:
                    under_way.append((next_to, answer, to))
                elif next_to == "client":
                    self.answers.append(answer)

    def silence(self) -> None:
        del self.processors["q"]


@pytest.mark.parametrize("strategy", Strategy)
def test_what_was_asked_for_is_answered_once_the_neighbour_is_given_up(strategy: Strategy) -> None:
    pair = Pair(strategy)
    pair.silence()
    pair.tell("p", DeployRules("r1", RULES))
    pair.tell("p", Lost("q"))
    assert [answer.request for answer in pair.answers if isinstance(answer, Deployed)] == ["r1"]
    pair.tell("p", AttachSource("s", ("Smoke",)))
    assert any(isinstance(answer, Admitted) for answer in pair.answers)
    pair.tell("p", WithdrawRules("r2", tuple(str(rule.name) for rule in RULES)))
    assert [answer.request for answer in pair.answers if isinstance(answer, Deployed)] == ["r1", "r2"]


@pytest.mark.parametrize("strategy", Strategy)
def test_a_source_that_waits_is_admitted_once_the_neighbour_is_given_up(strategy: Strategy) -> None:
    pair = Pair(strategy)
    pair.tell("p", DeployRules("r1", RULES))
    pair.silence()
    pair.tell("p", AttachSource("s", ("Smoke",)))
    pair.tell("p", Lost("q"))
    assert any(isinstance(answer, Admitted) for answer in pair.answers)
    pair.tell("p", Publish("s", (Event("Smoke", 5),), 5))
