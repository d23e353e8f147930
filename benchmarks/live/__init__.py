"""A live run beside its broker: how many events a second, and how soon alerts are there."""
