"""Each learner alone, against a rule that is known."""

from __future__ import annotations

import numpy as np
import pytest
from hidden_rules import batch, labelled, stream

from cepheus.core.time import SECOND
from cepheus.learning.drafts import Absence, Bound, Draft, Link, Place, Summary, bind
from cepheus.learning.hints import Hints
from cepheus.learning.history import History
from cepheus.learning.learners.aggregates import AggregateLearner, RepetitionLearner
from cepheus.learning.learners.constraints import ConstraintLearner
from cepheus.learning.learners.events import EventLearner
from cepheus.learning.learners.negations import NegationLearner
from cepheus.learning.learners.order import OrderLearner
from cepheus.learning.learners.parameters import ParameterLearner
from cepheus.learning.learners.windows import WindowLearner
from cepheus.learning.occurrences import Occurrences
from cepheus.learning.state import Learner, State, Task
from cepheus.learning.terminators import find_endings
from cepheus.learning.traces import cut

HORIZON = 60 * SECOND


def task_of(rule: str, seed: int = 1) -> Task:
    """What is to be learned, with labels by a rule."""
    history = History.of(batch(labelled(stream(seed), rule)))
    occurrences = Occurrences.among(history, "Incident")
    events = history.only(set(history.types) - {"Incident"})
    rng = np.random.default_rng(seed)
    ending = find_endings(events, occurrences, rng)[0]
    assert ending.type == "A"
    assert ending.late == 0
    traces = cut(events, ending, occurrences, (events.span[0], events.span[1] + 1), rng)
    return Task(traces, Hints(), HORIZON, 8.0, np.ones(len(traces), np.bool_))


def best(learner: Learner, task: Task, draft: Draft) -> State:
    """The state of the best proposal."""
    state = State.of(task, draft, bind(draft, task.traces))
    made = max(learner.propose(state, task), key=lambda each: each.worth).make()
    assert made.worth > state.worth
    assert made.bindings.traces.tolist() == bind(made.draft, task.traces).traces.tolist()
    return made


def test_a_threshold_is_found_in_the_gap_between_values() -> None:
    task = task_of("define Incident() from A(value > 70)")
    made = best(ConstraintLearner(), task, Draft("A"))
    (condition,) = made.draft.conditions
    assert isinstance(condition, Bound)
    assert (condition.attribute, condition.operator) == ("value", ">")
    assert condition.margin[0] <= 70 <= condition.margin[1]
    assert made.alarms == 0
    assert made.found == task.all_wanted


def test_a_category_is_found() -> None:
    task = task_of("define Incident() from A(room = 'r3')")
    (condition,) = best(ConstraintLearner(), task, Draft("A")).draft.conditions
    assert condition.operator == "="
    assert task.history.text(condition.value) == "r3"


def test_a_relevant_event_is_found_with_its_condition_and_window() -> None:
    task = task_of("define Incident() from A() and last B(value > 80) within 10 s from A")
    (place,) = best(EventLearner(), task, Draft("A")).draft.places
    assert place.type == "B"
    assert abs(place.within - 10 * SECOND) < SECOND // 2
    (condition,) = (each for each in place.conditions if isinstance(each, Bound))
    assert abs(condition.value - 80) < 1


def test_a_window_is_found() -> None:
    task = task_of("define Incident() from A() and last B(value > 80) within 10 s from A")
    draft = Draft("A", (), (Place("B", "B", HORIZON, "#", (Bound("value", ">", 80.0),)),))
    (place,) = best(WindowLearner(), task, draft).draft.places
    assert abs(place.within - 10 * SECOND) < SECOND // 2


def test_a_window_that_is_known_is_not_touched() -> None:
    task = task_of("define Incident() from A() and last B(value > 80) within 10 s from A")
    known = Task(task.traces, Hints(window=10 * SECOND), HORIZON, 8.0, task.wanted)
    draft = Draft("A", (), (Place("B", "B", 10 * SECOND),))
    state = State.of(known, draft, bind(draft, known.traces))
    assert not list(WindowLearner().propose(state, known))


def test_an_equality_between_events_is_found() -> None:
    task = task_of("define Incident() from A(room=$r) and last B(room=$r) within 5 s from A")
    draft = Draft("A", (), (Place("B", "B", 5 * SECOND),))
    (place,) = best(ParameterLearner(), task, draft).draft.places
    assert place.conditions == (Link("room", "=", "#", "room"),)


def test_a_difference_between_events_is_found() -> None:
    task = task_of("define Incident() from A(value=$v) and last B(value > $v + 30) within 5 s from A")
    draft = Draft("A", (), (Place("B", "B", 5 * SECOND),))
    (place,) = best(ParameterLearner(), task, draft).draft.places
    (link,) = place.conditions
    assert isinstance(link, Link)
    assert link.operator == ">"
    assert abs(link.value - 30) < 1.5


def test_an_order_is_found() -> None:
    task = task_of("define Incident() from A() and each B(value>50) within 8 s from A and last C() within 8 s from B")
    draft = Draft(
        "A", (), (Place("B", "B", 8 * SECOND, "#", (Bound("value", ">", 50.0),)), Place("C", "C", 16 * SECOND))
    )
    made = best(OrderLearner(), task, draft)
    assert made.draft.places[1].reference == "B"


def test_a_negation_is_found() -> None:
    task = task_of("define Incident() from A() and not B(value > 60) within 6 s from A")
    (absence,) = best(NegationLearner(), task, Draft("A")).draft.parts
    assert isinstance(absence, Absence)
    assert absence.type == "B"
    assert abs(absence.within - 6 * SECOND) < SECOND // 2


def test_an_average_is_found() -> None:
    task = task_of("define Incident() from A() and Avg(B().value within 20 s from A) > 65")
    (summary,) = best(AggregateLearner(), task, Draft("A")).draft.parts
    assert isinstance(summary, Summary)
    assert (summary.function, summary.type, summary.attribute) == ("Avg", "B", "value")
    assert abs(summary.within - 20 * SECOND) < 5 * SECOND
    assert abs(summary.value - 65) < 5


def test_a_number_of_repetitions_is_found() -> None:
    task = task_of("define Incident() from A() and 3 <= Count(B(value>50) within 15 s from A)")
    draft = Draft("A", (), (Place("B", "B", 15 * SECOND, "#", (Bound("value", ">", 50.0),)),))
    (summary,) = best(RepetitionLearner(), task, draft).draft.parts
    assert isinstance(summary, Summary)
    assert (summary.function, summary.operator, summary.value) == ("Count", ">", 2)


@pytest.mark.parametrize("late", [0, 2 * SECOND])
def test_the_terminator_and_how_late_labels_are(late: int) -> None:
    rule = "define Incident(room: string) from A(value > 80) where room=A.room"
    history = History.of(batch(labelled(stream(3), rule, late)))
    occurrences = Occurrences.among(history, "Incident")
    events = history.only("ABCD")
    ending = find_endings(events, occurrences, np.random.default_rng(1))[0]
    assert (ending.type, ending.keys) == ("A", (("room", "room"),))
    assert ending.late >= late if late else ending.late == 0
