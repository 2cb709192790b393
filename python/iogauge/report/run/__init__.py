"""The report of one run: tables, the formats of fio and DiskSpd, log files, and the conditions of ``--fail-if``."""
