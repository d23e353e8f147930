"""Rules in Python as an editor has them: colours, what may be written, what words mean. Nothing is run."""

from __future__ import annotations

import builtins
import inspect
import io
import keyword
import string
import tokenize
from collections.abc import Iterator

from cepheus.editor.colours import Colour, Coloured
from cepheus.editor.proposals import Completion, Proposal
from cepheus.language.python.events import Event
from cepheus.language.python.read_text import words

_RULE = (
    "@rule\ndef ${1:fire}(${2:smoke}: ${3:Smoke}) -> ${4:Fire}:\n"
    '    ${5:temp} = last(${6:Temp}, $6.${7:value} > ${8:45}).within("${9:5 min}", of=$2)\n    return $4()\n'
)
_CLASS = "class ${1:Temp}(Event):\n    ${2:value}: ${3:float}\n"
_MODULE = "from cepheus.typed import Composite, Event, each, first, last, no, rule, when\n"
_LETTERS = string.ascii_letters + string.digits + "_"
_METHODS = {
    "within": '.within("5 min", of=smoke): how long before which event',
    "between": ".between(temp, smoke): strictly between two events",
    "since_start": ".since_start(): over all events so far",
}


def colours(text: str) -> list[Coloured]:
    """Colour Python; a text that is not finished as far as it goes.

    >>> [(piece.colour.value, piece.end) for piece in colours("class Temp(Event): pass")][:2]
    [('keyword', 5), ('class', 10)]
    """
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    found: list[Coloured] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            colour = _colour(token)
            if colour is not None:
                start, end = (starts[line - 1] + column for line, column in (token.start, token.end))
                found.append(Coloured(start, end, colour))
    except (tokenize.TokenError, SyntaxError, IndexError):
        pass
    return found


def _colour(token: tokenize.TokenInfo) -> Colour | None:
    match token.type:
        case tokenize.COMMENT:
            return Colour.COMMENT
        case tokenize.STRING:
            return Colour.STRING
        case tokenize.NUMBER:
            return Colour.NUMBER
        case tokenize.OP:
            return Colour.OPERATOR if token.string not in "()[]{},:." else None
        case tokenize.NAME:
            return _of_name(token.string)
    return None


def _of_name(name: str) -> Colour | None:
    if keyword.iskeyword(name):
        return Colour.KEYWORD
    if name in words():
        known = words()[name]
        return Colour.TYPE if isinstance(known, type) else Colour.FUNCTION
    if hasattr(builtins, name):
        return Colour.TYPE
    return Colour.EVENT if name[:1].isupper() else Colour.NAME


def completions(text: str, offset: int) -> list[Completion]:
    """What may be written at a place: behind a dot attributes, else names of the text and of ``cepheus.typed``."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    classes = _classes(text)
    word = line.rstrip(_LETTERS)
    if word.endswith("."):
        return list(_behind_dot(word[:-1], text, classes))
    found = [Completion(name, Proposal.EVENT_TYPE, "a class of events") for name in classes]
    found += [
        Completion(name, Proposal.FUNCTION, "cepheus.typed", _summary(value)) for name, value in sorted(words().items())
    ]
    if not word.strip():
        found.append(Completion("rule", Proposal.STATEMENT, "a rule", "A rule as a function.", _RULE))
        found.append(Completion("class", Proposal.STATEMENT, "an event type", "A type of event.", _CLASS))
    if not text.strip():
        found.append(Completion("from cepheus.typed import", Proposal.STATEMENT, "the names of rules", "", _MODULE))
    return found


def _behind_dot(before: str, text: str, classes: dict[str, dict[str, str]]) -> Iterator[Completion]:
    name = before[len(before.rstrip(_LETTERS)) :]
    if name in ("agg", "fn"):
        from cepheus.rules.aggregates import AGGREGATES
        from cepheus.rules.functions import FUNCTIONS

        for each in AGGREGATES if name == "agg" else FUNCTIONS:
            yield Completion(str(each).lower(), Proposal.FUNCTION, "an aggregate" if name == "agg" else "a function")
        return
    if before.endswith(")"):
        for method, meaning in _METHODS.items():
            yield Completion(method, Proposal.FUNCTION, "", meaning)
        return
    attributes = classes.get(name) or classes.get(_class_of(name, text), {})
    for attribute, kind in attributes.items():
        yield Completion(attribute, Proposal.ATTRIBUTE, kind)
    if attributes:
        yield Completion("time", Proposal.ATTRIBUTE, "datetime")


def _class_of(variable: str, text: str) -> str:
    """The class of an argument or of what a selection gives, as far as a look at the text tells."""
    for line in text.split("\n"):
        bare = line.strip()
        if bare.startswith(f"{variable} = ") and "(" in bare:
            return bare.partition("(")[2].partition(",")[0].partition(")")[0].strip()
        if bare.startswith("def ") and f"{variable}: " in bare:
            return bare.partition(f"{variable}: ")[2].partition(")")[0].partition(",")[0].strip()
    return ""


def _classes(text: str) -> dict[str, dict[str, str]]:
    """The classes of a text with their attributes, line by line: a text that is being written is no Python yet."""
    found: dict[str, dict[str, str]] = {}
    current: dict[str, str] | None = None
    for line in text.split("\n"):
        bare = line.strip()
        if line.startswith("class ") and "(" in line:
            current = found.setdefault(line[6:].partition("(")[0].strip(), {})
        elif current is not None and line[:1].isspace() and ": " in bare and not bare.startswith(("#", "def ", "@")):
            name, _, kind = bare.partition(": ")
            if name.isidentifier():
                current[name] = kind.partition("=")[0].strip()
        elif bare and not line[:1].isspace():
            current = None
    return found


def meaning(text: str, offset: int) -> tuple[str, int, int] | None:
    """What the word at a place means, and where it stands."""
    start = end = offset
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    while end < len(text) and (text[end].isalnum() or text[end] == "_"):
        end += 1
    name = text[start:end]
    if name in words():
        return f"{name}: {_summary(words()[name])}", start, end
    if name in _METHODS:
        return _METHODS[name], start, end
    attributes = _classes(text).get(name)
    if attributes is not None:
        told = ", ".join(f"{each}: {kind}" for each, kind in attributes.items())
        return f"{name}({told}), a class of events", start, end
    return None


def _summary(value: object) -> str:
    """The first sentence of what is documented of something."""
    if isinstance(value, type) and issubclass(value, Event) and value.__name__ == "Event":
        return "the base of event types"
    lines = (inspect.getdoc(value) or "").split("\n\n", 1)[0]
    return " ".join(lines.split())
