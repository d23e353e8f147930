"""Bayesian networks of rules: what an expert writes, and what a rule alone gives."""
