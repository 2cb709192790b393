"""The results of saved reviews: figures of steps, conclusions of suites, and published figures in the same shape.

Suites, reports, comparisons and SQL read reviews through this package. It measures, draws and prints nothing.
"""
