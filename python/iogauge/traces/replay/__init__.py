"""Traces made ready to be replayed: rows of fixed size in a temporary file, which the core reads while it replays.

``source`` reads a trace of any format, ``compiling`` makes rows of it, ``waiting`` finds out which requests wait for
which, and ``placing`` puts them onto targets. All work on pieces, so a trace may be longer than memory.
"""
