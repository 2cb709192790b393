"""What was measured, made readable: text tables, fio's JSON and log files, charts, the HTML report.

Everything here is a pure function of a record (and of its intervals); nothing here prints.
"""
