"""Fits drive and machine models to measurements, and reports how close they come.

``verdicts`` compares published rows with what the models show; a fit minimises the differences. A fifth of every
drive's rows is kept from the fit and predicted instead.
"""
