"""The report of one run: tables, fio's and DiskSpd's formats, log files, and the conditions of ``--fail-if``."""
