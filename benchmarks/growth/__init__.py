"""How cost grows with rules, events and time."""
