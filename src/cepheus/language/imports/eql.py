"""``import eql``: queries of the Event Query Language to TESLA rules, through the parser of the ``eql`` package.

A file holds one query, or is a rule of Elastic's collection (TOML) that has one. Event queries and sequences are
converted, exactly or not at all; how a sequence is meant is told in ``sequences``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from cepheus.core.errors import CepheusError
from cepheus.core.extras import require
from cepheus.core.schema import EventType
from cepheus.core.source import Source, Span
from cepheus.core.time import UNITS
from cepheus.language.imports.attribute_types import AttributeTypes
from cepheus.language.imports.conditions import ALWAYS, Compared, Condition, Field, Text, all_of, written
from cepheus.language.imports.eql_conditions import ConditionReader, Tree, kind_of
from cepheus.language.imports.outcome import (
    Conversion,
    Converted,
    Importing,
    RefusedError,
    no_equivalent,
    not_readable,
    refusing,
    whole,
)
from cepheus.language.imports.sequences import SequenceQuery, Step, sequence_rules
from cepheus.language.tesla.names import written_name

CATEGORY = Field("event.category")
"""Where events of Elasticsearch have their kind."""

_MOST_STEPS = 100


@dataclass(frozen=True, slots=True)
class EqlOptions:
    """How queries are read.

    ``event_type``: all events are of this one type and have their kind in ``event.category``; None: the kind is the
    type. ``maxspan`` in microseconds is for sequences that state none. ``declared`` are types of events that are known.
    ``ordered``: simultaneous events come one after the other, as in EQL; else no two of a sequence have the same time.
    """

    event_type: str | None = None
    maxspan: int | None = None
    declared: tuple[EventType, ...] = ()
    ordered: bool = True


def import_eql(files: Sequence[Source], options: EqlOptions | None = None) -> Importing:
    """Convert the queries of some files.

    >>> print(import_eql([Source("shell.eql", 'process where process.name == "cmd.exe"')]).text(), end="")
    event process(`process.name`: string?)
    <BLANKLINE>
    define Shell()
    from   process(`process.name`='cmd.exe')
    """
    require("eql", "importing EQL")
    options = options or EqlOptions()
    importing = Importing(options.declared)
    for file in files:
        title, convert = _conversion(file, options)
        importing.add(title, whole(file), convert)
    return importing


def _conversion(file: Source, options: EqlOptions) -> tuple[str, Conversion]:
    try:
        query, title = _query_of(file.text, file.name)
    except RefusedError as refusal:
        return Path(file.name).stem, refusing(refusal)

    def convert(name: str, types: AttributeTypes) -> Converted:
        reader = _Reader(query, options, types)
        rules = reader.rules(name, _parsed(query))
        return Converted(tuple(rules), tuple(reader.used), reader.is_sequence and options.ordered)

    return title or Path(file.name).stem, convert


def _query_of(text: str, name: str) -> tuple[Source, str | None]:
    """The query of a file and, if it is one of Elastic's rules, what that is called."""
    if not name.endswith(".toml"):
        return Source(name, text), None
    try:
        rule = tomllib.loads(text).get("rule")
    except tomllib.TOMLDecodeError as error:
        raise not_readable("a rule in TOML", str(error), whole(Source(name, text))) from None
    query = rule.get("query") if isinstance(rule, dict) else None
    if not isinstance(rule, dict) or not isinstance(query, str):
        raise not_readable("a rule with a query", "there is no query in [rule]", whole(Source(name, text)))
    language = rule.get("language", "eql")
    if language != "eql":
        raise not_readable("EQL", f"its language is {language}", whole(Source(name, text)))
    title = rule.get("name")
    return Source(name, query), title if isinstance(title, str) else None


def _parsed(source: Source) -> Tree:
    """The syntax tree of a query that the package finds nothing wrong with."""
    parser: Any = import_module("eql.parser")
    config: Any = import_module("eql.utils").ParserConfig
    errors: Any = import_module("eql.errors")
    allowed = config(
        elasticsearch_syntax=True, allow_negation=True, allow_runs=True, allow_sample=True, allow_alias=True
    )
    try:
        with allowed, config(optimized=False, check_functions=False):
            parser.parse_query(source.text)
        return parser.lark_parser.parse(source.text, start="piped_query")
    except errors.EqlParseError as error:
        raise not_readable(
            "EQL", error.error_msg, _place(source, error.line, error.column, error.caret.count("^"))
        ) from None
    except (errors.EqlError, CepheusError) as error:
        raise not_readable("EQL", str(error).splitlines()[0], whole(source)) from None
    except Exception:  # the package fails on some texts that are not EQL in ways of its own
        raise not_readable("EQL", "it cannot be read", whole(source)) from None


def _place(source: Source, line: int, column: int, width: int) -> Span:
    lines = source.text.split("\n")
    if not 0 <= line < len(lines):
        return whole(source)
    start = sum(len(text) + 1 for text in lines[:line]) + max(0, min(column, len(lines[line])))
    return Span(source, start, min(len(source.text), start + max(1, width)))


class _Reader:
    """Reads one query; ``used`` are the types of events that it has come across."""

    def __init__(self, source: Source, options: EqlOptions, types: AttributeTypes) -> None:
        self.source = source
        self.options = options
        self.types = types
        self.used: list[str] = []
        self.is_sequence = False
        self.conditions = ConditionReader(source, import_module("eql.ast").String.unescape)

    def rules(self, name: str, query: Tree) -> list[str]:
        """Convert a whole query."""
        pipes = _child(query, "pipes")
        if pipes is not None:
            reason = "a pipe works on the results of a search that is over, and rules run on"
            raise no_equivalent("a pipe", reason, self.conditions.span(pipes))
        base = _child(query, "base_query").children[0]
        match kind_of(base):
            case "event_query":
                return [self._event_rule(name, base)]
            case "sequence":
                self.is_sequence = True
                return sequence_rules(name, self._sequence(base), self.types)
            case "join":
                reason = "it collects events in any order without a limit of time; Elasticsearch has dropped it"
                raise no_equivalent("'join'", reason, self._beginning(base))
            case "sample":
                reason = "which of all events that fit it shows is not determined"
                raise no_equivalent("'sample'", reason, self._beginning(base))
            case kind:
                raise no_equivalent(f"'{kind}'", "it is not known", self._beginning(base))

    def _beginning(self, node: Tree) -> Span:
        start = self.conditions.span(node).start
        return Span(self.source, start, min(len(self.source.text), start + len(kind_of(node))))

    def _event_rule(self, name: str, node: Tree) -> str:
        event, condition = self._event(node)
        self.types.use(event, condition)
        constraints = "" if condition == ALWAYS else written(condition)
        return f"define {written_name(name)}()\nfrom {written_name(event)}({constraints})"

    def _event(self, node: Tree) -> tuple[str, Condition]:
        """The type of events that a query reads, and what they must satisfy."""
        named = _child(node, "name")
        category = str(named.children[0]) if named is not None else "any"
        condition = self.conditions.condition(node.children[-1])
        one_type = self.options.event_type
        if one_type is not None:
            self._use(one_type)
            kind = ALWAYS if category == "any" else Compared(CATEGORY, "=", Text(category))
            return one_type, all_of(kind, condition)
        if category == "any":
            reason = "events of any type are none of rules"
            hint = "where all events are of one type, say which, and its attribute event.category is used: --type Log"
            raise no_equivalent("'any'", reason, self.conditions.span(named or node), hint)
        self._use(category)
        return category, condition

    def _use(self, event: str) -> None:
        if event not in self.used:
            self.used.append(event)

    def _sequence(self, node: Tree) -> SequenceQuery:
        shared = self._keys(_child(node, "join_values"))
        steps = [step for item in _children(node, "subquery_by") for step in self._steps(item, shared)]
        if len(steps) > _MOST_STEPS:
            raise no_equivalent("this sequence", f"it has more than {_MOST_STEPS} steps", self._beginning(node))
        ending = _child(node, "until_subquery_by")
        until = self._steps(_child(ending, "subquery_by"), shared)[0] if ending is not None else None
        span = self._maxspan(_child(node, "with_params"), node)
        return SequenceQuery(tuple(steps), span, until, self._beginning(node))

    def _steps(self, node: Tree, shared: tuple[Field, ...]) -> list[Step]:
        """The steps that one item stands for: several if it says ``with runs``."""
        for construct, reason in (
            ("fork_param", "an event may carry on a sequence without using it up"),
            ("sequence_alias", "a condition may name events of other steps"),
        ):
            found = _child(node, construct)
            if found is not None:
                word = {"fork_param": "'fork'", "sequence_alias": "'as'"}[construct]
                raise no_equivalent(word, reason, self.conditions.span(found))
        subquery = _child(node, "subquery")
        missing = str(subquery.children[0]) == "![" if not hasattr(subquery.children[0], "data") else False
        event, condition = self._event(_child(subquery, "event_query"))
        keys = shared + self._keys(_child(node, "join_values"))
        runs = _child(node, "repeated_sequence")
        count = int(str(runs.children[-1])) if runs is not None else 1
        if runs is not None and (missing or count > _MOST_STEPS):
            reason = "an absence has no number" if missing else f"that are more than {_MOST_STEPS} steps"
            raise no_equivalent("'with runs'", reason, self.conditions.span(runs))
        return [Step(event, condition, keys, missing, self.conditions.span(subquery))] * count

    def _keys(self, node: Tree | None) -> tuple[Field, ...]:
        if node is None:
            return ()
        keys = []
        for key in _child(node, "expressions").children:
            if self.conditions.span(key).text.startswith("?"):
                reason = "events that lack it would belong together"
                raise no_equivalent("an optional key", reason, self.conditions.span(key), "leave out the question mark")
            keys.append(self.conditions.field(key))
        return tuple(keys)

    def _maxspan(self, node: Tree | None, sequence: Tree) -> int:
        if node is None:
            if self.options.maxspan is not None:
                return self.options.maxspan
            reason = "what waits would be kept for ever, and windows of rules have a length"
            hint = "write 'with maxspan=1h', or give one for all sequences without: --maxspan 1h"
            raise no_equivalent("a sequence without maxspan", reason, self._beginning(sequence), hint)
        time_range = node if kind_of(node) == "time_range" else _child(node, "time_range")
        number = int(str(_child(time_range, "number").children[-1]))
        unit = str(_child(time_range, "name").children[0])
        microseconds = number * UNITS[unit]
        if not 0 < microseconds < 2**62:
            raise no_equivalent("this maxspan", "a window has a length", self.conditions.span(time_range))
        return microseconds


def _children(node: Tree, kind: str) -> list[Tree]:
    return [child for child in node.children if child is not None and kind_of(child) == kind]


def _child(node: Tree, kind: str) -> Tree:
    """The first child of a kind, or None."""
    return next(iter(_children(node, kind)), None)
