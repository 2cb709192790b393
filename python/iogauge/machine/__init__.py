"""Observes the real machine around a run, and warns where a result means less than it seems to.

``facts`` describes the machine; ``stat`` and ``interference`` read the counters and users of the block device;
``extents`` and ``compress`` examine the data to be read; ``judge`` turns the observations into the warnings of
``warnings``; ``watch`` does all this around one run. Nothing on the machine is changed, and no measured I/O issued.
"""
