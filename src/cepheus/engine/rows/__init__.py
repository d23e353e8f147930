"""The engine of row patterns: one compiled loop over rows, patterns as data."""
