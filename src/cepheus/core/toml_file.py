"""Reads a TOML file: its values, and the lines they stand on."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cepheus.core.errors import OptionError, Place
from cepheus.core.toml_lines import Path as KeyPath
from cepheus.core.toml_lines import key_lines


def read_toml(path: Path, code: str) -> tuple[dict[str, Any], Mapping[KeyPath, int]]:
    """The values of a file and the lines of its keys; ``code`` is that of the error if it is no TOML."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise OptionError.of("file", f"there is no file '{path}'") from None
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError.of("file", f"cannot read '{path}': {error}") from None
    try:
        return tomllib.loads(text), key_lines(text)
    except tomllib.TOMLDecodeError as error:
        raise OptionError.of(code, f"the file is not TOML: {error}", place=Place(str(path))) from None
