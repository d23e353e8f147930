"""Checks on interval rules, and what they find out about them."""

from cepheus.rules.check.interval.check import CheckedIntervals, check_intervals

__all__ = ["CheckedIntervals", "check_intervals"]
