"""Python as a language of rules: event types as annotated classes, rules as functions over them.

Programs import it from ``cepheus.typed``.
"""
