"""Sets of sequence rules: a terminator and, before it, one event after the other within a window of its successor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MIN_WINDOW, MAX_WINDOW = 5_000, 25_000
"""Windows are uniform between these, in milliseconds: 15 s on average."""


@dataclass(frozen=True, slots=True)
class SequenceRule:
    """A rule over events in the order they happen, each within a window (ms) of the next, the terminator last.

    ``constraints`` has the text between the parentheses of each event, empty where any event of the type will do.
    """

    name: str
    events: tuple[str, ...]
    windows: tuple[int, ...]
    constraints: tuple[str, ...] = ()

    def text(self, selection: str) -> str:
        """The rule in TESLA under a selection policy, ``each`` or ``last``.

        >>> SequenceRule("R0", ("A", "B"), (50,)).text("last")
        'rule R0 define R0Found() from B() and last A() within 50 ms from B'
        """
        constraints = self.constraints or ("",) * len(self.events)
        steps = [f"{event}({constraint})" for event, constraint in zip(self.events, constraints, strict=True)]
        before = [
            f" and {selection} {steps[at]} within {window} ms from {self.events[at + 1]}"
            for at, window in reversed(list(enumerate(self.windows)))
        ]
        return f"rule {self.name} define {self.name}Found() from {steps[-1]}{''.join(before)}"


def rule_text(rules: Sequence[SequenceRule], selection: str) -> str:
    """A set of rules in TESLA.

    >>> rule_text([SequenceRule("R0", ("A", "B"), (50,))], "each")
    'rule R0 define R0Found() from B() and each A() within 50 ms from B;'
    """
    return "\n".join(f"{rule.text(selection)};" for rule in rules)


def chapter_rules(count: int = 1000, seed: int = 12, *, types: int = 300) -> list[SequenceRule]:
    """Rules over three different types of T0, T1, .., with one window for both steps.

    >>> chapter_rules(1)[0]
    SequenceRule(name='R0', events=('T74', 'T182', 'T291'), windows=(8786, 8786), constraints=())
    """
    random = np.random.default_rng(seed)
    rules = []
    for number in range(count):
        events = random.choice(types, 3, replace=False).tolist()
        window = int(random.integers(MIN_WINDOW, MAX_WINDOW + 1))
        rules.append(SequenceRule(f"R{number}", tuple(f"T{event}" for event in events), (window, window)))
    return rules


def balanced_rules(
    count: int, length: int, *, concerned: int, seed: int, windows: tuple[int, int] = (MIN_WINDOW, MAX_WINDOW)
) -> list[SequenceRule]:
    """Rules in which every type occurs in exactly ``concerned`` rules, once in each, at one and the same step.

    There are ``types_of(count, length, concerned)`` types, so that an event concerns just as many rules whatever their
    number, and every state of every rule is equally likely to be reached by an event.

    >>> rules = balanced_rules(4, 2, concerned=2, seed=1)
    >>> sorted(rule.events[0] for rule in rules), sorted(rule.events[1] for rule in rules)
    (['T0', 'T0', 'T1', 'T1'], ['T2', 'T2', 'T3', 'T3'])
    """
    random = np.random.default_rng(seed)
    per_step = types_of(count, length, concerned) // length
    steps = [step * per_step + random.permutation(count) % per_step for step in range(length)]
    drawn = random.integers(windows[0], windows[1] + 1, (count, length - 1)).tolist()
    return [
        SequenceRule(f"R{number}", tuple(f"T{step[number]}" for step in steps), tuple(drawn[number]))
        for number in range(count)
    ]


def types_of(count: int, length: int, concerned: int) -> int:
    """The number of types with which each concerns that many of the rules.

    >>> types_of(1000, 3, 10)
    300
    """
    return count // concerned * length
