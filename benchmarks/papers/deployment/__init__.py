"""The evaluation of the deployment strategies, run again in the simulator."""
