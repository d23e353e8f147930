"""What goes wrong in a task comes back from Spark as text, deep in a traceback; here it becomes an error again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from cepheus.core import errors
from cepheus.core.errors import CepheusError, Diagnostic

_ERROR = re.compile(
    r"^cepheus\.core\.errors\.(?P<kind>\w+): (?:(?P<place>\S+?): )?error\[(?P<code>[\w-]+)\]: (?P<message>.*)$"
    r"(?:\n(?: .*\|.*\n)*  hint: (?P<hint>.*)$)?",
    re.M,
)


def error_in(text: str) -> CepheusError | None:
    """Find the error that a traceback of Spark's tells of, if it is one of ours.

    >>> error_in("..\\ncepheus.core.errors.EventError: error[event]: an event has no time\\n  hint: look again\\n..")
    EventError('error[event]: an event has no time\\n  hint: look again')
    """
    found = _ERROR.search(text)
    if found is None:
        return None
    kind = getattr(errors, found["kind"], CepheusError)
    error: CepheusError = kind([Diagnostic(found["code"], found["message"], hint=found["hint"])])
    return error


@contextmanager
def plain_failures() -> Iterator[None]:
    """Turn what Spark raises for a failed job into our own error, if that is what made it fail."""
    try:
        yield
    except CepheusError:
        raise
    except Exception as error:
        ours = error_in(str(error))
        if ours is None:
            raise
        raise ours from None
