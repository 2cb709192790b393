"""Conditions of ``--fail-if`` on the tables of reviews and comparisons, and the results of checking them.

``report.run.fail_if`` has those on the rows of a run. docs/conditions.md has the grammar of all.
"""
