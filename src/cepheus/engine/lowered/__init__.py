"""What engines of lowered rules share: events in as words, composite events out, growth, snapshots."""
