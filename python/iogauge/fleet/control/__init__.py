"""The controller of a fleet: checks hosts, lets them start their steps together, collects what they saved.

It reaches each host by a ``Link`` and knows nothing of Dask: ``iogauge.fleet.dask`` makes links for a real fleet, tests
make them for hosts in threads. ``controller`` is the loop; ``barrier``, which hosts may start which step, and
``preflight``, what differs between hosts, are pure.
"""
