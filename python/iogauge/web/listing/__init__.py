"""Saved reviews as rows of a list, and as tables side by side."""
