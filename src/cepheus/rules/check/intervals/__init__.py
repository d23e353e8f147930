"""Checks on interval rules, and what they find out about them."""

from cepheus.rules.check.intervals.check import CheckedIntervals, check_intervals

__all__ = ["CheckedIntervals", "check_intervals"]
