"""The report of saved reviews as one HTML page."""
