"""The graph of signals that is measured gives the same alarms however it is fed."""

from benchmarks.reactive.report import reactive_section
from benchmarks.reactive.speed import Load, paces


def test_alarms_do_not_depend_on_batches() -> None:
    found = paces(1, lambda _: None, Load(400, 400))
    assert found[0].changes == 0
    assert found[1].changes == found[2].changes > 0
    section = reactive_section(found, judged=False)
    assert section.bars[0].verdict == "not judged"
