"""Whether fitted twins of drives that they were not shown predict loads outside the review."""
