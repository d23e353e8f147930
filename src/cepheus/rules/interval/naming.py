"""Names of what has none: arguments of undeclared types, and unnamed rules."""

from __future__ import annotations


def argument_name(place: int) -> str:
    """Give the name of the n-th argument, counted from 1, of an event type that nobody declares.

    >>> argument_name(2)
    'arg2'
    """
    return f"arg{place}"
