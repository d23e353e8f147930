"""Row patterns as tables: the automaton of a pattern and the states that it can be in."""
