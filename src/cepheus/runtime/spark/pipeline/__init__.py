"""Pipelines without code: sources, rules and sinks described in a file."""
