"""Opens the browser so that nobody reads the token: what a browser is started with stands in the list of processes.

The browser is given a file that only its user can read. It leads to an address that works once, and is deleted soon.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from html import escape
from pathlib import Path

from cepheus.studio.security import KEY_SECONDS


def open_browser(address: str, opens: Callable[[str], bool] = webbrowser.open) -> Path:
    """Open an address in the browser by way of a private file; gives the file, which is gone when its key is."""
    folder = Path(tempfile.mkdtemp(prefix="cepheus-studio-"))  # for its owner alone
    file = folder / "open.html"
    file.write_text(
        f'<!doctype html><meta charset="utf-8"><title>Cepheus studio</title>'
        f'<meta http-equiv="refresh" content="0; url={escape(address)}">',
        encoding="utf-8",
    )
    file.chmod(0o600)
    gone = threading.Timer(KEY_SECONDS, shutil.rmtree, [folder], {"ignore_errors": True})
    gone.daemon = True
    gone.start()
    opens(file.as_uri())
    return file
