"""The ETALIS paper: its stock ticker."""
