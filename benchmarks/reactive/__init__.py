"""Signals: how many events pass through a graph of them."""
