"""Measures power while a run lasts: by a meter that prints watts, the drive's own account, or the machine's counters.

``sources`` has what can be read, ``meter`` reads it beside a run, ``drive_state`` asks the drive once at the end.
"""
