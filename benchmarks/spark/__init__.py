"""Cepheus on Spark beside Spark itself: the same questions, the same files."""
