"""The columns engine: column-based delayed processing (CDP), compiled, on arrays from end to end."""
