"""Connections to an MQTT broker, for its source and its sink."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from cepheus.core.errors import OptionError
from cepheus.runtime.live.contract import Disconnected, Surroundings

_PORTS = {"mqtt": 1883, "mqtts": 8883}
_CONNECT_SECONDS = 10.0
_KEPT_SECONDS = 0xFFFFFFFF
_IN_FLIGHT = 65535


@dataclass(frozen=True, slots=True)
class MqttAddress:
    """Where a broker is.

    >>> MqttAddress.of("mqtt://ann:secret@broker")
    MqttAddress(host='broker', port=1883, secure=False, user='ann', password='secret')
    """

    host: str
    port: int
    secure: bool = False
    user: str | None = None
    password: str | None = None

    @classmethod
    def of(cls, url: str) -> MqttAddress:
        """Read ``mqtt://user:password@host:1883``; ``mqtts`` is encrypted."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if parts.scheme not in _PORTS or not parts.hostname:
            raise OptionError.of("live", f"'{url}' is no address of a broker", hint="write mqtt://host:1883")
        user = None if parts.username is None else unquote(parts.username)
        password = None if parts.password is None else unquote(parts.password)
        return cls(parts.hostname, port or _PORTS[parts.scheme], parts.scheme == "mqtts", user, password)


async def connected_client(
    address: MqttAddress,
    name: str,
    around: Surroundings,
    arrived: Callable[[Any, Any, Any], None] | None,
    lost: Callable[[str], object],
) -> Any:
    """A client that is connected, its thread running; ``lost`` is called, in that thread, when it no longer is.

    With ``arrived`` the broker keeps what is published while the client is away, and messages wait to be acknowledged.
    """
    from paho.mqtt import client as paho
    from paho.mqtt.enums import CallbackAPIVersion
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties

    loop = asyncio.get_running_loop()
    answered: asyncio.Future[Any] = loop.create_future()

    def answer(code: Any) -> None:
        if not answered.done():
            answered.set_result(code)

    def connected(_client: Any, _data: Any, _flags: Any, code: Any, _properties: Any) -> None:
        loop.call_soon_threadsafe(answer, code)

    def disconnected(_client: Any, _data: Any, _flags: Any, code: Any, _properties: Any) -> None:
        lost(str(code))

    client = paho.Client(
        CallbackAPIVersion.VERSION2,
        client_id=name,
        protocol=paho.MQTTv5,
        manual_ack=arrived is not None,
        reconnect_on_failure=False,
    )
    client.on_connect = connected
    client.on_disconnect = disconnected
    client.max_inflight_messages_set(_IN_FLIGHT)
    if arrived is not None:
        client.on_message = arrived
    if address.user is not None:
        client.username_pw_set(address.user, address.password)
    if address.secure:
        client.tls_set()
    properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    properties.ReceiveMaximum = _IN_FLIGHT
    if arrived is not None:
        properties.SessionExpiryInterval = _KEPT_SECONDS
    try:
        await asyncio.to_thread(
            client.connect, address.host, address.port, 60, clean_start=arrived is None, properties=properties
        )
        client.loop_start()
        code = await asyncio.wait_for(answered, _CONNECT_SECONDS)
    except (OSError, TimeoutError) as error:
        await asyncio.to_thread(client.loop_stop)
        raise Disconnected(f"no connection to the MQTT broker ({str(error) or 'it does not answer'})") from None
    if code.is_failure:
        await asyncio.to_thread(client.loop_stop)
        raise around.refused(f"the MQTT broker does not let us in: {code}")
    return client
