"""Partial rules: what of a rule each part of a network can decide by itself."""

from cepheus.plan.partial.anatomy import Anatomy, anatomy, input_types
from cepheus.plan.partial.partition import HERE, Producers, partition, seen_here, sole_child
from cepheus.plan.partial.rule import PartialRule
from cepheus.plan.partial.spans import Span, shared_values, span_around

__all__ = [
    "HERE",
    "Anatomy",
    "PartialRule",
    "Producers",
    "Span",
    "anatomy",
    "input_types",
    "partition",
    "seen_here",
    "shared_values",
    "sole_child",
    "span_around",
]
