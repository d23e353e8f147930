"""Do the functions that a rule calls exist, and do they get what they can work with?"""

from __future__ import annotations

from cepheus.core.errors import did_you_mean
from cepheus.core.source import Span
from cepheus.rules.aggregates import AGGREGATES
from cepheus.rules.check.findings import Findings
from cepheus.rules.check.regexes import check_regex
from cepheus.rules.check.wording import find_name
from cepheus.rules.expressions import Aggregate, Call
from cepheus.rules.functions import FUNCTIONS


def check_call(node: Call, findings: Findings) -> None:
    """Report a function that does not exist, a wrong number of arguments, and what is no regular expression."""
    function = FUNCTIONS.get(node.function)
    if function is None:
        hint = did_you_mean(node.function, FUNCTIONS)
        if node.function in AGGREGATES:
            name = AGGREGATES[node.function].name
            hint = f"the aggregate is written '{name}(Event(..).attribute within 5 min from Event)'"
        findings.error("unknown-function", f"there is no function '{node.function}'", place_of_name(node), hint)
        return
    expected, found = len(function.arguments), len(node.arguments)
    if found < expected or (found > expected and not function.variadic):
        count = f"{'at least ' if function.variadic else ''}{expected} argument{'s' if expected > 1 else ''}"
        findings.error(
            "argument-count",
            f"'{function.name}' takes {count}, found {found}",
            node.span,
            f"write {function.signature}: {function.summary}",
        )
    check_regex(node, findings)


def place_of_name(node: Call | Aggregate) -> Span | None:
    """The place of a function's name, which is written in any case."""
    if node.span is None:
        return None
    written = node.span.text[: len(node.function)]
    return find_name(node.span, written) if written.lower() == node.function.lower() else node.span
