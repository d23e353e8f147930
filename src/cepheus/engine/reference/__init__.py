"""The reference engines: what rules of patterns and of intervals mean, transcribed. The oracles of all others."""
