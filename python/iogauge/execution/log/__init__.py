"""The log of every request: read from the spill that the core wrote, and made into columns."""
