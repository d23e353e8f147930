"""Errors that stand in columns of their own, next to the values they belong to.

``uncertain={"value": Normal(sd="value_sd")}`` says that the column ``value_sd`` has the standard deviation of the error
of each ``value``. Whatever may be a column may be a number, too: ``Uniform(low=-0.5, high=0.5)``.
"""

from cepheus.core.error_columns import ErrorSource, Normal, Uniform

__all__ = ["ErrorSource", "Normal", "Uniform"]
