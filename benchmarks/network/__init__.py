"""Networks of processors: a line of real processes, random trials, what crosses links, the speed of the simulator."""
