"""Merges what the hosts of a fleet saved: exact percentiles over time, skews of starts, all figures as one table."""
