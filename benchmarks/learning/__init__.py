"""Rules learned from history: hidden rules drawn at random, and what is learned of them scored on fresh streams."""
