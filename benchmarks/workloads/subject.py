"""What is measured: rules that have been read and checked, and an engine with them deployed."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.core.errors import UnsupportedError
from cepheus.core.options import RunOptions
from cepheus.core.schema import EventType, Schema
from cepheus.core.time import TimeUnit
from cepheus.engine.assembly.registry import create, names
from cepheus.engine.base.interface import Engine
from cepheus.formats import conform, from_arrow
from cepheus.language.tesla import parse
from cepheus.rules.check import Checked, check


@dataclass(frozen=True, slots=True)
class Subject:
    """Checked rules, and how events are made ready for them."""

    checked: Checked
    schema: Schema

    @classmethod
    def of(cls, text: str) -> Subject:
        """Read and check rules.

        >>> Subject.of("define Alarm() from Smoke()").schema
        Schema(Smoke(), Alarm())
        """
        checked = check(parse(text))
        return cls(checked, Schema([*checked.inputs.values(), *checked.composites.values()]))

    def engine(self, name: str, threads: int = 1) -> Engine:
        """An engine, with the rules deployed, that has got ready for events."""
        engine = create(RunOptions(engine=name, threads=threads), self.checked.rules.rules, self.schema)
        engine.feed(EventBatch.empty())  # an engine may leave the end of the deployment to the first feeding
        return engine

    def batch(self, table: pa.Table) -> EventBatch:
        """The events of an Arrow table as the rules expect them; times are in milliseconds.

        Types that no rule names stay in the batch, where the engine passes over them: leaving them out costs a copy.
        """
        batch = from_arrow(table, TimeUnit.MS)
        inputs = self.checked.inputs
        others = (EventType(name) for name in batch.types if name not in inputs)
        return conform(batch, Schema([*inputs.values(), *others]))

    def runs_on(self, name: str) -> bool:
        """Whether an engine of that name is there and can run the rules."""
        if name not in names():
            return False
        try:
            self.engine(name)
        except UnsupportedError:
            return False
        return True
