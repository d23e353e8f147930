"""Where rules come from: text, or files of text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cepheus.core.errors import CepheusError, OptionError, Place, RuleError, similar_file
from cepheus.core.time import TimeUnit
from cepheus.language import etalis, tesla
from cepheus.language.python.generate import PythonRules
from cepheus.language.python.rules import PythonRule, TypedRules, as_typed, no_rule
from cepheus.rules.model import RuleSet

RuleSource = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | RuleSet | PythonRules
"""Rule text, a file, several files, rules already read, or rules written in Python."""

EXTENSION = ".tesla"
"""How the names of rule files end."""

ETALIS_EXTENSION = ".etalis"
"""How the names of rule files in the ETALIS language for events end."""

SQL_EXTENSION = ".sql"
"""How the names of files with queries over rows end."""

_NOT_RULES = re.compile(r"""(?:--|//|#|%)[^\n]*|/\*.*?\*/|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*["]""", re.DOTALL)
_DEFINITION = re.compile(r"\bdefine\s+\w", re.IGNORECASE)
_TESLA = re.compile(r"\bfrom\s+\w|^(?:rule|error|network)\s+\w", re.IGNORECASE)
_ROWS = re.compile(r"\bmatch_recognize\s*\(", re.IGNORECASE)
_ARROW = re.compile(r"<-|:-|\u2190")


def read_rules(source: RuleSource, unit: TimeUnit = TimeUnit.US) -> RuleSet:
    """Read rules from text or files.

    A Path is a file, and so is every member of a list; one that ends in ``.etalis`` is in the ETALIS language for
    events, one that ends in ``.sql`` has queries with MATCH_RECOGNIZE, any other is in TESLA. A str is the name of a
    file if it is a single line and either ends so or in ``.tesla`` or names a file that exists; any other str is rule
    text of any of the languages. ``unit`` is that of numbers without one in ETALIS rules.

    >>> len(read_rules("define Fire() from Smoke()").rules), len(read_rules("fire <- smoke.").interval_rules)
    (1, 1)
    """
    match source:
        case RuleSet():
            return source
        case TypedRules() | PythonRule():
            return as_typed(source).model
        case str():
            return _read_file(Path(source), unit) if _names_a_file(source) else _parse(source, unit)
        case os.PathLike():
            return _read_file(Path(source), unit)
        case _:
            return _read_several(source, unit)


def _read_several(source: object, unit: TimeUnit) -> RuleSet:
    """Read files, and rules in Python, that stand in a list."""
    if not isinstance(source, Iterable) or isinstance(source, bytes | bytearray | memoryview | Mapping | type):
        raise no_rule(source)
    typed: list[PythonRule[Any]] = []
    paths: list[Path] = []
    for each in source:
        if isinstance(each, PythonRule):
            typed.append(each)
        elif isinstance(each, str | os.PathLike):
            paths.append(Path(each))
        else:
            raise no_rule(each)
    return _read_files(paths, unit) + as_typed(typed).model


def is_etalis(text: str) -> bool:
    """Whether rule text is in the ETALIS language for events: it has an arrow, and nothing that TESLA defines.

    Without either, it is if it ends with a full stop, as statements of TESLA besides definitions do not, or if there
    are only comments, the first not one of TESLA.

    >>> is_etalis("pair(X) <- a(X) SEQ b(X)."), is_etalis("define A() from B(x <-3)")
    (True, False)
    >>> is_etalis("% to do"), is_etalis("// to do")
    (True, False)
    >>> is_etalis("near(a, b)."), is_etalis("event a(x: int). % ours"), is_etalis("event a(x: int)")
    (True, True, False)
    """
    bare = _NOT_RULES.sub(" ", text).strip()
    if _DEFINITION.search(bare) is not None:
        return False
    if not bare:
        return not text.lstrip().startswith("//")
    return _ARROW.search(bare) is not None or (bare.endswith(".") and _TESLA.search(bare) is None)


def is_sql(text: str) -> bool:
    """Whether rule text has queries over rows.

    >>> is_sql("SELECT * FROM Stock MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS true)"), is_sql("define A() from B()")
    (True, False)
    """
    return _ROWS.search(text) is not None


def _parse_sql(text: str, name: str) -> RuleSet:
    from cepheus.language import sql  # the library that reads SQL takes longer to import than most rules to check

    return sql.parse(text, name)


def _parse(text: str, unit: TimeUnit) -> RuleSet:
    if is_sql(text):
        return _parse_sql(text, "<rules>")
    return etalis.parse(text, unit=unit) if is_etalis(text) else tesla.parse(text)


def read_text(path: Path) -> str:
    """Read a rule file, which must be UTF-8; a byte order mark is left out."""
    if not path.exists():
        raise OptionError.of("file", f"there is no file '{path}'", hint=similar_file(path))
    if path.is_dir():
        raise OptionError.of("file", f"'{path}' is a folder", hint=f"name its rule files, as in {path}/*{EXTENSION}")
    if path.suffix.lower() not in (EXTENSION, ETALIS_EXTENSION, SQL_EXTENSION):
        _refuse_events(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise OptionError.of("file", f"cannot read '{path}': {error.strerror or error}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = data[error.start]
        raise RuleError.of(
            "utf-8",
            f"byte 0x{byte:02x} is not UTF-8 text",
            place=Place(str(path), line),
            hint="save the file as UTF-8, and make sure that it is a rule file",
        ) from None


def _refuse_events(path: Path) -> None:
    from cepheus.formats.read import Format  # rules alone need no readers of events

    if path.suffix.lower() in [known.value for known in Format]:
        message = f"'{path}' is a file of events, and rules are read here"
        raise OptionError.of("file", message, hint=f"on the command line events stand behind --events: --events {path}")


def _read_file(path: Path, unit: TimeUnit) -> RuleSet:
    text = read_text(path)
    match path.suffix.lower():
        case ".etalis":
            return etalis.parse(text, str(path), unit)
        case ".sql":
            return _parse_sql(text, str(path))
        case _:
            return tesla.parse(text, str(path))


def _read_files(paths: Sequence[Path], unit: TimeUnit) -> RuleSet:
    """Read files; what is wrong with any of them is told at once."""
    rules = RuleSet()
    errors: list[CepheusError] = []
    for path in paths:
        try:
            rules += _read_file(path, unit)
        except CepheusError as error:
            errors.append(error)
    if len(errors) > 1:
        raise RuleError(finding for error in errors for finding in error.diagnostics)
    if errors:
        raise errors[0]
    return rules


def _names_a_file(text: str) -> bool:
    return len(text.splitlines()) == 1 and (
        text.lower().endswith((EXTENSION, ETALIS_EXTENSION, SQL_EXTENSION)) or os.path.isfile(text)
    )
