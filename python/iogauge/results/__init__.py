"""What a saved review shows: steps with their figures, what suites conclude, published figures in the same shape.

Suites, reports, comparisons and SQL read reviews through this package. It measures, draws and prints nothing.
"""
