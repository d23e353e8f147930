"""Row patterns (MATCH_RECOGNIZE): the model of a query over rows in their order."""
