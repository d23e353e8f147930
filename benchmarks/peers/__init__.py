"""Cepheus beside DuckDB and Polars on the same questions."""
