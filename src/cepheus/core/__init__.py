"""What everything else stands on: errors, values, time, events and batches of events."""
