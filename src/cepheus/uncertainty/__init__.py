"""Uncertain events: what a comparison, a match, an aggregate is worth when values carry errors."""
