"""Reads job files and command lines: turns their lines into validated jobs."""
