"""The goals engine: ETALIS rules as binary goals that events drive toward complex events."""
