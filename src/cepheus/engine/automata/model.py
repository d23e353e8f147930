"""The automaton model of a rule: its sequence models, and how a terminator joins what they found.

A sequence model is linear: it begins with one event of the pattern and follows the references of the windows up to the
terminator. Every event that nothing else refers to begins a sequence. So does every event that is chosen by ``last``
or ``first``: whether it is the one chosen does not depend on what came before it, so it must be known even where no
longer sequence runs through it.

Of ``each B within x from A and last C within y from B`` come the sequences ``C B`` (its states: C seen, C and B seen);
the events B are read off it, since a B without a C can take part in nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cepheus.kernel.instructions import OPERATOR_CODES, Op
from cepheus.kernel.program import MAX_KEYS, ConstraintKind, PolicyCode, StepKind
from cepheus.plan.pattern.code import LoweredConstraint
from cepheus.plan.pattern.columns import Column
from cepheus.plan.pattern.lowered import LoweredRule, LoweredStep

TERMINATOR = 0
"""The position of the terminator."""

_COMPUTED = -1  # stands among the positions that a constraint looks at for the result of an aggregate
_SLOTS = (ConstraintKind.INT_SLOT, ConstraintKind.FLOAT_SLOT)
_CONSTANTS = (ConstraintKind.INT_CONSTANT, ConstraintKind.FLOAT_CONSTANT)


@dataclass(frozen=True, slots=True)
class Key:
    """An attribute of an event of the sequence (by its place there) that must equal one of the next event."""

    index: int
    slot: int
    next_slot: int
    is_float: bool


@dataclass(frozen=True, slots=True)
class SequenceState:
    """A state: the events up to ``position`` are there; what the next event, the one they refer to, must satisfy.

    ``window`` is the time limit in microseconds. ``policy`` and ``count`` are those of the latest event if the next one
    settles its choice. ``kept`` is how many of the latest events a choice can ever fall on, 0 for any number.
    """

    position: int
    window: int
    keys: tuple[Key, ...]
    constraints: tuple[LoweredConstraint, ...]
    policy: PolicyCode
    count: int
    kept: int


@dataclass(frozen=True, slots=True)
class SequenceModel:
    """A linear automaton; ``path`` names the positions of its events from the earliest to the one before the last."""

    path: tuple[int, ...]
    states: tuple[SequenceState, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Where the candidates of a position are found: in which sequence, and at which place of its instances."""

    sequence: int
    index: int


@dataclass(frozen=True, slots=True)
class AutomatonModel:
    """The sequences of a rule; ``choices`` and ``filters`` (constraints on the event alone) are by position.

    The steps of ``rule`` keep the constraints that only the terminator settles.
    """

    rule: LoweredRule
    sequences: tuple[SequenceModel, ...]
    choices: Mapping[int, Choice]
    filters: Mapping[int, tuple[LoweredConstraint, ...]]

    @property
    def types(self) -> dict[int, int]:
        """The event types of all positions but the terminator's."""
        return {step.position: step.type for step in self.rule.steps if step.kind is StepKind.CHOOSE}

    def state_types(self) -> list[tuple[int, ...]]:
        """For all states of the rule, sequence after sequence, the types of the events that have been seen."""
        types = self.types
        return [
            tuple(types[position] for position in sequence.path[:length])
            for sequence in self.sequences
            for length in range(1, len(sequence.path) + 1)
        ]


def automaton_model(rule: LoweredRule, columns: Mapping[int, Column]) -> AutomatonModel:
    """Translate a lowered rule, given the columns that its steps name."""
    return _Translation(rule, columns).model()


class _Translation:
    """Translates one rule."""

    def __init__(self, rule: LoweredRule, columns: Mapping[int, Column]) -> None:
        self._rule = rule
        self._steps = {step.position: step for step in rule.steps if step.kind is StepKind.CHOOSE}
        self._filters = {position: columns[step.column].filters for position, step in self._steps.items()}
        self._constraints = {
            position: (*_equalities(step, columns[step.column]), *step.constraints)
            for position, step in self._steps.items()
        }

    def model(self) -> AutomatonModel:
        sequences: list[SequenceModel] = []
        choices: dict[int, Choice] = {}
        remaining: dict[int, tuple[LoweredConstraint, ...]] = {}
        for position in sorted(self._steps, reverse=True):  # what refers to an event comes later in the text
            referring = [other for other, step in self._steps.items() if step.reference == position]
            if referring and self._steps[position].policy is PolicyCode.EACH:
                along = choices[min(referring)]
                choices[position] = Choice(along.sequence, along.index + 1)
            else:
                choices[position] = Choice(len(sequences), 0)
                sequences.append(self._sequence(self._path(position)))
            remaining[position] = self._left_to_terminator(position, sequences[choices[position].sequence])
        steps = tuple(
            replace(step, constraints=remaining[step.position], keys=()) if step.kind is StepKind.CHOOSE else step
            for step in self._rule.steps
        )
        return AutomatonModel(replace(self._rule, steps=steps), tuple(sequences), choices, self._filters)

    def _path(self, position: int) -> tuple[int, ...]:
        path = []
        while position != TERMINATOR:
            path.append(position)
            position = self._steps[position].reference
        return tuple(path)

    def _sequence(self, path: tuple[int, ...]) -> SequenceModel:
        states = tuple(self._state(path, length) for length in range(1, len(path) + 1))
        return SequenceModel(path, states)

    def _state(self, path: tuple[int, ...], length: int) -> SequenceState:
        latest = self._steps[path[length - 1]]
        keys, constraints = self._transition(path, length)
        settled = latest.reference != TERMINATOR and self._settled_by_reference(latest)
        return SequenceState(
            position=latest.position,
            window=latest.window,
            keys=tuple(key for key, _ in keys),
            constraints=constraints if latest.reference != TERMINATOR else (),
            policy=latest.policy if settled else PolicyCode.EACH,
            count=latest.count,
            kept=self._kept(latest, length, [constraint for _, constraint in keys]),
        )

    def _transition(
        self, path: tuple[int, ...], length: int
    ) -> tuple[list[tuple[Key, LoweredConstraint]], tuple[LoweredConstraint, ...]]:
        """What the event after the first ``length`` of a path makes checkable: keys, and all the rest."""
        following = (*path, TERMINATOR)[length]
        known = set(path[: length + 1]) | {following}
        keys: list[tuple[Key, LoweredConstraint]] = []
        rest: list[LoweredConstraint] = []
        for position in path[: length + 1]:
            for constraint in self._constraints[position]:
                needed = positions_of(constraint)
                first = length == 1 and needed <= {path[0]}  # nothing later will make it checkable
                if not (needed <= known and (first or following in needed)):
                    continue
                key = _key(constraint, path[:length], following)
                if key is not None and len(keys) < MAX_KEYS:
                    keys.append((key, constraint))
                else:
                    rest.append(constraint)
        return keys, tuple(rest)

    def _settled_by_reference(self, step: LoweredStep) -> bool:
        """Whether the event that a selection refers to decides it: nothing later or computed has a say."""
        own = {step.position, step.reference}
        return step.consumed[0] < 0 and all(positions_of(c) <= own for c in self._constraints[step.position])

    def _kept(self, step: LoweredStep, length: int, keys: list[LoweredConstraint]) -> int:
        """How many of the latest events with the same key any later event could choose; 0 if all."""
        if step.policy is not PolicyCode.LAST or (length > 1 and step.count > 1) or step.consumed[0] >= 0:
            return 0
        plain = all(any(constraint is key for key in keys) for constraint in self._constraints[step.position])
        return step.count if plain else 0

    def _left_to_terminator(self, position: int, sequence: SequenceModel) -> tuple[LoweredConstraint, ...]:
        """The constraints of a position that no transition has checked before the terminator comes."""
        length = len(sequence.path)
        checked: list[LoweredConstraint] = []
        for before in range(1, length):
            keys, rest = self._transition(sequence.path, before)
            checked += [*(constraint for _, constraint in keys), *rest]
        checked += [constraint for _, constraint in self._transition(sequence.path, length)[0]]
        return tuple(c for c in self._constraints[position] if not any(c is other for other in checked))


def positions_of(constraint: LoweredConstraint) -> set[int]:
    """The positions that a constraint looks at, and -1 if it looks at the result of an aggregate."""
    if constraint.kind in _CONSTANTS:
        return {constraint.position}
    if constraint.kind in _SLOTS:
        return {constraint.position, constraint.other_position}
    read = {a for op, a, _ in constraint.code if op in (Op.SLOT, Op.OPTIONAL_SLOT)}
    return read | {_COMPUTED} if any(op == Op.RESULT for op, _, _ in constraint.code) else read


def _equalities(step: LoweredStep, column: Column) -> list[LoweredConstraint]:
    """The key of a step's column as the equalities that it stands for."""
    return [
        LoweredConstraint(
            ConstraintKind.FLOAT_SLOT if (column.key.float_keys >> part) & 1 else ConstraintKind.INT_SLOT,
            OPERATOR_CODES["="],
            step.position,
            slot,
            *source,
        )
        for part, (slot, source) in enumerate(zip(column.key.key_slots, step.keys, strict=True))
    ]


def _key(constraint: LoweredConstraint, path: tuple[int, ...], following: int) -> Key | None:
    """An equality of an event of the path with the following event as a key, if the constraint is that."""
    if constraint.kind not in _SLOTS or constraint.operator != OPERATOR_CODES["="]:
        return None
    one, other = (constraint.position, constraint.slot), (constraint.other_position, constraint.other_slot)
    if one[0] == following:
        one, other = other, one
    if one[0] not in path or other[0] != following:
        return None
    return Key(path.index(one[0]), one[1], other[1], constraint.kind == ConstraintKind.FLOAT_SLOT)
