"""The options of fio that jobs may have: one table of them, and how each value is read and written."""
