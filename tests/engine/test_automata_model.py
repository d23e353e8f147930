from __future__ import annotations

from cepheus.core.schema import Schema
from cepheus.engine.automata.model import AutomatonModel, automaton_model
from cepheus.kernel.program import PolicyCode
from cepheus.kernel.strings import StringTable
from cepheus.language.tesla import parse
from cepheus.plan.pattern.lower import Lowering
from cepheus.rules.check import check
from cepheus.rules.resolve import resolve

TYPES = "".join(f"event {name}(x: int, y: double)\n" for name in "ABCDT")


def model_of(pattern: str) -> AutomatonModel:
    checked = check(parse(f"{TYPES} define R() from {pattern}"))
    lowering = Lowering(StringTable())
    schema = Schema({**checked.inputs, **checked.composites}.values())
    lowered = lowering.add(resolve(checked.rules.rules[0]), schema, {})
    return automaton_model(lowered, {column.index: column for column in lowering.columns.values()})


def paths(pattern: str) -> list[tuple[int, ...]]:
    return [sequence.path for sequence in model_of(pattern).sequences]


def test_a_chain_of_each_is_one_sequence() -> None:
    chain = "T() and each A() within 1 s from T and each B() within 2 s from A and each C() within 3 s from B"
    assert paths(chain) == [(3, 2, 1)]
    assert [state.window for state in model_of(chain).sequences[0].states] == [3_000_000, 2_000_000, 1_000_000]


def test_a_single_selection_begins_a_sequence_of_its_own() -> None:
    assert paths("T() and last A() within 1 s from T and each B() within 2 s from A") == [(2, 1), (1,)]
    assert paths("T() and each A() within 1 s from T and last B() within 2 s from A") == [(2, 1)]


def test_a_tree_has_a_sequence_for_each_leaf() -> None:
    pattern = "T() and each A() within 1 s from T and each B() within 2 s from A and each C() within 2 s from A"
    assert paths(pattern) == [(3, 1), (2, 1)]
    model = model_of(pattern)
    assert (model.choices[1].sequence, model.choices[1].index) == (1, 1)


def test_a_rule_without_selections_has_no_sequence() -> None:
    assert paths("T(x > 3) and not A() within 1 s from T") == []


def test_equalities_with_the_next_event_are_keys() -> None:
    model = model_of("T(x=$a) and each A(x=$a, y=$b) within 1 s from T and each B(x=$a, y=$b) within 2 s from A")
    first, second = model.sequences[0].states
    assert [(key.index, key.is_float) for key in first.keys] == [(0, True)]  # B.y = A.y
    assert [(key.index, key.is_float) for key in second.keys] == [(0, False), (1, False)]  # B.x = T.x, A.x = T.x
    assert all(step.constraints == () for step in model.rule.steps)


def test_a_constraint_is_checked_at_the_event_that_makes_it_checkable() -> None:
    model = model_of("T(y=$c) and each A(x < $b) within 1 s from T and each B(x=$b, y > $c) within 2 s from A")
    first, second = model.sequences[0].states
    assert len(first.constraints) == 1  # A.x < B.x
    assert second.constraints == ()
    assert [len(step.constraints) for step in model.rule.steps] == [0, 1]  # B.y > T.y waits for the terminator


def test_both_ends_of_a_chained_comparison_are_checked() -> None:
    model = model_of("T(x=$a) and each A(0 < x < $a) within 1 s from T")
    assert [len(step.constraints) for step in model.rule.steps] == [2]


def test_the_reference_settles_a_choice_that_looks_no_further() -> None:
    settled = model_of("T() and each A(x=$a) within 1 s from T and last B(x > $a) within 2 s from A")
    assert [state.policy for state in settled.sequences[0].states] == [PolicyCode.LAST, PolicyCode.EACH]
    open_ = model_of("T(x=$a) and each A() within 1 s from T and last B(x > $a) within 2 s from A")
    assert [state.policy for state in open_.sequences[0].states] == [PolicyCode.EACH, PolicyCode.EACH]


def test_consumption_leaves_the_choice_to_the_terminator() -> None:
    pattern = "T() and each A() within 1 s from T and last B() within 2 s from A"
    kept = [(state.policy, state.kept) for state in model_of(pattern).sequences[0].states]
    assert kept == [(PolicyCode.LAST, 1), (PolicyCode.EACH, 0)]
    consuming = [(state.policy, state.kept) for state in model_of(f"{pattern} consuming B").sequences[0].states]
    assert consuming == [(PolicyCode.EACH, 0), (PolicyCode.EACH, 0)]


def test_early_deletion_only_where_nothing_but_the_key_matters() -> None:
    def kept(constraints: str, policy: str = "last") -> int:
        return model_of(f"T(x=$a, y=$b) and {policy} A({constraints}) within 1 s from T").sequences[0].states[0].kept

    assert kept("") == 1
    assert kept("x=$a, y > 2") == 1
    assert kept("x=$a, y=$b", "3 last") == 3
    assert kept("x <= $a") == 0
    assert kept("", "first") == 0
    assert kept("", "each") == 0
