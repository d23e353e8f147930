"""Processors as real processes: gRPC between them, journals on disk, clients that publish, subscribe and deploy."""
