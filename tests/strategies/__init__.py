"""What Hypothesis draws from: rules, and what other parts of the tests add."""
