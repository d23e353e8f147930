"""Explain what a rule means: as a tree for the terminal, and as drawings."""

from cepheus.explain.draw import draw
from cepheus.explain.rule_parts import RuleParts, rule_parts
from cepheus.explain.tree import tree

__all__ = ["RuleParts", "draw", "rule_parts", "tree"]
