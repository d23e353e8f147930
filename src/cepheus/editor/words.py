"""The words of the rule languages, each with its meaning: what completion offers, hover shows and highlighting colours.

Functions, aggregates, selection policies and operators of intervals come from their records; here are only the words
of the grammars themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache

from cepheus.core.time import UNITS
from cepheus.core.values import TYPE_NAMES, ValueType
from cepheus.rules.aggregates import AGGREGATES, Argument
from cepheus.rules.functions import FUNCTIONS
from cepheus.rules.interval.operators import OPERATORS
from cepheus.rules.policies import POLICIES


class WordKind(Enum):
    """What a word is to the language."""

    KEYWORD = "keyword"
    OPERATOR = "operator"
    FUNCTION = "function"
    AGGREGATE = "aggregate"
    TYPE = "type"
    UNIT = "unit of time"


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a language, with how it is used (``form``) and what it means."""

    text: str
    kind: WordKind
    form: str
    meaning: str


_TESLA_KEYWORDS = {
    "rule": ("rule NAME", "names the rule that follows"),
    "define": ("define Fire(area: string)", "the composite event that the rule makes, with its attributes"),
    "from": (
        "from Smoke(area=$a) and ..",
        "the pattern; the rule fires at the time of its first event",
    ),
    "where": ("where area=Smoke.area", "the values of the composite event's attributes"),
    "consuming": ("consuming Temp", "events that took part in a firing are gone for this rule afterwards"),
    "min": ("min probability 0.3", "composite events below this probability are neither delivered nor fed on"),
    "probability": ("min probability 0.3", "how likely it is that a composite event is real"),
    "event": ("event Temp(area: string, value: double?)", "declares a type of event; `?` marks what events may lack"),
    "error": ("error Temp.value ~ N(0, 1)", "what the values of sources that send no error of their own are off by"),
    "ties": ("ties ordered", "whether events of equal time come one after the other, `ordered`, or not, `apart`"),
    "not": ("not Rain(area=$a) within 5 min from Smoke", "there is no such event in the window or interval"),
    "and": ("A() and last B() within 5 min from A", "both must hold"),
    "or": ("value > 45 or smoke = true", "one of the conditions must hold"),
    "as": ("last Temp() as Hot", "another name for the event, needed where a type is used twice"),
    "within": ("within 5 min from Smoke", "from so long before the event up to, not including, its time"),
    "between": ("not Rain() between A and B", "strictly between the times of two events"),
    "in": ("room in ('A1', 'A2')", "equal to one of the values"),
    "is": ("value is null, value is not null", "whether an event lacks the value"),
    "null": ("value is null", "no value"),
    "true": ("true", "the truth value"),
    "false": ("false", "the truth value"),
    "after": ("from 5 min after A()", "the rule is decided at that moment, which is called `now`"),
    "every": ("from every 10 min from 09:00", "the rule is decided at each of these moments, called `now`"),
    "now": ("within 10 min from now", "the moment at which a rule with a timer is decided"),
    "per": ("last Temp() per room", "a choice of its own for each value of these attributes"),
    "all": ("all 3.. Temp() as Temps within 5 min from A", "all matching events together, as one choice"),
    "top": ("10 top Trip() by Count(..) per route", "those with the greatest values of an expression"),
    "by": ("10 top Trip() by fare", "the expression that ranks"),
    "network": ("network Fire { .. }", "the Bayesian network of a rule"),
    "node": ("node Traffic {HIGH: .1, LOW: .9}", "a cause or effect, with its states and their probabilities"),
    "given": ("node Temp given Fire { .. }", "the nodes that the table depends on"),
    "observe": ("observe Traffic = LOW", "what is known of a node"),
    "to": ("from '07:00' to '09:00'", "the time of day in which another table holds"),
    "timestamp": ("timestamp '2026-01-01 00:00:00'", "a moment written out; also the type of moments"),
}

_ETALIS_KEYWORDS = {
    "where": ("p WHERE X > 3", "conditions on the variables of a pattern"),
    "policy": ("policy recent.", "which of several matching events are used, and whether they are used up"),
    "label": ("LABEL name: head(X) <- ..", "names a rule"),
    "event": ("event temp(area: string, value: double).", "declares a type of event"),
    "unit": ("unit s.", "the unit of numbers of time in this file"),
    "limit": ("limit 1000.", "how many facts the background knowledge may derive"),
    "within": ("AVG(P, stock(P) WITHIN 10 s)", "the window of an aggregate"),
    "is": ("Y is X + 1", "binds a variable to a value"),
    "in": ("X in [1, 2]", "one of the values of a list"),
    "not": ("NOT(p).[q, r]", "no p between q and r; before a condition: it does not hold"),
    "cnot": ("(q SEQ r) CNOT p", "another way to write NOT(p).[q, r]"),
    "or": ("p OR q", "either"),
    "before": ("p BEFORE q", "another way to write p SEQ q"),
    "after": ("p AFTER q", "q SEQ p"),
    "contains": ("p CONTAINS q", "q DURING p"),
    "met by": ("p MET BY q", "q MEETS p"),
    "started by": ("p STARTED BY q", "q STARTS p"),
    "finished by": ("p FINISHED BY q", "q FINISHES p"),
    "overlapped by": ("p OVERLAPPED BY q", "q OVERLAPS p"),
    "true": ("true", "the truth value"),
    "false": ("false", "the truth value"),
    "timestamp": ("timestamp '2026-01-01 00:00:00'", "a moment written out; also the type of moments"),
}

_TYPE_MEANINGS = {
    ValueType.BOOL: "true or false",
    ValueType.INT: "whole numbers of 64 bits",
    ValueType.FLOAT: "floating-point numbers of 64 bits",
    ValueType.STRING: "text",
    ValueType.TIMESTAMP: "moments, to the microsecond",
    ValueType.LIST: "lists, in rules over intervals",
}


@cache
def tesla_words() -> dict[str, Word]:
    """The words of TESLA by their lower-case form; a function that is also an aggregate stands as the aggregate."""
    policies = {
        policy.value: (f"{policy.value} Temp() within 5 min from A", POLICIES[policy].summary) for policy in POLICIES
    }
    words = {name: Word(name, WordKind.KEYWORD, *said) for name, said in (_TESLA_KEYWORDS | policies).items()}
    return _records() | words


@cache
def etalis_words() -> dict[str, Word]:
    """The words of the ETALIS language by their lower-case form."""
    operators = {
        operator.value.lower(): Word(operator.value, WordKind.OPERATOR, f"p {operator.value} q", record.phrase)
        for operator, record in OPERATORS.items()
    }
    keywords = {name: Word(name, WordKind.KEYWORD, *said) for name, said in _ETALIS_KEYWORDS.items()}
    return _records() | operators | keywords


def _records() -> dict[str, Word]:
    """The words that have records: functions, aggregates, types, units of time."""
    words: dict[str, Word] = {}
    for name, function in FUNCTIONS.items():
        if name.isidentifier():
            kinds = ", ".join(kind.value for kind in function.arguments) + (", .." if function.variadic else "")
            words[name] = Word(name, WordKind.FUNCTION, f"{name}({kinds})", function.summary)
    for aggregate in AGGREGATES.values():
        value = ".value" if aggregate.needs_value else ""
        form = f"{aggregate.name}(Temp(){value} within 5 min from A{_argument(aggregate.argument)})"
        words[aggregate.name.lower()] = Word(aggregate.name, WordKind.AGGREGATE, form, aggregate.summary)
    for name, value_type in TYPE_NAMES.items():
        words[name] = Word(name, WordKind.TYPE, f"value: {name}", _TYPE_MEANINGS[value_type])
    for name, length in UNITS.items():
        words.setdefault(name, Word(name, WordKind.UNIT, f"5 {name}", f"{length:,} microseconds each"))
    return words


def _argument(argument: Argument | None) -> str:
    return "" if argument is None else f", {argument.example}"
