"""Where a live run can read from, a module each."""
