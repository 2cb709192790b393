"""The answer of a run, a review and a comparison on one screen: what a terminal shows unless all is asked for.

Each begins with its finding in a sentence. A table follows, without the columns that do not fit, then the warnings,
one line each. What is left out is counted. ``report.run.table``, ``report.review_text`` and ``comparison.text`` have
everything.
"""
