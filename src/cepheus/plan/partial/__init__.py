"""Partial rules: what of a rule each part of a network can decide by itself."""

from cepheus.plan.partial.partition import HERE, PartialRule, Producers, partition, seen_here, sole_child
from cepheus.plan.partial.shape import RuleShape, Span, input_types, shape_of, shared_values, span_around

__all__ = [
    "HERE",
    "PartialRule",
    "Producers",
    "RuleShape",
    "Span",
    "input_types",
    "partition",
    "seen_here",
    "shape_of",
    "shared_values",
    "sole_child",
    "span_around",
]
