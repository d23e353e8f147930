"""The questions: streams of events and sets of rules, drawn from seeds."""
