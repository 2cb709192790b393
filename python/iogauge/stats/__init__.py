"""Pure functions from measured arrays to figures and their intervals: nothing here reads a file or prints."""
