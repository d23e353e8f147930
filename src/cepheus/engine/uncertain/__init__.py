"""The engine for uncertain events: CDP whose constraints have probabilities, compiled."""
