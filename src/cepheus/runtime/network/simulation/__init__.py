"""Networks in virtual time: scenarios, faults, traffic, on the same processors that run for real."""
