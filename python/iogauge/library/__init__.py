"""What ``import iogauge`` offers: what the command line can do, as functions that return objects.

A file for each function. The command line parses options, calls these files, and prints; they refuse what it refuses,
by the same errors. Nothing here prints or ends the process. ``iogauge/__init__.py`` names what is public.
"""
