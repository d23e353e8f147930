"""Uncertainty in rules: the Bayesian network of a rule, edited, evaluated and exchanged."""
