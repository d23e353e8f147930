"""Rules as typed Python at work: what they print, where their mistakes are, what runs them."""

from __future__ import annotations

import asyncio
import gc
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import typed_examples
from typed_examples import Fire, Smoke, Temp, fire

import cepheus
from cepheus.core.errors import CepheusError, CepheusWarning, EventError, RuleError, UnsupportedError
from cepheus.engine.base.capabilities import NETWORK
from cepheus.plan.pattern.constructs import require_rules
from cepheus.typed import (
    Composite,
    Event,
    attribute,
    event_from,
    event_of,
    event_type,
    last,
    on,
    rule,
    rule_set,
    to_tesla,
    udf,
)

START = datetime(2026, 1, 31, 10, tzinfo=UTC)


def test_a_rule_prints_as_tesla() -> None:
    assert str(fire).splitlines()[:4] == [
        "rule fire",
        "define Fire(area: string, temp: double)",
        "from   Smoke(area!='kitchen') and",
        "       last Temp(area=Smoke.area and felt_heat(value, 5.0)>45) within 5 min from Smoke and",
    ]
    assert to_tesla(fire).startswith("event Smoke(area: string)\nevent Temp(area: string, value: double)\n")


def test_typed_instances_in_and_out(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = typed_examples.run()
    assert found == Fire(area="A1", temp=70.5, time=START + timedelta(minutes=2))
    assert event_of(found).rule == "fire"
    assert capsys.readouterr().out == "A1 71.5 2026\n"
    program = cepheus.compile(fire)
    events = [Temp(area="A1", value=70.5, time=START), Smoke(area="A1", time=START + timedelta(minutes=2))]
    assert program.detect(events).to_objects(Fire) == [found]
    with program.start() as session:
        assert [session.feed(event) for event in events][-1][0].type == "Fire"


def test_engines_agree_on_a_function_of_the_program() -> None:
    events = [Temp(area="A1", value=44.0 + n, time=START + timedelta(seconds=n)) for n in range(4)]
    events_and_smoke: list[Event] = [*events, Smoke(area="A1", time=START + timedelta(seconds=5))]

    @rule
    def hot(smoke: Smoke) -> Fire:
        temp = last(Temp, typed_examples.felt_heat(Temp.value, 5.0) > 46.4).within("5 min", of=smoke)
        return Fire(area=smoke.area, temp=temp.value)

    program = cepheus.compile(hot)
    answers = [
        program.detect(events_and_smoke, engine=name).to_dicts() for name in ("reference", "columns", "automata")
    ]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][0]["temp"] == 47.0


def test_functions_that_cannot_be_compiled_are_slow_and_say_so() -> None:
    with pytest.warns(CepheusWarning, match="cannot be compiled"):

        @udf
        def spelled(value: float) -> str:
            return str(value)

    with warnings.catch_warnings():
        warnings.simplefilter("error")

        @udf(slow=True)
        def written(value: float) -> str:
            return str(value)

        @udf
        def is_even(text: str) -> bool:
            return len(text) % 2 == 0

    assert (spelled.compiled, written.compiled, is_even.compiled) == (False, False, True)

    @rule
    def even(smoke: Smoke) -> Fire:
        temp = last(Temp, is_even(Temp.area), written(Temp.value) == "1.5").within("5 min", of=smoke)
        return Fire(area=temp.area, temp=temp.value)

    program = cepheus.compile(even)
    events: list[Event] = [Temp(area="ab", value=1.5, time=START), Smoke(area="a", time=START + timedelta(seconds=1))]
    assert program.start().engine_name == "reference"
    assert len(program.detect(events)) == 1
    with pytest.raises(UnsupportedError, match="written"):
        program.start(engine="columns")


@pytest.mark.parametrize("name", ["abs", "Abs", "count"])
def test_functions_of_rules_keep_their_names(name: str) -> None:
    def function(value: float) -> float:
        return value

    function.__name__ = name
    with pytest.raises(RuleError, match="cannot call a function"):
        udf(function)


def test_functions_of_a_program_are_sent_nowhere() -> None:
    program = cepheus.compile(fire)
    with pytest.raises(UnsupportedError, match="@udf") as refused:
        require_rules(NETWORK, program.rules)
    assert "typed_examples.py" in str(refused.value)


def test_handlers_and_streams() -> None:
    heard: list[Fire] = []
    program = cepheus.compile(fire)

    async def listen() -> list[Fire]:
        session = program.start()

        @session.on(Fire, Fire.temp > 75)
        def note(found: Fire) -> None:
            heard.append(found)

        stream = session.stream(Fire)

        async def feed() -> None:
            for n, value in enumerate((70.5, 80.5)):
                at = START + timedelta(minutes=10 * n)
                session.feed([Temp(area="A1", value=value, time=at), Smoke(area="A1", time=at + timedelta(minutes=1))])
                await asyncio.sleep(0)
            session.close()

        task = asyncio.create_task(feed())
        found = [each async for each in stream]
        await task
        return found

    assert [each.temp for each in asyncio.run(listen())] == [70.5, 80.5]
    assert [each.temp for each in heard] == [80.5]


def test_a_stream_that_nobody_holds_ends() -> None:
    session = cepheus.compile(fire).start()
    stream = session.stream(Fire)
    assert session._subscriptions
    del stream
    gc.collect()
    assert not session._subscriptions


def test_handlers_see_conditions_alone() -> None:
    with pytest.raises(RuleError, match="names 'Temp' by its class"):
        on(Fire, Temp.value > 3)


# ---- Classes -----------------------------------------------------------------------------------------------------


def test_events_have_defaults_names_and_optional_attributes() -> None:
    class Login(Event, name="auth.log"):
        user: str = attribute(column="usr")
        host: str = attribute(name="host.id", default="here")
        code: int | None = None
        level: int = 3

    login = Login(user="ann", time=START)
    assert (login.host, login.code, login.level) == ("here", None, 3)
    assert str(event_type(Login)) == "auth.log(user: string, host.id: string, code: int?, level: int)"
    assert event_of(login).attributes == {"usr": "ann", "host.id": "here", "code": None, "level": 3}
    with pytest.raises(AttributeError, match="do not change"):
        login.level = 4  # type: ignore[misc]
    with pytest.raises(EventError, match="needs user"):
        Login(time=START)  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match="did you mean 'user'"):
        Login(usre="x")  # type: ignore[call-arg]
    with pytest.raises(EventError, match="has no time"):
        event_of(Login(user="ann"))
    given: Any = 5
    with pytest.raises(EventError, match="the time of a Login is 5, which is no datetime"):
        event_of(Login(user="ann", time=given))


def test_events_from_arrow_schemas_and_pydantic_models() -> None:
    import pydantic

    class Reading(pydantic.BaseModel):
        area: str
        value: float | None = None
        at: datetime

    from_model = event_from(Reading)
    assert str(event_type(from_model)) == "Reading(area: string, value: double?, at: timestamp)"
    schema = pa.schema([pa.field("area", pa.string(), nullable=False), ("value", pa.float32()), ("time", pa.int64())])
    assert str(event_type(event_from(schema, name="Temp"))) == "Temp(area: string, value: double?)"
    with pytest.raises(RuleError, match="list"):
        event_from(pa.schema([("values", pa.list_(pa.int64()))]), name="Temp")
    reading = Reading(area="A1", value=51.5, at=START)
    assert from_model(time=START, **reading.model_dump()).value == 51.5


def test_attributes_that_events_cannot_have() -> None:
    with pytest.raises(RuleError, match="of a type that events do not have"):

        class Bad(Event):
            values: list[int]


# ---- Mistakes ----------------------------------------------------------------------------------------------------

MISTAKES: dict[str, tuple[str, str, str]] = {
    "truth": ("last(Temp, 10 < Temp.value < 20)", "10 < Temp.value < 20", "write & for and"),
    "and": (
        "last(Temp, Temp.value > 3 and Temp.area == 'a')",
        "Temp.value > 3 and Temp.area == 'a'",
        "write & for and",
    ),
    "other class": ("last(Temp, Temp.area == Smoke.area)", "Temp.area == Smoke.area", "give the event a name"),
    "attribute": ("last(Temp, Temp.valeu > 3)", "Temp.valeu", "did you mean 'value'"),
    "attribute of event": ("last(Temp, Temp.area == smoke.aera)", "smoke.aera", "did you mean 'area'"),
    "type": ("last(Temp, Temp.area > 3)", "Temp.area > 3", "a string is written in quotes"),
    "function": ("last(Temp, fn.lowr(Temp.area) == 'a')", "fn.lowr", "did you mean 'lower'"),
    "method": ("last(Temp, Temp.area.lower() == 'a')", "Temp.area.lower", "write fn.lower"),
    "argument": ("last(Temp, fn.abs('a') > 3)", "'a'", "write abs(number)"),
    "aggregate": ("last(Temp, agg.average(Temp.value).within('1 s') > 3)", "agg.average", "did you mean"),
    "no type": ("last(3)", "3", "the first argument is a class"),
    "value": ("last(Temp, Temp.value > [])", "Temp.value > []", "a rule knows bools"),
}

PROGRAM = """from cepheus.typed import *
class Smoke(Event):
    area: str
class Temp(Event):
    area: str
    value: float
class Fire(Composite):
    area: str
@rule
def fire(smoke: Smoke) -> Fire:
    temp = {choice}.within("5 min", of=smoke)
    return Fire(area=smoke.area)
"""


def run_program(path: Path, text: str) -> dict[str, Any]:
    path.write_text(text, encoding="utf-8")
    names: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, str(path), "exec"), names)
    return names


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_shown_where_they_are(name: str, tmp_path: Path) -> None:
    choice, marked, hint = MISTAKES[name]
    with pytest.raises(CepheusError) as error:
        cepheus.compile(run_program(tmp_path / "fire.py", PROGRAM.format(choice=choice))["fire"])
    finding = error.value.diagnostics[0]
    assert finding.span is not None
    assert (finding.span.text, finding.span.line) == (marked, 11)
    assert hint in (finding.hint or "")
    assert f"{tmp_path / 'fire.py'}:11:" in str(error.value)


def test_a_window_that_makes_no_sense_is_underlined(tmp_path: Path) -> None:
    text = PROGRAM.format(choice="last(Temp)").replace('"5 min"', '"5 mni"')
    with pytest.raises(RuleError) as error:
        run_program(tmp_path / "fire.py", text)
    assert error.value.diagnostics[0].span is not None
    assert error.value.diagnostics[0].span.text == 'within("5 mni", of=smoke)'


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("return Fire(area=smoke.area)", "return None", "gives no Fire"),
        ("-> Fire", "-> Temp", "which composite event"),
        ("smoke: Smoke", "smoke", "which event 'smoke' is"),
        ("@rule\n", "@rule(every='1 h')\n", "takes no event"),
        ("@rule\n", "@rule(every='1 h', start='25:00')\n", "not a time of day"),
        ("@rule\n", "@rule(every='1 h', after='1 h')\n", "one timer"),
        ("return Fire(area=smoke.area)", "return Fire(area=Temp.area)", "which event of that type"),
    ],
)
def test_functions_that_are_no_rules(old: str, new: str, found: str, tmp_path: Path) -> None:
    with pytest.raises(RuleError, match=found):
        run_program(tmp_path / "fire.py", PROGRAM.format(choice="last(Temp)").replace(old, new))


WITHOUT_WINDOW = {
    "no": ("no(Smoke, Smoke.area == temp.area)", "between"),
    "last": ("last(Temp, Temp.value > 45)", "within"),
    "each": ("each(Temp)", "within"),
    "first": ("first(Temp)", "within"),
    "top": ("top(3, Temp, by=Temp.value)", "within"),
    "collect": ("collect(Temp)", "between"),
    "aggregate": ("agg.avg(Temp.value)", "since_start"),
}


@pytest.mark.parametrize("name", WITHOUT_WINDOW)
@pytest.mark.parametrize(
    "use", ["{}", "left = {}", "{}.value", "{} > 3", "require({} == 3)", "consume({})", "fn.abs({})"]
)
def test_what_has_no_window_is_no_part_of_a_rule(name: str, use: str, tmp_path: Path) -> None:
    part, end = WITHOUT_WINDOW[name]
    text = PROGRAM.format(choice="last(Temp)").replace("    return", f"    {use.format(part)}\n    return")
    with pytest.raises(RuleError, match="this has no window") as error:
        run_program(tmp_path / "fire.py", text)
    (finding,) = error.value.diagnostics
    assert finding.span is not None
    assert (finding.span.text, finding.span.line) == (part, 12)
    assert f".{end}(" in (finding.hint or "")


@pytest.mark.parametrize("condition", ["temp.value > 60", "(temp.value > 60) | (temp.value < 3)", "~(temp.value > 60)"])
def test_a_condition_that_nobody_asks_is_refused(condition: str, tmp_path: Path) -> None:
    text = PROGRAM.format(choice="last(Temp)").replace("    return", f"    {condition}\n    return")
    with pytest.raises(RuleError, match="stands by itself asks nothing") as error:
        run_program(tmp_path / "fire.py", text)
    (finding,) = error.value.diagnostics
    assert finding.span is not None
    assert (finding.span.text, finding.span.line) == (condition, 12)
    run_program(tmp_path / "asked.py", text.replace(condition, "require(temp.value > 60)"))


def test_every_part_without_a_window_is_told_at_once_and_one_misspelt_is_mended(tmp_path: Path) -> None:
    text = PROGRAM.format(choice="last(Temp)")
    with pytest.raises(RuleError) as error:
        run_program(tmp_path / "a.py", text.replace("    return", "    no(Smoke)\n    first(Temp)\n    return"))
    assert [each.span.text for each in error.value.diagnostics if each.span] == ["no(Smoke)", "first(Temp)"]
    with pytest.raises(RuleError, match="did you mean 'within'"):
        run_program(tmp_path / "b.py", text.replace(".within", ".witin"))
    run_program(tmp_path / "c.py", text.replace("    return", "    _ = no(Smoke).within('1 s')\n    return"))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('f"room {smoke.area}"', "fn.concat"),
        ('f"{smoke.area:>9}"', "fn.concat"),
        ("str(smoke.area)", "fn.concat"),
        ('"room %s" % smoke.area', "fn.concat"),
        ('"room {}".format(smoke)', "fn.concat"),
        ('f"{temp}"', "fn.concat"),
        ("float(temp.value)", "leave float"),
        ("int(temp.value)", "fn.floor"),
        ("len(smoke.area)", "fn.length"),
    ],
)
def test_parts_of_rules_are_no_texts_or_numbers(text: str, hint: str, tmp_path: Path) -> None:
    program = PROGRAM.format(choice="last(Temp)").replace("area=smoke.area", f"area={text}")
    with pytest.raises(RuleError) as error:
        run_program(tmp_path / "fire.py", program)
    (finding,) = error.value.diagnostics
    assert finding.span is not None
    assert finding.span.line == 12
    assert hint in (finding.hint or "")


def test_parts_of_rules_can_be_printed_outside_of_them() -> None:
    assert str(Temp.value) == f"{Temp.value}" == repr(Temp.value) == "<part of a rule: value>"


def test_words_of_rules_belong_into_rules() -> None:
    with pytest.raises(RuleError, match="inside the function of a rule"):
        last(Temp)


def test_two_classes_of_one_type() -> None:
    def other() -> type[Event]:
        class Temp(Event):
            area: int

        return Temp

    kind = other()

    class Cold(Composite):
        area: int

    @rule
    def cold(temp: kind) -> Cold:  # type: ignore[valid-type]
        return Cold(area=temp.area)  # type: ignore[attr-defined]

    with pytest.raises(RuleError, match="describe events of type 'Temp' differently"):
        rule_set(fire, cold)
