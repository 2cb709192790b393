"""What a SATA drive says of itself: its identity, SMART, statistics, and power.

``port`` has what Linux keeps in sysfs. ``command`` sends commands, only such that read; ``identity``, ``smart`` and
``statistics`` parse the answers; ``read`` asks for all of them, and ``health`` says what is wrong.
"""
