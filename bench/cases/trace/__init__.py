"""Traces that are imported, and latencies that are traced."""
