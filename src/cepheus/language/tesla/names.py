"""Names as rule text writes them: bare where they can be, else in backquotes."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_BARE = re.compile(r"[^\W\d]\w*")


def written_name(name: str) -> str:
    """The name of an event, a rule or an alias.

    >>> written_name("Temp"), written_name("last"), written_name("auth.log")
    ('Temp', '`last`', '`auth.log`')
    """
    return _written(name, _words_of("name"))


def written_attribute(name: str) -> str:
    """The name of an attribute, which may also be one of some keywords.

    >>> written_attribute("value"), written_attribute("last"), written_attribute("host.id")
    ('value', 'last', '`host.id`')
    """
    return _written(name, _words_of("word"))


def _written(name: str, allowed: frozenset[str]) -> str:
    word = name.lower()
    bare = _BARE.fullmatch(name) and (word not in _keywords() or word in allowed)
    return name if bare else f"`{name}`"


@cache
def _grammar() -> str:
    return files(__package__).joinpath("grammar.lark").read_text("utf-8")


@cache
def _terminals() -> dict[str, str]:
    """The word of each keyword's terminal."""
    return dict(re.findall(r'^(\w+): "([a-z]+)"i$', _grammar(), re.MULTILINE))


@cache
def _keywords() -> frozenset[str]:
    return frozenset(_terminals().values())


@cache
def _words_of(rule: str) -> frozenset[str]:
    """The keywords that the grammar takes for names by a rule."""
    production = re.search(rf"^{rule}: (.*?)\n\n", _grammar(), re.MULTILINE | re.DOTALL)
    assert production is not None
    return frozenset(_terminals().get(terminal, "") for terminal in re.findall(r"\b[A-Z]+\b", production[1]))
