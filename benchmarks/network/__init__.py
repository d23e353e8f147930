"""Measures a network of real processes on this machine."""
