"""The ETALIS language for events: rule text to rules and back."""

from cepheus.language.etalis.parse import parse

__all__ = ["parse"]
