"""TESLA rules compiled: from resolved steps to the flat program that the kernel reads."""
