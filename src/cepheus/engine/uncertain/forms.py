"""The closed forms that the kernel needs, compiled from the plain functions that define them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from cepheus.kernel.compiled import compiled
from cepheus.kernel.parts import with_parts
from cepheus.uncertainty import closed_forms


def _all_closed() -> dict[str, Any]:
    known: dict[str, Any] = {}
    for name in (
        "settled",
        "normal_density",
        "normal_cdf",
        "_once",
        "_twice",
        "_uniform_normal",
        "_two_uniform_normal",
        "_two_uniform",
        "_lower",
        "spread_cdf",
    ):
        known[name] = compiled(with_parts(getattr(closed_forms, name), **known))
    return known


_FORMS = _all_closed()
settled = cast(Callable[[float], float], _FORMS["settled"])
spread_cdf = cast(Callable[[float, float, float, float], float], _FORMS["spread_cdf"])
