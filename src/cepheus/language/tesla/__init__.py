"""TESLA: rule text to rules and back."""

from cepheus.language.tesla.parse import parse, parse_event_pattern, parse_pattern, read
from cepheus.language.tesla.print import (
    format_belief,
    format_event_pattern,
    format_expression,
    format_node,
    format_pattern,
    format_rule,
    format_rules,
)
from cepheus.language.tesla.reformat import reformat

__all__ = [
    "format_belief",
    "format_event_pattern",
    "format_expression",
    "format_node",
    "format_pattern",
    "format_rule",
    "format_rules",
    "parse",
    "parse_event_pattern",
    "parse_pattern",
    "read",
    "reformat",
]
