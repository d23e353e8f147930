"""Engines: the reference (the oracle), and those made for speed; one interface."""
