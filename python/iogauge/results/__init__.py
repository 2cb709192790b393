"""A saved review as everything reads it: its figures with intervals, the names of its positions, its conclusions.

Suites judge these objects; reports, comparisons and SQL show the same ones. Nothing here measures, draws or prints.
"""
