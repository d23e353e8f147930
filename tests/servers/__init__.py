"""Servers for tests, started by them on free ports: brokers and databases from their packages, Kafka from its jars."""
