"""Defines the options of a job: one table of them, and how the value of each is read and written."""
