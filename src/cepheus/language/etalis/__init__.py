"""The ETALIS language for events: rule text to rules and back."""

from cepheus.language.etalis.parse import parse, read
from cepheus.language.etalis.print import format_pattern, format_rule, format_rules
from cepheus.language.etalis.reformat import reformat

__all__ = ["format_pattern", "format_rule", "format_rules", "parse", "read", "reformat"]
