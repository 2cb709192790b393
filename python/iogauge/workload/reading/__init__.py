"""Reads job files and command lines: from lines of text to validated jobs."""
