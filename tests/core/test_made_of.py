"""What an event is made of."""

from __future__ import annotations

from cepheus.core.event import with_counted


class _Compared(str):
    """An id that counts how often it is compared with another."""

    __slots__ = ()
    times = 0

    def __eq__(self, other: object) -> bool:
        type(self).times += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_what_was_counted_is_looked_up_not_searched_for() -> None:
    made_of = tuple(_Compared(f"m{number}") for number in range(200))
    counted = [_Compared(f"c{number}") for number in range(200)]
    _Compared.times = 0
    assert with_counted(made_of, [*counted, *made_of]) == (*made_of, *counted)
    assert _Compared.times < 5_000
