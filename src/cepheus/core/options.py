"""How rules are run: one record of options, the same for every host, and the keywords that users write for it.

``Program.detect``, ``Program.start``, ``cepheus.spark.detect``, the command line and pipelines take the same keywords
and make a ``RunOptions`` of them; inside, only the record is handed on. What a host cannot honour it refuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, Literal, TypedDict, TypeVar, Unpack, cast

from cepheus.core.calculus import DEFAULT_CALCULUS, Calculus
from cepheus.core.error_columns import ErrorSources
from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.time import MAX_TIME, TimeUnit, parse_duration, parse_time
from cepheus.core.values import INT_MAX

AUTO: Final = "auto"
"""Asks for the fastest engine that can run all the rules."""

DEFAULT_LIMIT = 10_000_000
"""How many composite events one event may make, how many moments of a timer may lie between two times, and how many
events may wait in one place, before a LimitError stops it."""

MOST_THREADS = 1024
"""More than any machine has a use for."""

Threads = int | Literal["auto"]
"""How many threads may work: so many, or as many as there are processors, where that pays."""

SEE_DEVICES = "`cepheus doctor` lists the devices"
"""Where names of devices are found."""

Duration = int | str | timedelta
"""A text such as ``10s`` or ``5 min``, a timedelta, or microseconds, whatever unit times of events are in."""

END = "end"
"""Lets a finite input go on to the end of every timer that was set."""

Until = int | Literal["end"] | None
"""How far time goes on after the last event: to a time in microseconds, or to the end; None for not at all."""

TimeUnitName = Literal["us", "ms", "s"]
"""The unit of integer times: microseconds, milliseconds or seconds."""

Choice = TypeVar("Choice", bound=Enum)


class OnBadEvent(Enum):
    """What to do with an event that is not as it should be."""

    STOP = "stop"
    SKIP = "skip"


class TieOrder(Enum):
    """What simultaneous events are to rules: none precedes another, or they come one after the other."""

    APART = "apart"
    ORDERED = "ordered"


class ProvenanceDepth(Enum):
    """Which events a composite event names among what it was made of."""

    PARTS = "parts"
    FULL = "full"


class RunKeywords(TypedDict, total=False):
    """The keywords with which a run is asked for; None, like leaving it out, asks for what is usual.

    ``engine`` is the name of an engine, by default the fastest that can run the rules. A rule that would make more than
    ``limit`` composite events from one event, a rule with ``every`` that has more moments than that between two times
    of the stream, or a rule over intervals in which more than that wait for a partner in one place, is a LimitError.
    The work is spread over so many ``threads``, in this process as many as there are processors (``"auto"``) where
    that pays; the answer is the same, in the same order. ``device`` names the OpenCL device that ``engine="device"``
    works with, by a part of its name. ``calculus`` says how probabilities are worked out.

    ``lateness`` is how far events may be out of order, as ``"5 s"`` or a timedelta; a mere number is microseconds,
    whatever the ``time_unit``. Integer times, and integers in attributes of type timestamp,
    are in ``time_unit``, microseconds if none is given. Times of events that are texts are ISO 8601, or as
    ``time_format`` says (``%d.%m.%Y %H:%M``). With ``sort`` all events wait for the end of the input and are put into
    the order of time, however disordered they come. Times that make no sense in their unit give a CepheusWarning
    or, if ``strict``, an OptionError.

    A finite input ends with its last event; with ``until`` timers go on to a time (an integer is in ``time_unit``), or
    with ``until="end"`` every timer that was set.

    ``time``, ``type``, ``id``, ``sequence``, ``start`` and ``probability`` name the columns (of files, tables and
    frames) or keys (of dicts and JSON lines) that are not attributes. ``uncertain`` names, by attribute, the columns
    that have its error. A bad event stops the run or, with ``on_bad_event="skip"``, is left out and counted.

    With ``ties="ordered"`` simultaneous events come one after the other, by their ``sequence`` or as they arrive; with
    ``"apart"`` none precedes another. It goes before what the file of rules says.

    Composite events name the events they were made of, on Spark with ``provenance=True`` or ``"parts"``; with
    ``provenance="full"`` also the events that their rules' aggregates counted.
    """

    engine: str | None
    limit: int | None
    threads: Threads | None
    device: str | None
    calculus: Calculus | None
    lateness: Duration | None
    until: int | str | datetime | None
    time_unit: TimeUnitName | None
    time: str | None
    type: str | None
    id: str | None
    sequence: str | None
    start: str | None
    probability: str | None
    time_format: str | None
    sort: bool | None
    uncertain: ErrorSources | None
    on_bad_event: Literal["stop", "skip"] | None
    strict: bool | None
    ties: Literal["apart", "ordered"] | None
    provenance: bool | Literal["parts", "full"] | None


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """The columns, or keys, of events that are not attributes.

    Without a name for them, ids are in ``id`` (in ``event_id`` if events have an attribute so called) and starts in
    ``start``; on Spark events without such a name have ids made of their content. Only a ``sequence`` that is named
    breaks ties of time. An offset may be both ``id`` and ``sequence``; the others have columns of their own.
    """

    time: str = "time"
    type: str = "type"
    id: str | None = None
    sequence: str | None = None
    start: str | None = None
    probability: str = "probability"

    def __post_init__(self) -> None:
        taken: dict[str, str] = {}
        for each in fields(self):
            name = getattr(self, each.name)
            if name is None:
                continue
            if not isinstance(name, str) or not name:
                raise OptionError.of("column", f"{name!r} is not the name of a column for the {each.name} of events")
            if each.name in ("id", "sequence"):
                continue
            if name in taken:
                message = f"'{name}' is to be the {taken[name]} and the {each.name} of events"
                raise OptionError.of("column", message, hint="a column has one meaning: name another")
            taken[name] = each.name

    @property
    def given(self) -> frozenset[str]:
        """All that are named, or have a usual name that another column could not have."""
        names = (self.time, self.type, self.id, self.sequence, self.start, self.probability)
        return frozenset(name for name in names if name is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """All that a run can be asked for, checked once; ``RunOptions.of`` makes it of the keywords of ``RunKeywords``.

    ``lateness`` is in microseconds, None if nobody has said anything.

    >>> RunOptions.of(lateness="5 min", time="at").lateness
    300000000
    >>> RunOptions(limit=0)
    Traceback (most recent call last):
    ...
    cepheus.core.errors.OptionError: error[limit]: 0 is not a number of composite events
      hint: give a whole number from 1 to 9223372036854775807
    """

    engine: str = AUTO
    limit: int = DEFAULT_LIMIT
    threads: Threads = 1
    device: str | None = None
    calculus: Calculus = DEFAULT_CALCULUS
    lateness: int | None = None
    until: Until = None
    time_unit: TimeUnit | None = None
    columns: ColumnNames = field(default_factory=ColumnNames)
    time_format: str | None = None
    sort: bool = False
    uncertain: ErrorSources = field(default_factory=dict)
    on_bad_event: OnBadEvent = OnBadEvent.STOP
    strict: bool = False
    ties: TieOrder | None = None
    provenance: ProvenanceDepth = ProvenanceDepth.PARTS

    def __post_init__(self) -> None:
        require_whole(self.limit, "number of composite events", INT_MAX, "limit")
        if self.threads != AUTO:
            require_whole(self.threads, "number of threads", MOST_THREADS, "threads")
        if not isinstance(self.engine, str) or not self.engine:
            raise OptionError.of("engine", f"{self.engine!r} is not the name of an engine")
        if self.device is not None and (not isinstance(self.device, str) or not self.device):
            raise OptionError.of("device", f"{self.device!r} is not the name of a device", hint=SEE_DEVICES)
        if not isinstance(self.calculus, Calculus):
            raise OptionError.of("calculus", f"{self.calculus!r} is no calculus", hint="write Calculus(draws=1000)")
        if self.lateness is not None and self.lateness < 0:
            raise OptionError.of("lateness", "the lateness is negative", hint="write a duration such as 10s, or 0")
        if not isinstance(self.uncertain, Mapping):
            hint = 'write uncertain={"value": Normal(sd="value_sd")}'
            raise OptionError.of("uncertain", "uncertain names the columns of errors by attribute", hint=hint)
        for name, value in (("strict", self.strict), ("sort", self.sort)):
            if not isinstance(value, bool):
                raise OptionError.of("option", f"{name} is true or false, not {value!r}")
        if self.time_format is not None:
            require_time_format(self.time_format)

    @classmethod
    def of(cls, **keywords: Unpack[RunKeywords]) -> RunOptions:
        """Make options of keywords; an OptionError says what is wrong with one."""
        given = {name: value for name, value in keywords.items() if value is not None}
        for name in given:
            if name not in KEYWORDS:
                raise _no_such_option(name)
        columns = {name: given.pop(name) for name in _COLUMNS if name in given}
        if "lateness" in given:
            given["lateness"] = microseconds_of(cast("Duration", given["lateness"]))
        if "time_unit" in given:
            given["time_unit"] = chosen("time unit", given["time_unit"], TimeUnit, "time-unit")
        if "until" in given:
            given["until"] = until_of(given["until"], cast("TimeUnit", given.get("time_unit", TimeUnit.US)))
        if "on_bad_event" in given:
            given["on_bad_event"] = chosen("on_bad_event", given["on_bad_event"], OnBadEvent)
        if "ties" in given:
            given["ties"] = chosen("ties", given["ties"], TieOrder, "ties")
        if "provenance" in given:
            depth = "parts" if isinstance(given["provenance"], bool) else given["provenance"]
            given["provenance"] = chosen("provenance", depth, ProvenanceDepth)
        return cls(**given, columns=ColumnNames(**columns))  # type: ignore[arg-type]  # each is checked as it is made

    @property
    def waits(self) -> int:
        """How long events wait for stragglers: for the lateness, or for all of them where they are sorted."""
        return MAX_TIME if self.sort else self.lateness or 0

    @property
    def unit(self) -> TimeUnit:
        """The unit of integer times."""
        return self.time_unit or TimeUnit.US


KEYWORDS: tuple[str, ...] = tuple(RunKeywords.__annotations__)
"""The names of all options that every host takes."""

_COLUMNS = tuple(each.name for each in fields(ColumnNames))
_RENAMED = {"watermark": "it is called lateness: lateness='10 seconds'"}


def chosen(what: str, given: object, among: type[Choice], code: str = "option") -> Choice:
    """Look up a choice by its name.

    >>> chosen("time unit", "s", TimeUnit)
    <TimeUnit.S: 's'>
    """
    if isinstance(given, among):
        return given
    names = [each.value for each in among]
    if given in names:
        return among(given)
    hint = did_you_mean(str(given), names) or f"choose one of {', '.join(names)}"
    raise OptionError.of(code, f"'{given}' is not a choice for {what}", hint=hint)


def microseconds_of(duration: Duration) -> int:
    """Read a duration, however it is written.

    >>> microseconds_of("10s"), microseconds_of(timedelta(seconds=1)), microseconds_of(5)
    (10000000, 1000000, 5)
    """
    if isinstance(duration, str):
        return parse_duration(duration)
    if isinstance(duration, timedelta):
        return duration // timedelta(microseconds=1)
    if not isinstance(duration, int) or isinstance(duration, bool):
        hint = "write a number and a unit, such as 10s, 500 ms or 5 min"
        raise OptionError.of("duration", f"{duration!r} is not a duration", hint=hint)
    return duration


def until_of(until: object, unit: TimeUnit = TimeUnit.US) -> int | Literal["end"]:
    """Read how far time goes on after the last event, however it is written; an integer is in the unit.

    >>> until_of(5, TimeUnit.S), until_of("1970-01-01T00:00:01Z"), until_of("end")
    (5000000, 1000000, 'end')
    """
    if isinstance(until, str) and until == END:
        return "end"
    moment = _moment(until, unit)
    if moment is None:
        hint = "write '2026-01-31T10:00:00Z', a number in the time unit, or 'end'"
        raise OptionError.of("until", f"{until!r} is not a time", hint=hint)
    return moment


def moment_of(at: object, unit: TimeUnit = TimeUnit.US) -> int:
    """Read a moment to be looked at, however it is written; an integer is in the unit.

    >>> moment_of(5, TimeUnit.S), moment_of("1970-01-01T00:00:01Z")
    (5000000, 1000000)
    """
    moment = _moment(at, unit)
    if moment is None:
        hint = "write '2026-01-31T10:00:00Z', or a number in the time unit"
        raise OptionError.of("why-not", f"{at!r} is not a time", hint=hint)
    return moment


def _moment(given: object, unit: TimeUnit) -> int | None:
    """A time in microseconds, None if it is none."""
    try:
        if isinstance(given, int) and not isinstance(given, bool):
            return given * unit.microseconds
        if isinstance(given, datetime):
            return parse_time(given.isoformat())
        if isinstance(given, str):
            return int(given) * unit.microseconds if given.lstrip("-").isdigit() else parse_time(given)
    except ValueError:
        pass
    return None


def require_time_format(written: object) -> None:
    """Refuse what is no way to write a time.

    >>> require_time_format("%d.%m.%Y %H:%M")
    """
    example = datetime(2026, 1, 31, 10, 5, 7)
    try:
        if isinstance(written, str) and "%" in written and datetime.strptime(example.strftime(written), written):
            return
    except ValueError:
        pass
    hint = "write it as in '%d.%m.%Y %H:%M:%S': day, month, year, hour, minute, second"
    raise OptionError.of("time-format", f"{written!r} is no way to write times", hint=hint)


def require_whole(value: object, what: str, most: int, code: str = "option") -> None:
    """Refuse an option that is not a whole number from 1 to the most there can be."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise OptionError.of(code, f"{value!r} is not a {what}", hint=f"give a whole number from 1 to {most}")


def _no_such_option(name: str) -> OptionError:
    hint = _RENAMED.get(name) or did_you_mean(name, KEYWORDS) or f"the options are {', '.join(KEYWORDS)}"
    return OptionError.of("option", f"there is no option '{name}'", hint=hint)
