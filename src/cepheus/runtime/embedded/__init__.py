"""Rules in one process: order, subscriptions, sessions and runs over files."""
