"""Lowering: what becomes a column, a key, a filter, and what is left to be checked."""

from __future__ import annotations

import numpy as np
import pytest

from cepheus.core.errors import OptionError, UnsupportedError
from cepheus.core.schema import Schema
from cepheus.core.values import ValueType
from cepheus.kernel.program import (
    HEADER,
    MOST_BRIEF,
    BriefField,
    ColumnField,
    ConstraintKind,
    PolicyCode,
    RuleField,
    RuleFlag,
    StepField,
    StepKind,
    TypeField,
    ValueKind,
)
from cepheus.kernel.strings import StringTable
from cepheus.language.tesla import parse
from cepheus.plan.pattern.flatten import flatten
from cepheus.plan.pattern.lower import Lowering
from cepheus.plan.pattern.lowered import LoweredRule
from cepheus.rules.check import check
from cepheus.rules.resolve import resolve

DECLARED = (
    "event Smoke(area: string, level: int) event Temp(area: string, value: double, o: int?)"
    " event Rain(area: string, value: double)\n"
)
FIRE = "define Fire(t: double) from Smoke(area=$a) and {} where t=0.0"


def lower(*texts: str, fed: dict[str, int] | None = None) -> tuple[Lowering, list[LoweredRule]]:
    checked = check(parse(DECLARED + "\n".join(texts)))
    schema = Schema([*checked.inputs.values(), *checked.composites.values()])
    lowering = Lowering(StringTable())
    return lowering, [lowering.add(resolve(rule), schema, fed or {}) for rule in checked.rules.rules]


def test_an_equality_with_a_bound_event_becomes_the_key_and_a_constant_a_filter() -> None:
    lowering, (rule,) = lower(FIRE.format("last Temp(area=$a and value>45) within 5 min from Smoke"))
    (column,) = lowering.columns.values()
    (step,) = rule.steps
    temp, smoke = lowering.types["Temp"], lowering.types["Smoke"]
    assert column.key.key_slots == (temp.slots["area"],)
    assert [f.kind for f in column.filters] == [ConstraintKind.FLOAT_CONSTANT]
    assert (step.kind, step.policy, step.count) == (StepKind.CHOOSE, PolicyCode.LAST, 1)
    assert step.keys == ((0, smoke.slots["area"]),)
    assert step.plain
    assert column.reach == step.window == 300_000_000


def test_other_comparisons_with_bound_events_are_left_to_be_checked() -> None:
    _, (rule,) = lower(FIRE.format("each Temp(area=$a and value > Smoke.level) within 5 min from Smoke"))
    (step,) = rule.steps
    assert len(step.constraints) == 1
    assert not step.plain


def test_an_optional_attribute_is_no_key() -> None:
    """It may be undefined, and what is undefined equals nothing, not even itself."""
    lowering, _ = lower("define P() from Smoke(level=$n) and last Temp(o=$n) within 1 min from Smoke")
    (column,) = lowering.columns.values()
    assert column.key.key_slots == ()


def test_positions_that_ask_for_the_same_share_a_column_under_any_name() -> None:
    lowering, rules = lower(
        "define P() from Smoke(area=$a) and last Temp(area=$a and value>45) within 1 min from Smoke",
        "define Q() from Rain(area=$b) and each Temp(area=$b and value>45) as Hot within 9 min from Rain",
        "define R() from Rain(area=$b) and each Temp(area=$b and value>46) as Hot within 9 min from Rain",
    )
    columns = [rule.steps[0].column for rule in rules]
    assert columns[0] == columns[1] != columns[2]
    shared = next(column for column in lowering.columns.values() if column.index == columns[0])
    assert shared.reaches == {"P": 60_000_000, "Q": 540_000_000}
    assert lowering.remove("Q") == []
    assert shared.reach == 60_000_000
    assert lowering.remove("P") == [columns[0]]


def test_the_number_of_a_column_that_is_gone_is_used_again() -> None:
    lowering, rules = lower(
        "define P() from Smoke() and last Temp() within 1 min from Smoke",
        "define Q() from Smoke() and last Rain() within 1 min from Smoke",
    )
    lowering.remove("P")
    checked = check(parse(DECLARED + "define S() from Rain() and last Smoke() within 1 min from Rain"))
    schema = Schema([*checked.inputs.values(), *checked.composites.values()])
    added = lowering.add(resolve(checked.rules.rules[0]), schema, {})
    assert added.steps[0].column == rules[0].steps[0].column
    assert lowering.column_count == 2


def test_aggregates_that_slide_have_columns_that_sum() -> None:
    lowering, (rule,) = lower(
        "define P(s: double, m: double) from Smoke(area=$a) "
        "where s = Sum(Temp(area=$a).value within 5 min from Smoke), "
        "m = Max(Temp(area=$a).value within 5 min from Smoke)"
    )
    sums, extremes = rule.steps
    assert (sums.incremental, extremes.incremental) == (True, False)
    keys = {column.index: column.key for column in lowering.columns.values()}
    assert keys[sums.column].sum_kind is ValueKind.FLOAT
    assert keys[extremes.column].sum_kind is ValueKind.NONE


def test_a_rule_that_comes_later_sees_later_rows_of_a_column_that_is_shared() -> None:
    text = "define {}() from Smoke() and last Temp() within 1 min from Smoke"
    lowering, (first,) = lower(text.format("P"))
    checked = check(parse(DECLARED + text.format("Q")))
    schema = Schema([*checked.inputs.values(), *checked.composites.values()])
    second = lowering.add(resolve(checked.rules.rules[0]), schema, {"Temp": 7})
    assert (first.steps[0].since, second.steps[0].since) == (0, 7)
    assert first.steps[0].column == second.steps[0].column


def test_consumption_takes_a_bit_of_a_slot_for_each_rule() -> None:
    text = "".join(
        f"define P{n}() from Smoke() and last Temp() within 1 min from Smoke consuming Temp\n" for n in range(64)
    )
    lowering, rules = lower(text)
    marks = [rule.marks[0] for rule in rules]
    assert marks[0] == ("Temp", HEADER, 0)
    assert marks[62][1:] == (HEADER, 62)
    assert marks[63][1:] == (HEADER + 1, 0)
    assert lowering.types["Temp"].width == HEADER + 2


def test_what_is_refused_leaves_nothing_behind() -> None:
    lowering = Lowering(StringTable())
    checked = check(
        parse(DECLARED + "define P() from Smoke(area=$a) and last Temp(contains(area, $a)) within 1 s from Smoke")
    )
    schema = Schema([*checked.inputs.values(), *checked.composites.values()])
    with pytest.raises(UnsupportedError):
        lowering.add(resolve(checked.rules.rules[0]), schema, {})
    assert not lowering.columns
    assert not lowering.rules
    assert all(not layout.read() for layout in lowering.types.values())
    with pytest.raises(OptionError, match="no rule named 'P'"):
        lowering.remove("P")


def test_types_that_only_the_data_tells_spread_to_what_is_compared() -> None:
    checked = check(parse("define P() from A(k=$k) and last B(m=$k) within 1 s from A"), closed=False)
    lowering = Lowering(StringTable())
    lowering.add(resolve(checked.rules.rules[0]), Schema([*checked.inputs.values(), *checked.composites.values()]), {})
    assert lowering.types["B"].types["m"] is None
    lowering.fix_type(lowering.types["A"], "k", ValueType.STRING)
    assert lowering.types["B"].types["m"] is ValueType.STRING


def test_integers_and_doubles_that_are_compared_stay_what_they_are() -> None:
    checked = check(parse("define P() from A(k=$k) and last B(m=$k) within 1 s from A"), closed=False)
    lowering = Lowering(StringTable())
    lowering.add(resolve(checked.rules.rules[0]), Schema([*checked.inputs.values(), *checked.composites.values()]), {})
    lowering.fix_type(lowering.types["A"], "k", ValueType.INT)
    assert not lowering.is_outdated
    lowering.fix_type(lowering.types["B"], "m", ValueType.FLOAT)
    assert (lowering.types["A"].types["k"], lowering.types["B"].types["m"]) == (ValueType.INT, ValueType.FLOAT)
    assert lowering.is_outdated, "the rule was lowered for values of one type"
    assert not lowering.widened


def test_the_flat_program_has_a_row_for_everything() -> None:
    lowering, (rule, other) = lower(
        FIRE.format(
            "each Temp(area=$a and value>45) within 5 min from Smoke and not Rain(area=$a) between Temp and Smoke"
        ),
        "define P() from Fire(t > 1)",
    )
    program = flatten(lowering)
    assert len(program.rules) == 2
    halves = program.rules.view(np.int32)
    row = halves[0]
    steps = program.steps[row[RuleField.STEPS] : row[RuleField.ABSENCES]]
    absences = program.steps[row[RuleField.ABSENCES] : row[RuleField.ABSENCES_END]]
    assert steps[:, StepField.KIND].tolist() == [StepKind.CHOOSE]
    assert absences[:, StepField.KIND].tolist() == [StepKind.ABSENT]
    assert halves[:, RuleField.FLAGS].tolist() == [RuleFlag.FEEDS, RuleFlag.STRAIGHT]
    assert len(program.columns) == lowering.column_count
    assert program.columns[:, ColumnField.KEYS].tolist() == [1, 1]
    widths = program.types[:, TypeField.WIDTH].tolist()
    assert widths == [layout.width for layout in lowering.types.values()]
    assert program.record_width == 2 + max(widths)
    assert rule.type == lowering.types["Smoke"].index
    assert other.type == lowering.types["Fire"].index


def test_a_rule_of_latest_events_is_told_in_brief() -> None:
    lowering, _ = lower(
        "event T(x: int) event A(x: int) event B(x: int) event C(x: int)",
        "define P() from T() and last B(x > 1) within 5 s from T and last A() within 7000000 s from B",
        "define Q() from T() and last B() within 5 s from T and last A() within 7 s from B"
        " and last C() within 1 s from A",
        "define R() from T(x=$x) and last B(x=$x) within 5 s from T",
        "define S() from T() and last B() within 5 s from T and not A() between B and T",
        "define W() from T() and last B() within 5 s from T and last A() within 7 s from T",
        "define U() from T() and each B() within 5 s from T",
        "define V() from T()",
    )
    program = flatten(lowering)
    halves = program.rules.view(np.int32)
    assert (halves[:, RuleField.FLAGS] & RuleFlag.BRIEF > 0).tolist() == [True] + [False] * 6
    steps = halves[0, RuleField.BRIEF : RuleField.BRIEF + 4 * MOST_BRIEF].reshape(MOST_BRIEF, 4)
    columns = [column.index for column in lowering.columns.values() if column.key.type == lowering.types["A"].index]
    assert steps[1, BriefField.COLUMN] in columns
    assert steps[:, BriefField.TYPE].tolist() == [lowering.types[name].index for name in ("B", "A")]
    assert steps.copy().view(np.int64)[:, BriefField.WINDOW >> 1].tolist() == [5_000_000, 7_000_000_000_000]
