"""Traces of I/O requests: recorded, imported, opened."""
