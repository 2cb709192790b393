"""Job files that are fitted to traces.

Whether requests waited for each other (``loop``), when they arrived (``arrivals``, by ``blocks`` of constant rate),
what they did (``pattern``, with ``sizes`` and ``places``), and the job file (``jobs``). All are functions of the
trace's rows in memory.
"""
