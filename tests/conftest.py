"""What all tests share: property tests that repeat, so that a red run is red again on the next machine; a home.

SIGINT raises KeyboardInterrupt here and in what tests start, also where a shell began them in the background with it
ignored.
No test sees a terminal's width, which pytest-xdist tells its workers: those about a width set it.
Ledgers and cached drawings go where $XDG_STATE_HOME and $XDG_CACHE_HOME say, in this process and in those that tests
start, and never into the user's home.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# Derandomised: examples follow from the test's own source. Deadlines are off, since shared machines stall at will.
settings.register_profile(
    "iogauge", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.load_profile("iogauge")


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True, scope="session")
def _state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("COLUMNS", raising=False)
        yield
