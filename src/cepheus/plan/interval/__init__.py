"""ETALIS rules compiled: from patterns to graphs of goals and the flat program of the goals kernel."""
