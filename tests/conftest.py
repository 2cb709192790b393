"""What all tests share: property tests that repeat, so that a red run is red again on the next machine."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Derandomised: examples follow from the test's own source. Deadlines are off, since shared machines stall at will.
settings.register_profile(
    "iogauge", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.load_profile("iogauge")
