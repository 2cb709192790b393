"""Saved reviews: opened, listed, compared, queried and reported."""
