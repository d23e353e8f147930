"""Numbers of time that are written without a unit, kept as they are written."""

from __future__ import annotations

from cepheus.language.tesla.literals import LiteralError, read_duration

_UNITS = ("us", "s")  # the shortest and the longest unit that a command may give to such a number


class Bare(int):
    """``20`` in ``(p).20``: a number of microseconds that remembers how it was written.

    What it is worth is said elsewhere, by the command that reads the file, so that a text that is laid out anew must
    leave it as it is.

    >>> read_bare("0.5").written
    '0.5'
    """

    written: str


def read_bare(number: str) -> Bare:
    """Read a number without a unit, which must be a length of time in some unit that a command may give to it."""
    try:
        bare = Bare(read_duration(number, _UNITS[0]))
    except LiteralError:
        bare = Bare(read_duration(number, _UNITS[1]))
    bare.written = number
    return bare
