"""The order of composite events that come from everywhere: that in which one engine makes them."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import cepheus
from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.runtime.spark.detect_files import order_of_making

TESLA = [
    """
    define Q(x: int) from P(x=$x) and each B(x=$x) within 3 us from P where x=P.x
    define P(x: int) from A(x=$x) and each B(x=$x) within 3 us from A where x=A.x
    define Z(x: int) from A(x=$x) and last P() within 9 us from A where x=A.x
    """,
    "define A2(x: int) from Z2(x=$x) where x=Z2.x define Z2(x: int) from A(x=$x) where x=A.x",
]
ETALIS = [
    "p(X) <- (A(X) SEQ B(X)).3 us. q(X) <- (p(X) AND A(X)).3 us. r(X) <- q(X). z(X) <- B(X).",
    "a(X) <- z(X). z(X) <- B(X).",
    "p(X, N) <- A(X) WHERE N = COUNT(B(X) WITHIN 3 us). z(X) <- p(X, _). y(X) <- z(X) SEQ B(X) POLICY recent.",
]


@pytest.mark.parametrize(
    ("rules", "engine"),
    [*((rules, "reference") for rules in TESLA), *((rules, "interval-reference") for rules in ETALIS)],
)
def test_effects_follow_their_causes_as_in_one_engine(rules: str, engine: str) -> None:
    random = Random(5)
    events = [Event(random.choice("AB"), place // 3, {"x": random.randint(1, 2)}, id=place) for place in range(60)]
    declared = "event A(x: int) event B(x: int) " if engine == "reference" else "event A(x: int). event B(x: int). "
    program = cepheus.compile(declared + rules)
    given = EventBatch.from_events(events)
    made = program.detect(given, engine=engine)
    assert len(made) > 20
    shuffled = made.take(np.array(random.sample(range(len(made)), len(made))))
    ordered = shuffled.take(order_of_making(shuffled, given, program.checked.rules))
    assert ordered.id_list() == made.id_list()
