"""Reports of runs and of saved reviews: text tables, fio's JSON and log files, charts, Markdown and the HTML page.

A report is a pure function of records and their intervals. Nothing here prints.
"""
