"""Messages survive the way to bytes and back; anything else is refused."""

from __future__ import annotations

import json

import pytest
import trials

from cepheus.runtime.network.processor.processor import Processor
from cepheus.runtime.network.protocol.codec import MessageError, decode, encode
from cepheus.runtime.network.protocol.messages import Awaken, CreateTree, Message
from cepheus.runtime.network.protocol.strategy import Strategy


@pytest.mark.parametrize("strategy", list(Strategy))
def test_every_message_of_a_network_survives(strategy: Strategy, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, int] = {}
    handle = Processor.handle

    def checked(self: Processor, message: Message, now: int, sender: str = "") -> list[tuple[str, Message]]:
        again = decode(encode(message))
        assert again == message
        seen[type(message).__name__] = seen.get(type(message).__name__, 0) + 1
        return handle(self, again, now, sender)

    monkeypatch.setattr(Processor, "handle", checked)
    for seed in (1, 2, 4, 12):
        trials.check_trial(seed, strategy)
    assert {"Events", "Install", "Activate", "Advertise", "RuleChange"} <= set(seen)


def _awaken(value: bytes) -> bytes:
    head = b'{"v":1,"kind":"Awaken","tree":"p","number":1,"part":"r","first":0,"last":1,'
    return head + b'"values":[["k",' + value + b"]]}"


@pytest.mark.parametrize("value", [b"true", b"1", b"1.5", b'"x"'])
def test_values_are_scalars(value: bytes) -> None:
    read = decode(_awaken(value))
    assert isinstance(read, Awaken)
    assert read.values == (("k", json.loads(value)),)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"garbage",
        b"[]",
        b"{}",
        b'{"v":1}',
        b'{"v":1,"kind":"Nothing"}',
        b'{"v":1,"kind":"CreateTree"}',
        b'{"v":1,"kind":"CreateTree","tree":7}',
        b'{"v":1,"kind":"CreateTree","tree":"p","more":1}',
        b'{"v":1,"kind":"Pulled","tree":"p","number":99999999999999999999}',
        b'{"v":1,"kind":"Events","shapes":[],"sources":[],"labels":[],"rows":[[0]],"through":[]}',
        b'{"v":1,"kind":"Tick","through":NaN}',
        b"\xff\xfe",
        b"[" * 100_000,
        _awaken(b"[]"),
        _awaken(b'["x",1]'),
        _awaken(b"[" * 900 + b"]" * 900),
    ],
)
def test_garbage_is_refused(data: bytes) -> None:
    with pytest.raises(MessageError):
        decode(data)


def test_other_versions_are_refused() -> None:
    other = encode(CreateTree("p")).replace(b'"v":1', b'"v":2')
    with pytest.raises(MessageError, match="version 2"):
        decode(other)
