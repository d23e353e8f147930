"""A processor: a state machine without input and output, made of parts that own their state."""
