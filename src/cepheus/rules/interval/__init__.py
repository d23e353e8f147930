"""Logic rules over intervals: the model of the ETALIS language for events, its passes and its checks."""
