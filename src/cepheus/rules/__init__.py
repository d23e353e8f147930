"""The model that both rule languages compile to, and the checks on it."""
