"""What the studio works on: rule texts, loaded events, what the rules found in them. One workspace, one user."""

from __future__ import annotations

import threading
import time as clock
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from cepheus.api import Program, compile
from cepheus.core.batch import EventBatch
from cepheus.core.errors import CepheusError, OptionError
from cepheus.core.options import ColumnNames, OnBadEvent
from cepheus.core.schema import Attribute, EventType
from cepheus.core.time import TimeUnit
from cepheus.demo import SCENARIOS
from cepheus.explain.what_if import Sweep
from cepheus.formats.intake import IntakeOptions
from cepheus.formats.problems import BadEvents
from cepheus.formats.read import open_files
from cepheus.language.python.read_text import is_python, read_text
from cepheus.language.tesla.print import format_declaration
from cepheus.notebook.found import Found
from cepheus.runtime.embedded.rule_sources import is_sql
from cepheus.studio.examples import EXAMPLES
from cepheus.studio.lanes import Lanes

MOST_TYPES = 30
"""How many types of events the first text of a studio tells of."""

DEMO_EVENTS = 20_000
FEW_EVENTS = 1_000
_SEED = 1


@dataclass(frozen=True, slots=True)
class Document:
    """A rule text: its name, where it is kept if it is a file, and its text."""

    name: str
    text: str
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class Loaded:
    """Events in memory: what they are called, in lanes, with the labels that came with them."""

    name: str
    lanes: Lanes
    labels: tuple[tuple[str, int, int, tuple[str, ...]], ...] = ()
    skipped: int = 0

    @property
    def batch(self) -> EventBatch:
        """The events, in the order of time."""
        return self.lanes.batch

    def types(self) -> list[EventType]:
        """The types of the events, with the attributes that they have."""
        return [
            EventType(name, tuple(Attribute(each, kind) for each, kind in self.lanes.attributes(name).items()))
            for name in self.lanes.by_type
        ]


@dataclass(frozen=True, slots=True)
class Ran:
    """A run of rules over the loaded events: the program, what it found, in lanes, and how long it took."""

    text: str
    program: Program
    found: Found
    lanes: Lanes
    seconds: float


@dataclass(slots=True)
class Workspace:
    """All that the page works on; ``folders`` are the only places of the disk that are read or written.

    ``unit`` is the unit of integer times in files of events.
    """

    folders: tuple[Path, ...] = ()
    unit: TimeUnit = TimeUnit.US
    documents: list[Document] = field(default_factory=list)
    loaded: Loaded | None = None
    ran: Ran | None = None
    swept: tuple[str, Sweep] | None = None
    scenarios: tuple[Path, ...] = ()
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    @classmethod
    def of(cls, rules: Sequence[Path], events: Sequence[Path] = (), unit: TimeUnit = TimeUnit.US) -> Workspace:
        """A workspace on given files; without any it begins with a demo."""
        folders = tuple(dict.fromkeys(path.resolve().parent for path in (*rules, *events)))
        made = cls(folders, unit, _documents(rules))
        if events:
            made.load(events)
        if not rules:
            text = EXAMPLES["fire"].rules if made.loaded is None else _beginning(made.loaded)
            made.documents.append(Document("untitled.tesla", text))
        return made

    def allowed(self, given: str | Path) -> Path:
        """The path of a file inside the folders; anything else is refused, links that lead out included."""
        path = Path(given)
        candidates = [path] if path.is_absolute() else [folder / path for folder in self.folders]
        for candidate in candidates:
            try:
                resolved = candidate.resolve()
                there = resolved.is_file()
            except (ValueError, OSError):  # what no file can be called
                continue
            if there and any(resolved.is_relative_to(folder) for folder in self.folders):
                return resolved
        hint = f"the studio was given {', '.join(map(str, self.folders)) or 'no folder'}"
        raise OptionError.of("file", f"there is no file '{Path(given).name}' in the folders of the studio", hint=hint)

    def saved(self, document: Document, text: str) -> None:
        """Keep the text of a document that was written to its file."""
        with self.lock:
            self.documents = [
                replace(each, text=text) if each.path == document.path else each for each in self.documents
            ]

    def load(self, paths: Sequence[Path], name: str | None = None) -> Loaded:
        """Read files of events, all types and attributes of them, and keep them in memory."""
        bad = BadEvents(OnBadEvent.SKIP)
        options = IntakeOptions(unit=self.unit, columns=ColumnNames(), keep_all=True)
        batches = [chunk.batch for file in open_files(list(paths), options, bad) for chunk in file]
        label = name or ", ".join(path.name for path in paths)
        return self.take(label, EventBatch.concat(batches), skipped=bad.skipped)

    def take(
        self,
        name: str,
        batch: EventBatch,
        labels: Iterable[tuple[str, int, int, tuple[str, ...]]] = (),
        skipped: int = 0,
    ) -> Loaded:
        """Keep events in memory, put into the order of time; what was found before is gone."""
        if len(batch) and np.any(batch.times[1:] < batch.times[:-1]):
            batch = batch.take(np.argsort(batch.times, kind="stable"))
        batch = replace(batch, ids=np.arange(len(batch), dtype=np.int64))  # a row is known by its place
        with self.lock:
            self.loaded = Loaded(name, Lanes.of(batch), tuple(labels), skipped)
            self.ran = self.swept = None
            return self.loaded

    def example(self, name: str) -> str:
        """Open an example: its rules, which are given, and its events, which are generated."""
        if name in EXAMPLES:
            example = EXAMPLES[name]
            self.take(name, EventBatch.from_events(example.events()))
            return example.rules
        if name not in SCENARIOS:
            raise OptionError.of(
                "studio", f"there is no example '{name}'", hint=f"{', '.join((*EXAMPLES, *SCENARIOS))}"
            )
        scenario = SCENARIOS[name]
        stream = scenario.generate(_SEED, DEMO_EVENTS)
        labels = [(one.title, one.start, one.end, one.finds) for one in stream.incidents]
        self.take(f"{name}: {scenario.title}", EventBatch.from_events(stream.events), labels)
        return scenario.rules

    def require_events(self) -> Loaded:
        """The loaded events; OptionError if there are none."""
        if self.loaded is None:
            raise OptionError.of("studio", "no events are loaded", hint="open a file of events, or an example")
        return self.loaded

    def require_run(self) -> Ran:
        """What the last run found; OptionError if nothing was run."""
        if self.ran is None:
            raise OptionError.of("studio", "nothing was run yet", hint="run the rules first")
        return self.ran

    def run(self, text: str) -> Ran:
        """Run rules over the loaded events."""
        with self.lock:
            loaded = self.require_events()
            program = program_of(text)
            began = clock.perf_counter()
            found = program.detect(loaded.batch, engine=engine_for(loaded.batch))
            spent = clock.perf_counter() - began
            self.ran = Ran(text, program, found, Lanes.of(found, found=True), spent)
            return self.ran


def engine_for(batch: EventBatch) -> str:
    """The engine for so many events: a few are run without waiting for anything to be compiled."""
    return "reference" if len(batch) <= FEW_EVENTS else "auto"


def program_of(text: str) -> Program:
    """Compile rule text as the studio does: types that nobody declares come from the data. It is never a file name."""
    if is_python(text) and not is_sql(text):
        return compile(read_text(text), undeclared="allow")
    return compile(f"{text}\n\n", undeclared="allow")


def _beginning(loaded: Loaded) -> str:
    """A text to begin with for events that came without rules: what rules can say of them."""
    shown = "".join(
        f"//   {format_declaration(each)}".replace("\n", " ") + "\n" for each in loaded.types()[:MOST_TYPES]
    )
    return f"// Write rules about the events of {loaded.name}, or open an example. They are\n{shown}\n"


def _documents(paths: Iterable[Path]) -> list[Document]:
    """The rule texts of files, each under a name of its own: where bare names repeat it is the whole path."""
    once = list({path.resolve(): path for path in paths}.values())
    bare = Counter(path.name for path in once)
    return [_document(path, path.name if bare[path.name] == 1 else str(path.absolute())) for path in once]


def _document(path: Path, name: str) -> Document:
    try:
        return Document(name, path.read_text(encoding="utf-8"), path.resolve())
    except (OSError, UnicodeDecodeError):
        raise OptionError.of("file", f"'{path}' cannot be read", hint="name a file of rules") from None


def diagnostics(error: CepheusError) -> list[dict[str, Any]]:
    """What is wrong, as JSON, with offsets into the text where it is about a text."""
    found = []
    for each in error.diagnostics:
        data: dict[str, Any] = dict(each.to_json())
        if each.span is not None:
            data |= {"from": each.span.start, "to": each.span.end}
        found.append(data)
    return found


def counts_of(batch: EventBatch) -> Mapping[str, int]:
    """How many events of each type there are."""
    counts = np.bincount(batch.codes, minlength=len(batch.types)).tolist() if len(batch) else []
    return {name: count for name, count in zip(batch.types, counts, strict=False) if count}
