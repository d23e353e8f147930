"""The studio: a page on which rules are written, run over events, and understood. Started by ``cepheus studio``."""
