"""The file that was probably meant when there is none of the given name."""

from __future__ import annotations

import difflib
from pathlib import Path

_ALIKE = 0.6


def similar_file(path: Path) -> str | None:
    """Return a hint that names a file in the same folder, if one is called much the same.

    What comes before the extension counts: that two names end in ``.tesla`` does not make them alike.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / "fire.tesla").touch()
    ...     similar_file(Path(folder) / "fier.tesla"), similar_file(Path(folder) / "hot.tesla")
    ("did you mean 'fire.tesla'?", None)
    """
    try:
        files = [other for other in path.parent.iterdir() if other.is_file()] if path.parent.is_dir() else []
    except OSError:
        return None
    alike = [
        (other.suffix == path.suffix, likeness, other.name)
        for other in files
        if (likeness := difflib.SequenceMatcher(None, other.stem.lower(), path.stem.lower()).ratio()) >= _ALIKE
        and (other.suffix == path.suffix or not path.suffix or likeness == 1.0)
    ]
    return f"did you mean '{max(alike)[2]}'?" if alike else None
