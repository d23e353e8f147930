"""Rules spread over a network of processors: the protocol without input and output, and the simulator."""
