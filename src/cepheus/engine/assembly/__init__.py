"""Engines by name, and engines put together: certain before uncertain, both families of rules, weights of rules."""
