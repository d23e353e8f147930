"""Hints of experts."""

from cepheus.learning.hints import Hints


def test_a_single_name_is_one_name() -> None:
    one = Hints.of(types="Temp", keys="area", ignore="*.id", trust="Temp.value")
    assert one == Hints.of(types=["Temp"], keys=["area"], ignore=["*.id"], trust=["Temp.value"])
