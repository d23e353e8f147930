"""The meaning of interval rules: Figure 2 of the ETALIS paper as a definition, and as an engine with policies."""
