"""What a file of a live run says, read and checked: everything that is wrong with it is told at once, with its line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cepheus.core.calculus import calculus_of
from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.options import KEYWORDS, OnBadEvent, RunOptions
from cepheus.core.toml_file import (
    ByName,
    Chosen,
    Keys,
    Table,
    Tables,
    TomlFile,
    Values,
    WrongValueError,
    boolean,
    integer,
    member_of,
    one_of,
    parsed,
    path_from,
    text,
    texts,
)
from cepheus.runtime.live.description import Clock, Live, NamedSink, NamedSource, When
from cepheus.runtime.live.kinds import Kind, seconds, sink_kinds, source_kinds
from cepheus.runtime.live.payload import Payload
from cepheus.runtime.live.web import Listen

_NOT_LIVE = ("until", "sort")
"""Options of runs that have an end."""


def read_live_file(path: Path) -> Live:
    """Read the file of a live run; OptionError with all findings if it does not make sense.

    Relative paths in it are relative to the folder of the file.
    """
    file = TomlFile(path, "live")
    folder = path.parent
    found: Values = file.read(_table(folder))
    _check_rules(found, file)
    for name in ("sources", "sinks"):
        if not file.values.get(name):
            file.note((name,), f"the run has no {name}", f'write [[{name}]] and below it kind = "file"')
    options = _options(found.get("detect", {}), file)
    names = [each["name"] for name in ("sources", "sinks") for each in found.get(name, ()) if each["name"]]
    for name in sorted({name for name in names if names.count(name) > 1}):
        file.note(("sinks",), f"two sources or sinks are called '{name}'", "give each a name of its own")
    file.raise_findings()
    state: Values = found.get("state", {})
    detect = file.values.get("detect", {})
    letters = found.get("dead_letters")
    return Live(
        rules=[Path(each) for each in found["rules"]],
        sources=tuple(
            NamedSource(each["name"] or f"{each['kind']}-{place}", each["described"], each["payload"])
            for place, each in enumerate(found["sources"], 1)
        ),
        sinks=tuple(
            NamedSink(each["name"] or f"to-{each['kind']}-{place}", each["described"], each["composite"])
            for place, each in enumerate(found["sinks"], 1)
        ),
        options=options,
        state=state.pop("folder", folder / f"{path.stem}-state"),
        dead_letters=None if letters is None else NamedSink(letters["name"] or "dead-letters", letters["described"]),
        stop_on_bad=detect.get("on_bad_event") == OnBadEvent.STOP.value,
        monitoring=found.get("monitoring", {}).get("listen"),
        **state,
        **found.get("time", {}),
        **found.get("flow", {}),
    )


def check_live(live: Live, path: Path, composites: Mapping[str, object]) -> None:
    """Refuse sinks that want composite events which no rule makes."""
    file = TomlFile(path, "live")
    for place, sink in enumerate(live.sinks):
        if sink.composite is not None and sink.composite not in composites:
            hint = did_you_mean(sink.composite, composites) or f"the rules define {', '.join(composites) or 'nothing'}"
            file.note(("sinks", place, "composite"), f"no rule defines '{sink.composite}'", hint)
    file.raise_findings()


def _table(folder: Path) -> Table[Values]:
    sources = {name: _end(name, kind, {**_SOURCE, "payload": _payload(folder)}) for name, kind in _kinds(folder, 0)}
    sinks = {name: _end(name, kind, _SINK) for name, kind in _kinds(folder, 1)}
    letters = {name: _end(name, kind, {"name": text}) for name, kind in _kinds(folder, 1)}
    return Table(
        "a live run",
        dict,
        {
            "rules": lambda value, key: tuple([folder / name for name in texts(value, key)]),
            "sources": Tables(Chosen("this source", "kind", sources, 'such as kind = "redis"')),
            "sinks": Tables(Chosen("this sink", "kind", sinks, 'such as kind = "file"')),
            "dead_letters": Chosen("[dead_letters]", "kind", letters, 'such as kind = "file"'),
            "detect": _DETECT,
            "state": Table("[state]", dict, {"folder": path_from(folder), "every": seconds, "when": member_of(When)}),
            "time": Table("[time]", dict, {"clock": member_of(Clock), "idle": seconds}),
            "flow": Table("[flow]", dict, {"ahead": integer(1), "batch": integer(1), "grace": seconds}),
            "monitoring": Table(
                "[monitoring]", dict, {"listen": parsed(Listen.of)}, {"listen": 'such as listen = "9464"'}
            ),
        },
    )


def _kinds(folder: Path, end: int) -> list[tuple[str, Kind]]:
    return list((source_kinds(folder) if end == 0 else sink_kinds(folder)).items())


def _end(name: str, kind: Kind, common: Keys) -> Table[Values]:
    """The table of one kind of source or sink: its own keys and those that all have."""

    def make(**given: Any) -> Values:
        own = {key: value for key, value in given.items() if key in kind.keys}
        described = None if kind.needed.keys() - own.keys() else kind.make(**own)
        return {
            "kind": name,
            "described": described,
            "name": given.get("name"),
            "composite": given.get("composite"),
            "payload": given.get("payload") or Payload(),
        }

    words = f"a source of kind {name}" if "payload" in common else f"a sink of kind {name}"
    return Table(words, make, {**kind.keys, **common}, kind.needed)


def _payload(folder: Path) -> Table[Payload]:
    return Table(
        "the payload",
        Payload,
        {
            "format": one_of("json", "avro", "protobuf"),
            "type": text,
            "fields": ByName(text, 'write fields = { time = "meta.ts", value = "v" }'),
            "each": text,
            "lines": boolean,
            "schema": path_from(folder),
            "framing": one_of("none", "confluent"),
            "descriptor": path_from(folder),
            "message": text,
        },
    )


_SOURCE: Keys = {"name": text}
_SINK: Keys = {"name": text, "composite": text}


def _of_every_run(value: object, key: str) -> object:
    """Read an option that every run takes: it is refused in the same words as everywhere."""
    if key in _NOT_LIVE:
        raise WrongValueError(f"'{key}' is for input that has an end", "leave it out")
    try:
        RunOptions.of(**{key: calculus_of(value) if key == "calculus" else value})  # type: ignore[arg-type]
    except OptionError as error:
        finding = error.diagnostics[0]
        raise WrongValueError(finding.message, finding.hint) from None
    return calculus_of(value) if key == "calculus" else value


_DETECT: Table[Values] = Table("[detect]", dict, dict.fromkeys(KEYWORDS, _of_every_run))


def _options(given: Values, file: TomlFile) -> RunOptions:
    try:
        return RunOptions.of(**given)
    except OptionError as error:
        finding = error.diagnostics[0]
        file.note(("detect",), finding.message, finding.hint)
        return RunOptions()


def _check_rules(found: Values, file: TomlFile) -> None:
    if not file.values.get("rules"):
        file.note(("rules",), "the run names no rules", 'write rules = ["fire.tesla"] at the top of the file')
    for path in found.get("rules", ()):
        if not Path(path).is_file():
            file.note(("rules",), f"there is no rule file '{path}'")
