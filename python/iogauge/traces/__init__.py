"""Traces: the requests that a device or a file got, in the order of their times, in a Parquet file of one layout.

``file`` writes and reads them. ``importing`` makes them of what other programs recorded, ``recording`` of what a disk
gets. ``summary`` counts what a trace has. Rows pass through memory in pieces, so a trace may be longer than memory.
"""
