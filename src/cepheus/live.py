"""Rules live, without Spark: ``await cepheus.live.run(rules, sources=.., sinks=.., state=..)``, or a file in TOML."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Unpack

from cepheus.core.options import RunKeywords, RunOptions
from cepheus.runtime.embedded.rule_sources import RuleSource
from cepheus.runtime.live.contract import (
    DescribesSink,
    DescribesSource,
    Disconnected,
    Messages,
    Output,
    Sink,
    Source,
    Surroundings,
)
from cepheus.runtime.live.counts import LiveCounts
from cepheus.runtime.live.description import Clock, Live, NamedSink, NamedSource, When
from cepheus.runtime.live.live_file import read_live_file
from cepheus.runtime.live.payload import Payload
from cepheus.runtime.live.run import LiveRun
from cepheus.runtime.live.sinks.file import ToConsole, ToFile
from cepheus.runtime.live.sinks.http import ToListeners, ToWebhook
from cepheus.runtime.live.sinks.kafka import ToKafka
from cepheus.runtime.live.sinks.mqtt import ToMqtt
from cepheus.runtime.live.sinks.nats import ToNats
from cepheus.runtime.live.sinks.postgres import ToPostgres
from cepheus.runtime.live.sinks.redis import ToRedis
from cepheus.runtime.live.sources.file import FromFile
from cepheus.runtime.live.sources.http import FromHttp, FromWebSocket
from cepheus.runtime.live.sources.kafka import FromKafka
from cepheus.runtime.live.sources.mqtt import FromMqtt
from cepheus.runtime.live.sources.nats import FromNats
from cepheus.runtime.live.sources.postgres import FromPostgres
from cepheus.runtime.live.sources.redis import FromRedis
from cepheus.runtime.live.web import Listen

__all__ = [
    "Clock",
    "DescribesSink",
    "DescribesSource",
    "Disconnected",
    "FromFile",
    "FromHttp",
    "FromKafka",
    "FromMqtt",
    "FromNats",
    "FromPostgres",
    "FromRedis",
    "FromWebSocket",
    "Listen",
    "Live",
    "LiveCounts",
    "LiveRun",
    "Messages",
    "NamedSink",
    "NamedSource",
    "Output",
    "Payload",
    "Sink",
    "Source",
    "Surroundings",
    "ToConsole",
    "ToFile",
    "ToKafka",
    "ToListeners",
    "ToMqtt",
    "ToNats",
    "ToPostgres",
    "ToRedis",
    "ToWebhook",
    "When",
    "read_live_file",
    "run",
]


async def run(
    rules: RuleSource,
    *,
    sources: Mapping[str, DescribesSource | tuple[DescribesSource, Payload]],
    sinks: Mapping[str, DescribesSink],
    state: str | Path,
    every: float = 1.0,
    when: When = When.AT_ONCE,
    **options: Unpack[RunKeywords],
) -> LiveCounts:
    """Run rules on what sources give, until they are over or the task is cancelled; give what was counted.

    ``sources`` and ``sinks`` are by the names that their positions are saved under, a source together with what its
    messages hold unless that is plain JSON. State is kept in the folder ``state``, saved ``every`` so many seconds; the
    next run with the same folder goes on from there. The other keywords are those of ``cepheus.RunKeywords``. For all
    else that a run can be told, make a ``Live``; ``LiveRun(live)`` also has ``stop``, which ends it in order.

    >>> import asyncio, tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "in.jsonl").write_text('{"type": "Smoke", "time": 5, "area": "A1"}')
    >>> counts = asyncio.run(run(
    ...     "define Fire(area: string) from Smoke() where area = Smoke.area",
    ...     sources={"readings": FromFile(folder / "in.jsonl", follow=False)},
    ...     sinks={"fires": ToFile(folder / "fires.jsonl")},
    ...     state=folder / "state", engine="reference", time_unit="s",
    ... ))
    >>> counts.composites["Fire"], (folder / "fires.jsonl").read_text()
    (1, '{"type": "Fire", "time": 5, "area": "A1", "id": "Fire:...", "from": [0]}\\n')
    """
    described = Live(
        rules=rules,
        sources=tuple(
            NamedSource(name, *each) if isinstance(each, tuple) else NamedSource(name, each)
            for name, each in sources.items()
        ),
        sinks=tuple(NamedSink(name, each) for name, each in sinks.items()),
        state=Path(state),
        every=every,
        when=when,
        options=RunOptions.of(**options),
        stop_on_bad=options.get("on_bad_event") == "stop",
    )
    return await LiveRun(described).run()
