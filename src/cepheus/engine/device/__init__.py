"""The device engine: the columns engine, which leaves the search in large states to a device by way of OpenCL."""
