"""The language of row patterns: MATCH_RECOGNIZE of SQL:2016, alone or in a SELECT."""

from cepheus.language.sql.parse import parse, parse_queries, parse_query, read

__all__ = ["parse", "parse_queries", "parse_query", "read"]
