"""Numbers as people read them."""

from __future__ import annotations


def amount(number: float) -> str:
    """Give a large number in thousands or millions.

    >>> amount(18_976_829), amount(627_960), amount(351), amount(0.25)
    ('19.0M', '628k', '351', '0.25')
    """
    if number >= 1e6:
        return f"{number / 1e6:.1f}M"
    if number >= 1e4:
        return f"{number / 1e3:.0f}k"
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def seconds(duration: float) -> str:
    """Give a duration in seconds or milliseconds.

    >>> seconds(2.345), seconds(0.0423)
    ('2.3 s', '42.3 ms')
    """
    return f"{duration:.1f} s" if duration >= 1 else f"{1000 * duration:.3g} ms"


def microseconds(duration: float) -> str:
    """Give a duration in microseconds with as many digits as matter.

    >>> microseconds(0.1234), microseconds(12.34), microseconds(1234.5)
    ('0.12', '12', '1,234')
    """
    if duration < 1:
        return f"{duration:.2f}"
    return f"{duration:.1f}" if duration < 10 else f"{duration:,.0f}"
