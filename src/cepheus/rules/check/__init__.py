"""Checks on rules: names, types, values that can never be, cycles."""

from cepheus.rules.check.check import MAX_DEPTH, Checked, check

__all__ = ["MAX_DEPTH", "Checked", "check"]
