"""The options of one purpose each, which the table of all options joins."""
