"""Where a live run can write to, a module each."""
