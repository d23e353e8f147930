"""The columns engine: lowered rules on the kernel of CDP."""

from __future__ import annotations

from typing import ClassVar

from cepheus.engine.columns.kernel import run
from cepheus.engine.lowered.engine import LoweredEngine
from cepheus.engine.lowered.kernel_parts import Kernel
from cepheus.kernel.process import replay


class ColumnsEngine(LoweredEngine):
    """Runs rules over columns of certain events, one for each position of a pattern."""

    name: ClassVar[str] = "columns"
    kernel: ClassVar[Kernel] = Kernel(run, replay)
    settles: ClassVar[bool] = True
    in_time: ClassVar[bool] = True
