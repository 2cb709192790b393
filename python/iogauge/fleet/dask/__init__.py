"""Reaches the hosts of a fleet by Dask: starts its processes, or connects to a scheduler, and links to each host.

One Dask worker is one host, and holds one actor: ``iogauge.fleet.host.Host``. Nothing outside this package imports
Dask. What Dask logs reaches nobody; what fails is an ``IogaugeError``.
"""
