"""Reactive values: signals made from events and from one another, and events made from signals."""
