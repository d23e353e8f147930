"""One browser for all tests of the page, and studios that run beside a test."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from cepheus.studio.server import Studio
from cepheus.studio.workspace import Workspace
from studio.browsers import launched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Start = Callable[..., Studio]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start studios on ports that the system chooses; they end with the test."""
    running: list[tuple[Studio, threading.Thread]] = []

    def begin(workspace: Workspace, **options: object) -> Studio:
        studio = Studio(workspace, **options)  # type: ignore[arg-type]  # whatever the test asks for
        thread = threading.Thread(target=studio.serve, daemon=True)
        thread.start()
        while not studio.started:
            time.sleep(0.02)
        running.append((studio, thread))
        return studio

    yield begin
    for studio, thread in running:
        studio.stop()
        thread.join(timeout=10)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with launched() as found:
        if found is None:
            pytest.skip("there is no Chromium: apt-get install chromium")
        yield found


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that fails the test if anything goes wrong in it: an error, or a breach of its own security policy."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(60_000)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if "Content Security Policy" in said.text else None)
    yield page
    context.close()
    assert wrong == []
