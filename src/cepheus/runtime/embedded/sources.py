"""Where rules come from: text, or files of text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from cepheus.core.errors import OptionError, Place, RuleError, did_you_mean
from cepheus.language.tesla import parse
from cepheus.rules.model import RuleSet

RuleSource = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | RuleSet
"""Rule text, a file, several files, or rules already read."""

EXTENSION = ".tesla"
"""How the names of rule files end."""


def read_rules(source: RuleSource) -> RuleSet:
    """Read rules from text or files.

    A Path is a file, and so is every member of a list. A str is the name of a file if it is a single line and either
    ends in ``.tesla`` or names a file that exists; any other str is rule text.

    >>> len(read_rules("define Fire() from Smoke()").rules)
    1
    """
    match source:
        case RuleSet():
            return source
        case str():
            return _read_file(Path(source)) if _names_a_file(source) else parse(source)
        case os.PathLike():
            return _read_file(Path(source))
        case _:
            rules = RuleSet()
            for name in source:
                rules += _read_file(Path(name))
            return rules


def read_text(path: Path) -> str:
    """Read a rule file, which must be UTF-8; a byte order mark is left out."""
    if not path.exists():
        raise OptionError.of("file", f"there is no file '{path}'", hint=_similar(path))
    if path.is_dir():
        raise OptionError.of("file", f"'{path}' is a folder", hint=f"name its rule files, as in {path}/*{EXTENSION}")
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


def _read_file(path: Path) -> RuleSet:
    return parse(read_text(path), str(path))


def _names_a_file(text: str) -> bool:
    return len(text.splitlines()) == 1 and (text.endswith(EXTENSION) or os.path.isfile(text))


def _similar(path: Path) -> str | None:
    try:
        names = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    except OSError:
        return None
    return did_you_mean(path.name, names)
