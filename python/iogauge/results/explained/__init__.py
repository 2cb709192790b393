"""Where the time of modelled requests went: in a saved review, and in runs that nobody saves."""
