"""Fits drive and machine models to what was measured, and says how near they come.

``verdicts`` puts published rows beside what models show; a fit makes the differences small. Of every drive's rows a
fifth is not fitted, but predicted.
"""
