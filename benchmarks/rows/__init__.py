"""Row patterns beside loops that are written by hand for one pattern each."""
