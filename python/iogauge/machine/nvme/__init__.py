"""Reads what an NVMe drive says of itself, by admin commands that change nothing.

``admin`` sends the commands; ``identify``, ``features`` and ``logs`` parse the answers, from bytes to dataclasses and
without I/O; ``read`` decides which commands to send; ``health`` says what is wrong with the drive. A value that the
drive does not report is None.
"""
