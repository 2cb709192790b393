"""Traces the requests of a device with the kernel's own events: how long in the queue, how long in driver and device.

``tracefs`` is the only module that changes anything on the machine: it makes an instance of its own, and removes it.
``ring`` and ``formats`` read what the kernel recorded; ``events`` makes arrays of it, ``matching`` requests of those.
``device_events`` has those of one device. ``windows`` decides when to trace, so that a run loses at most about a
hundredth of its rate; ``tracer`` does it.
"""

from iogauge.machine.trace.tracer import Tracer

__all__ = ["Tracer"]
