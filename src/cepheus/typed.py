"""Rules as typed Python: what programs import. The parts live in ``cepheus.language.python``."""

from typing import TYPE_CHECKING

from cepheus.language.python.aggregates import agg
from cepheus.language.python.draft import named, now
from cepheus.language.python.events import Composite, Event, attribute, event_of, event_type
from cepheus.language.python.from_schemas import event_from
from cepheus.language.python.functions import fn
from cepheus.language.python.generate import from_tesla, to_python, to_tesla
from cepheus.language.python.handlers import Handler, on
from cepheus.language.python.patterns import (
    collect,
    consume,
    each,
    first,
    last,
    let,
    no,
    require,
    top,
    when,
    word_of_policy,
)
from cepheus.language.python.rules import PythonRule, TypedRules, error, rule, rule_set
from cepheus.language.python.udf import Udf, udf
from cepheus.language.python.values import (
    all_of,
    any_of,
    chain,
    const,
    duration,
    is_null,
    not_,
    one_of,
    parameter,
    timestamp,
)

if not TYPE_CHECKING:

    def __getattr__(word: str) -> object:
        return word_of_policy(word, __name__)


__all__ = [
    "Composite",
    "Event",
    "Handler",
    "PythonRule",
    "TypedRules",
    "Udf",
    "agg",
    "all_of",
    "any_of",
    "attribute",
    "chain",
    "collect",
    "const",
    "consume",
    "duration",
    "each",
    "error",
    "event_from",
    "event_of",
    "event_type",
    "first",
    "fn",
    "from_tesla",
    "is_null",
    "last",
    "let",
    "named",
    "no",
    "not_",
    "now",
    "on",
    "one_of",
    "parameter",
    "require",
    "rule",
    "rule_set",
    "timestamp",
    "to_python",
    "to_tesla",
    "top",
    "udf",
    "when",
]
