"""Saved reviews as one HTML page."""
