"""The compiled library that all fast engines stand on: tables, memory, sums, search, expressions, cache."""
