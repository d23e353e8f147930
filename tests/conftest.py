"""Settings shared by all tests; its being here also lets tests import from ``strategies``."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from pyspark.sql import SparkSession

    from cepheus.studio.server import Studio

# No deadline: a busy machine is not a failure. The same examples every time, so that what passes once passes
# everywhere; ``--hypothesis-profile=search`` looks for new ones.
settings.register_profile("cepheus", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("cepheus")
os.environ.setdefault("CEPHEUS_ANNOUNCE", "0")  # whoever is first to compile a kernel prints what the others print


@cache
def without_device() -> str:
    """Why no device can be used here, nothing if one can."""
    from cepheus.core.errors import CepheusError
    from cepheus.engine.device.opencl import choose

    try:
        choose(None)
    except CepheusError as error:
        return str(error)
    return ""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a device where none can be used: tests with the mark, or with ``device`` as a parameter."""
    call = getattr(item, "callspec", None)
    parameters = () if call is None else call.params.values()
    if (
        item.get_closest_marker("device") or any(isinstance(each, str) and each == "device" for each in parameters)
    ) and without_device():
        pytest.skip(without_device())


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Spark session for all tests: starting it takes seconds."""
    from cepheus.runtime.spark.session import spark_session

    options = {
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.driver.memory": "1g",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Spark itself
        session = spark_session("local[2]", name="tests", options=options)
    yield session
    session.stop()


@pytest.fixture
def start_studio() -> Iterator[Callable[..., Studio]]:
    """Start studios on ports that the system chooses; they end with the test."""
    from cepheus.studio.server import Studio

    running: list[tuple[Studio, threading.Thread]] = []

    def begin(*given: Any, **options: Any) -> Studio:
        studio = Studio(*given, **options)
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


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for all tests of a module; while it is there, an event loop runs that other tests would not like."""
    from benchmarks.studio.browser import launched

    with launched() as found:
        if found is None:
            pytest.skip("there is no Chromium: apt-get install chromium")
        yield found


@pytest.fixture
def page(start_studio: Callable[..., Studio], chromium: Browser) -> Iterator[Page]:  # noqa: ARG001  # ends before it
    """A page that fails the test if anything goes wrong in it: an error, or a breach of its own security policy."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    made = context.new_page()
    made.set_default_timeout(60_000)
    wrong: list[str] = []
    made.on("pageerror", lambda error: wrong.append(str(error)))
    made.on("console", lambda said: wrong.append(said.text) if "Content Security Policy" in said.text else None)
    yield made
    context.close()
    assert wrong == []
