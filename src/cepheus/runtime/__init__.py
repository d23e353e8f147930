"""What runs engines: a process, a cluster, a network."""
