from __future__ import annotations

from typing import cast

import pytest

from cepheus.core.errors import OptionError, UnsupportedError
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.engine.assembly import registry
from cepheus.engine.reference.engine import ReferenceEngine
from cepheus.language.tesla import parse
from cepheus.rules.check import check

RULES = check(parse("define C() from A()")).rules.rules


class Unable(ReferenceEngine):
    """An engine that can run nothing."""

    def deploy(self, *_: object) -> None:
        raise UnsupportedError.of("unsupported", "this engine runs no rules")


def test_an_engine_by_name() -> None:
    assert isinstance(registry.create("reference"), ReferenceEngine)
    assert "reference" in registry.names()


def test_an_unknown_name_is_refused_with_a_hint() -> None:
    with pytest.raises(OptionError, match=r"no engine 'referense'\s+hint: did you mean 'reference'"):
        registry.create("referense")
    with pytest.raises(OptionError, match=r"no engine 'xyz'\s+hint: the engines are auto, .*reference"):
        registry.create("xyz")


def test_auto_takes_the_fastest_that_can_run_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"unable": (__name__, "Unable"), "reference": ("cepheus.engine.reference.engine", "ReferenceEngine")}
    monkeypatch.setattr(registry, "_ENGINES", table)
    assert type(registry.create("auto", RULES, Schema())) is ReferenceEngine
    assert type(registry.create("auto")).__name__ == "Unable"  # no rules, nothing that it could not run
    with pytest.raises(UnsupportedError, match="runs no rules"):
        registry.create("unable", RULES, Schema())


@pytest.mark.parametrize("limit", [0, -1, True, 2**63, "10", None, 1.5])
def test_a_limit_that_is_none_is_refused(limit: object) -> None:
    with pytest.raises(OptionError, match="is not a number of composite events"):
        registry.create(RunOptions(engine="reference", limit=cast(int, limit)))


@pytest.mark.parametrize("threads", [0, -1, True, 5000, "2", None, 1.5])
def test_a_number_of_threads_that_is_none_is_refused(threads: object) -> None:
    with pytest.raises(OptionError, match="is not a number of threads"):
        registry.create(RunOptions(engine="columns", threads=cast(int, threads)))
