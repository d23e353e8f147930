"""The automata engine: AIP, automata-based incremental processing."""
