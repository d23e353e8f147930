"""Debian's Chromium, driven by Playwright, and a studio to open in it."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cepheus.core.errors import OptionError
from cepheus.studio.live import Sources
from cepheus.studio.server import Studio
from cepheus.studio.workspace import Workspace

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def browser_path() -> str | None:
    """Where the browser is, None if there is none."""
    return shutil.which("chromium")


@contextmanager
def launched() -> Iterator[Browser | None]:
    """A browser, None where there is none."""
    path = browser_path()
    if path is None:
        yield None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def running(workspace: Workspace, sources: Sources | None = None) -> Iterator[Studio]:
    """A studio that serves as long as the block lasts."""
    studio = Studio(workspace, sources=sources)
    thread = threading.Thread(target=studio.serve, daemon=True)
    thread.start()
    while not studio.started:
        time.sleep(0.02)
    try:
        yield studio
    finally:
        studio.stop()
        thread.join(timeout=10)


def no_browser() -> OptionError:
    """What is said where there is no browser."""
    return OptionError.of("studio", "there is no Chromium here", hint="apt-get install chromium")
