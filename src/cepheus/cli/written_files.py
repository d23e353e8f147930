"""Files that commands write."""

from __future__ import annotations

import os
from pathlib import Path

from cepheus.core.errors import OptionError


def replace_file(path: Path, text: str) -> None:
    """Put a text in place of a file's content, all or nothing."""
    target = path.resolve()  # a link stays a link
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.chmod(target.stat().st_mode)
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise _not_written(path, error) from None


def check_writable(path: Path) -> None:
    """Refuse a path that nothing can be written to, before the work is done that is to be written there."""
    folder = path.parent
    if path.is_dir():
        raise OptionError.of("file", f"'{path}' cannot be written: it is a folder", hint="name a file in it")
    if not folder.is_dir():
        raise OptionError.of("file", f"'{path}' cannot be written: there is no folder '{folder}'", hint="make it first")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise OptionError.of("file", f"'{path}' cannot be written: permission denied")


def write_file(path: Path, text: str) -> None:
    """Write a text to a new file."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _not_written(path, error) from None


def _not_written(path: Path, error: OSError) -> OptionError:
    return OptionError.of("file", f"'{path}' cannot be written: {(error.strerror or 'it failed').lower()}")
