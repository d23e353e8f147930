"""Matches of a pattern whose conditions look back at the match: vectors for many rows, then the loop of threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cepheus.core.errors import LimitError
from cepheus.core.values import Value, ValueType
from cepheus.engine.rows.at_hand import RowsAtHand
from cepheus.engine.rows.found import NO_ROW, Matches, joined, no_matches
from cepheus.engine.rows.kernel import MATCH_WIDTH, NOW_WIDTH, Ending, Now, Part, Places, Stop
from cepheus.engine.rows.looking import Look
from cepheus.engine.rows.machine import MASK, NULLS, VECTORS
from cepheus.engine.rows.situated import MOST_VARIABLES, SKIPS, masks_of
from cepheus.engine.rows.store import RowStore, moved_places
from cepheus.engine.rows.thread_state import Threads, packed_threads, unpacked_threads
from cepheus.engine.rows.threads import run_threads
from cepheus.engine.rows.vectors import compute
from cepheus.kernel.memory import address
from cepheus.plan.rows.automaton import ACCEPT, ACCEPT_AT_END, automaton, shortened
from cepheus.plan.rows.conditions import Condition, conditions_of
from cepheus.rules.rows.evaluate import Moment, Row, value_of
from cepheus.rules.rows.expressions import columns_of
from cepheus.rules.rows.matches import skip_failed
from cepheus.rules.rows.model import RowQuery

STEPS_PER_ROW = 500
"""How often a row may be tried, on average over the rows at hand, before a pattern is given up."""

OPEN_LIMIT = 20_000
"""How many matches may be open at once from one row."""

_MOST_NODES = 1 << 25
_MET = 1 << 16
_BUSY = 2


class ThreadSearch:
    """Finds the matches of a query in the rows of a store."""

    def __init__(self, query: RowQuery, store: RowStore) -> None:
        if len(query.variables) > MOST_VARIABLES:
            raise LimitError.of(
                "pattern-size",
                f"the pattern {shortened(query.pattern)} has more than {MOST_VARIABLES} variables",
                span=query.pattern.span,
                hint="find parts of it by queries of their own",
            )
        self._query, self._store = query, store
        self._automaton = automaton(query.pattern)
        self._conditions = conditions_of(query, store.types)
        self._width = max(len(self._conditions.initial), 1)
        self._texts: dict[str, int] = {}
        self._code = self._program()
        self._numbers = self._settings()
        self._values = np.zeros((0, len(self._conditions.vectors) + VECTORS), np.int64)
        self._threads = Threads.empty(64, 256, self._width)
        self._answers = np.zeros((0, len(query.variables)), np.int64)
        self._now = np.zeros(NOW_WIDTH, np.int64)
        self._room = (256, 1024)
        self._found: FoundWords | None = None

    def take(self, places: Places) -> Matches:
        """Take rows whose neighbours are known, in the order of arrival."""
        if not len(places):
            return no_matches()
        self._compute(places)
        self._store.classify(places, np.zeros(len(places), np.int32))
        return self._run(places, Ending.NONE)

    def expire(self, time: int) -> Matches:
        """No row of before a time will come: settle what WITHIN ends by then."""
        return self._run(np.empty(0, np.int32), Ending.BY_TIME, time)

    def end(self) -> Matches:
        """No row will come at all."""
        return self._run(np.empty(0, np.int32), Ending.ALL)

    def earliest(self, partitions: NDArray[np.int64]) -> NDArray[np.int64]:
        """By partition, the first row that a match which is not decided may have."""
        parts = self._store.parts[partitions]
        busy = parts[:, Part.SITUATION] == _BUSY
        found: NDArray[np.int64] = np.where(busy, parts[:, Part.ATTEMPT].astype(np.int64), NO_ROW)
        return found

    def moved(self, moved: NDArray[np.int32]) -> None:
        """Rows were forgotten; ``moved`` is the new place of each."""
        kept = np.flatnonzero(moved >= 0)
        self._fit_values(len(moved))  # nothing was computed yet of rows that wait for others
        self._values = self._values[kept]
        columns = self._conditions.places
        if columns:
            words = self._threads.words[:, columns]
            known = np.where((words >= 0) & (words < len(moved)), words, -1).astype(np.int32)
            self._threads.words[:, columns] = moved_places(known, moved)
        self._forget_texts()

    def state(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """What a snapshot has of it."""
        length = self._store.length
        self._fit_values(length)
        blobs = packed_threads(self._threads, self._store.parts[: len(self._store.keys)])
        blobs |= {"values": self._values[:length].tobytes()}
        return {"texts": list(self._texts)}, blobs

    def restore(self, header: dict[str, Any], blobs: dict[str, bytes]) -> None:
        """Take over what ``state`` gave; ValueError if that makes no sense."""
        length, width = self._store.length, self._values.shape[1]
        self._texts = {text: code for code, text in enumerate(header["texts"])}
        self._code = self._program()
        self._values = np.frombuffer(blobs["values"], np.int64).reshape(length, width).copy()
        lines, nodes = len(blobs["thread state"]) // 8, len(blobs["node state"]) // 8
        self._threads = Threads.empty(max(64, lines), max(256, nodes), self._width)
        parts = self._store.parts
        unpacked_threads(blobs, self._threads, parts, len(self._automaton))
        busy = parts[:, Part.SITUATION] == _BUSY
        if np.any(parts[busy, Part.ATTEMPT] < 0) or np.any(
            (parts[:, Part.SITUATION] < 0) | (parts[:, Part.SITUATION] > 2)
        ):
            raise ValueError
        words = self._threads.words[:lines, self._conditions.places]
        if words.size and not -1 <= words.min() <= words.max() < length:
            raise ValueError
        self._check_chains()

    def _check_chains(self) -> None:
        """Check that open matches have a variable for each row from their first on, and candidates up to their end."""
        parts, rows, threads = self._store.parts, self._store.rows, self._threads
        for p in np.flatnonzero(parts[:, Part.SITUATION] == _BUSY).tolist():
            taken = []
            row = int(parts[p, Part.ATTEMPT])
            while row >= 0 and rows.row_class[row] >= 0:
                taken.append(row)
                row = int(rows.after[row])
            line = int(parts[p, Part.THREADS])
            while line >= 0:
                if len(self._states(int(threads.node[line]))) != len(taken):
                    raise ValueError
                line = int(threads.next[line])
            length = len(self._states(int(parts[p, Part.CANDIDATE])))
            if length > len(taken) or (length and taken[length - 1] != parts[p, Part.CANDIDATE_END]):
                raise ValueError

    def _fit_values(self, rows: int) -> None:
        """Make room for what is computed of so many rows."""
        if len(self._values) < rows:
            more = max(rows, 2 * len(self._values)) - len(self._values)
            width = self._values.shape[1]
            self._values = np.concatenate([self._values, np.zeros((more, width), np.int64)])

    def _compute(self, places: Places) -> None:
        """Compute what conditions read of rows, for many rows at once."""
        self._fit_values(self._store.length)
        at_hand = RowsAtHand(self._store, places)
        near = {name: condition.near for name, condition in self._conditions.of.items()}
        self._values[places, MASK] = masks_of(self._query, near, self._store, at_hand)
        null = np.zeros(len(places), np.int64)
        for number, vector in enumerate(self._conditions.vectors):
            at_hand.variable = vector.variable
            found = compute(vector.expression, at_hand)
            if found.null_count:
                null |= pc.is_null(found).to_numpy(zero_copy_only=False).astype(np.int64) << number
            self._values[places, VECTORS + number] = self._as_words(found, vector.type)
        self._values[places, NULLS] = null

    def _as_words(self, found: Any, kind: ValueType) -> NDArray[np.int64]:
        if pa.types.is_null(found.type):
            return np.zeros(len(found), np.int64)
        if kind is ValueType.STRING:
            coded = found.dictionary_encode()
            codes = np.array([self._text_code(text) for text in coded.dictionary.to_pylist()] or [0], np.int64)
            texts: NDArray[np.int64] = codes[pc.fill_null(coded.indices, 0).to_numpy(zero_copy_only=False)]
            return texts
        if kind is ValueType.FLOAT:
            numbers: NDArray[np.float64] = pc.fill_null(found.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
            return np.ascontiguousarray(numbers).view(np.int64)
        whole = found.cast(pa.int64()) if pa.types.is_boolean(found.type) else found
        words: NDArray[np.int64] = pc.fill_null(whole, 0).to_numpy(zero_copy_only=False)
        return words

    def _text_code(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def _forget_texts(self) -> None:
        """Forget texts that no row has any more, if they may be many."""
        if len(self._texts) < max(1024, 4 * len(self._values)):
            return
        old = list(self._texts)
        self._texts = {}
        self._code = self._program()
        for column, vector in enumerate(self._conditions.vectors, start=VECTORS):
            if vector.type is ValueType.STRING:
                used = np.unique(self._values[: self._store.length, column])
                codes = np.zeros(len(old), np.int64)
                codes[used] = [self._text_code(old[code]) for code in used.tolist()]
                self._values[: self._store.length, column] = codes[self._values[: self._store.length, column]]

    def _run(self, todo: Places, ending: Ending, until: int = 0) -> Matches:
        """Run the loop over rows, or to the end of partitions, and give it what it asks for."""
        store, now = self._store, self._now
        now[:] = 0
        now[Now.ROW] = -1
        limit = STEPS_PER_ROW * (store.length + 50_000)
        self._expect(len(todo))
        parts: list[Matches] = []
        while True:
            if self._found is None:
                self._found = self._new_room()
            stop = run_threads(self._look(todo, ending, until, limit))
            if stop == Stop.DONE:
                parts.append(self._taken())
                return joined(parts)
            if stop == Stop.ASK:
                self._answer()
            elif stop == Stop.ROOM_FOR_THREADS:
                self._grow()
            elif stop in (Stop.ROOM_FOR_MATCHES, Stop.ROOM_FOR_ROWS):
                parts.append(self._taken())
                self._room = (4 * self._room[0], 4 * self._room[1])
                self._found = None
            elif stop == Stop.STEPS:
                raise self._limit(f"tries each row more than {STEPS_PER_ROW} times")
            elif stop == Stop.OPEN:
                raise self._limit(f"has more than {OPEN_LIMIT} matches open at once")
            else:
                raise skip_failed(self._query, nothing=stop == Stop.SKIP_TO_NOTHING)

    def _limit(self, what: str) -> LimitError:
        return LimitError.of(
            "too-many-steps",
            f"the pattern {shortened(self._query.pattern)} {what}",
            span=self._query.pattern.span,
            hint="bound it with WITHIN, or let its variables exclude one another",
        )

    def _answer(self) -> None:
        """Compute conditions as their definition says, for all threads of the partition at hand."""
        store, threads, now = self._store, self._threads, self._now
        row = int(now[Now.ROW])
        p = int(store.rows.partition[row])
        line = int(store.parts[p, Part.THREADS])
        rows, start, at = self._rows_around(p, int(store.parts[p, Part.ATTEMPT]), row)
        number = int(store.parts[p, Part.NUMBER]) + 1
        names = self._automaton.names
        answers = []
        while line >= 0:
            labels = [names[self._automaton.variable[state]] for state in self._states(int(threads.node[line]))]
            held = np.zeros(len(names), np.int64)
            goals = self._automaton.next_of[int(threads.state[line])]
            for variable in {self._automaton.variable[goal] for goal in goals if goal >= 0}:
                condition = self._conditions.of.get(names[variable])
                if condition is not None and condition.far is not None:
                    moment = Moment(rows, start, [*labels, names[variable]], at, number)
                    held[variable] = value_of(condition.far, moment) is True
            answers.append(held)
            line = int(threads.next[line])
        self._answers = np.array(answers)
        now[Now.ANSWERED] = len(answers)

    def _states(self, node: int) -> list[int]:
        found = []
        while node >= 0:
            found.append(int(self._threads.node_state[node]))
            node = int(self._threads.parent[node])
        return found[::-1]

    def _rows_around(self, p: int, start: int, row: int) -> tuple[Sequence[Row], int, int]:
        """The rows of a partition that are kept, and where the match begins and the row at hand is among them."""
        store = self._store
        places = [int(store.parts[p, Part.LAST])]
        while (before := int(store.rows.before[places[-1]])) >= 0:
            places.append(before)
        places.reverse()
        wanted = dict.fromkeys(
            name for each in self._conditions.of.values() if each.far is not None for name in columns_of(each.far)
        )
        columns = [store.take(name, np.array(places, np.int32)).to_pylist() for name in wanted]
        rows: list[Mapping[str, Value | None]] = [{} for _ in places]
        if wanted:
            rows = [dict(zip(wanted, values, strict=True)) for values in zip(*columns, strict=True)]
        return rows, places.index(start), places.index(row)

    def _grow(self) -> None:
        if 2 * len(self._threads.parent) > _MOST_NODES:
            raise self._limit(f"keeps more than {_MOST_NODES // 2} variables of open matches")
        self._threads = self._threads.larger()

    def _look(self, todo: Places, ending: Ending, until: int, limit: int) -> int:
        """The address of the context of the loop; what it refers to stays alive while this object does."""
        store, threads, found, rows = self._store, self._threads, self._found, self._store.rows
        assert found is not None
        self._fit_values(self._store.length)
        lines = {
            "values": self._values,
            "time": rows.time,
            "now": self._now,
            "parts": store.parts,
            "pool": threads.pool,
            "state": threads.state,
            "node": threads.node,
            "next": threads.next,
            "words": threads.words,
            "parent": threads.parent,
            "node_state": threads.node_state,
            "uses": threads.uses,
            "answers": self._answers,
            "matches": found.matches,
            "found_rows": found.rows,
            "found_states": found.states,
        }
        halves = {"partition": rows.partition, "ready": rows.row_class, "before": rows.before, "after": rows.after}
        self._alive = (lines, halves, todo)
        fields = {name: address(array) for name, array in (self._code | lines | halves | {"todo": todo}).items()}
        self._context = np.array(
            Look.row(
                **fields,
                **self._numbers,
                values_width=self._values.shape[1],
                partitions=len(store.parts),
                threads_room=len(threads.next),
                nodes_room=len(threads.parent),
                matches_room=len(found.matches),
                rows_room=len(found.rows),
                todo_count=len(todo),
                ending=int(ending),
                until=until,
                steps_limit=limit,
            ),
            np.int64,
        )
        return address(self._context, Look)

    def _expect(self, rows: int) -> None:
        """Make room for the matches of so many rows, as many as there usually are."""
        wanted = (max(self._room[0], rows // 4), max(self._room[1], rows))
        if wanted != self._room:
            self._room, self._found = wanted, None

    def _new_room(self) -> FoundWords:
        matches, rows = self._room
        lines = np.empty((matches, MATCH_WIDTH), np.int64)
        return FoundWords(lines, np.empty(rows, np.int64), np.empty(rows, np.int64))

    def _taken(self) -> Matches:
        """Take the matches out of where the loop has written them."""
        assert self._found is not None
        count, filled = int(self._now[Now.MATCHES]), int(self._now[Now.ROWS])
        self._now[Now.MATCHES] = self._now[Now.ROWS] = 0
        states = self._found.states[:filled]
        variables, excluded = np.array(self._automaton.variable, np.int32), np.array(self._automaton.excluded, np.bool_)
        return Matches(
            self._found.matches[:count].copy(),
            self._found.rows[:filled].astype(np.int32),
            variables[states],
            excluded[states],
        )

    def _settings(self) -> dict[str, int]:
        """What the loop is told by numbers."""
        target = self._query.after.target
        members = () if target is None else self._query.members(target)
        return {
            "kept_count": len(self._conditions.kept),
            "width": self._width,
            "met_mask": _MET - 1,
            "variables": len(self._automaton.names),
            "open_limit": OPEN_LIMIT,
            "skip": int(SKIPS[self._query.after.kind]),
            "skip_to": sum(1 << self._automaton.names.index(name) for name in members),
            "within": self._query.within or 0,
        }

    def _program(self) -> dict[str, NDArray[np.int64]]:
        """The automaton and the conditions as arrays, and room to work in; texts are known by their codes."""
        machine, made = self._automaton, self._conditions
        accepts = [
            (1 if ACCEPT in goals else 0) | (2 if ACCEPT_AT_END in goals else 0) | (4 if goals == (ACCEPT,) else 0)
            for goals in machine.next_of
        ]
        conditions = [made.of.get(name, Condition()) for name in made.names]
        constants, null = np.zeros(len(made.constants) + 1, np.int64), np.zeros(len(made.constants) + 1, np.int64)
        for place, (value, kind) in enumerate(made.constants):
            null[place] = value is None
            if isinstance(value, str):
                constants[place] = self._text_code(value)
            elif kind is ValueType.FLOAT and value is not None:
                constants.view(np.float64)[place] = value
            elif value is not None:
                constants[place] = value
        depth = max(len(condition.code) for condition in conditions) + 1
        return {
            "next_of": _words([goal for goals in machine.next_of for goal in goals]),
            "next_begins": np.cumsum([0, *map(len, machine.next_of)]),
            "variable": _words(machine.variable),
            "accepts": _words(accepts),
            "instructions": _words([number for each in conditions for line in each.code for number in line]),
            "code_begins": np.cumsum([0, *(len(each.code) for each in conditions)]),
            "asked": _words([each.asked for each in conditions]),
            "kept": _words([number for each in made.kept for number in astuple(each)]),
            "initial": _words(made.initial),
            "constants": constants,
            "constants_null": null,
            "labels": _words([self._text_code(name) for name in made.names]),
            "met": np.zeros((_MET, 2), np.int64),
            "tried": np.zeros((len(made.names), 2), np.int64),
            "scratch": np.zeros((len(made.names), self._width), np.int64),
            "stack": np.zeros(depth, np.int64),
            "stack_null": np.zeros(depth, np.int64),
        }


def _words(numbers: Sequence[int]) -> NDArray[np.int64]:
    return np.array([*numbers] or [0], np.int64)


@dataclass(frozen=True, slots=True)
class FoundWords:
    """Where the loop writes matches: a line each, and the rows and states of all."""

    matches: NDArray[np.int64]
    rows: NDArray[np.int64]
    states: NDArray[np.int64]
