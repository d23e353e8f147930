"""Rules at work in one process: events from somewhere, composite events to somewhere, safe to kill."""
