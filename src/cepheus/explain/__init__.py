"""Explain what a rule means: as a tree for the terminal, and as drawings."""

from cepheus.explain.anatomy import Anatomy, anatomy
from cepheus.explain.draw import draw
from cepheus.explain.tree import tree

__all__ = ["Anatomy", "anatomy", "draw", "tree"]
