"""What all tests share: property tests that repeat, so that a red run is red again on the next machine; a home; which
process gets which test.

SIGINT raises KeyboardInterrupt here and in what tests start, also where a shell began them in the background with it
ignored.
No test sees a terminal's width, which pytest-xdist tells its workers: those about a width set it.
Ledgers, cached drawings and feeds go where $XDG_STATE_HOME, $XDG_CACHE_HOME and $XDG_RUNTIME_DIR say, in this process
and in those that tests start, and never to those of the user.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

# Derandomised: examples follow from the test's own source. Deadlines are off, since shared machines stall at will.
settings.register_profile(
    "iogauge", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.load_profile("iogauge")


_APART = {"tests/system/test_report_accessible.py"}
"""Files of tests/system whose tests share only pages, which tests/system/pages.py makes once for all processes."""


class _Scheduling(LoadScopeScheduling):
    """Gives each test to whichever process is free, but tests of tests/published and tests/system stay with their file.

    These share what takes long to make, or devices. xdist's own groups do nothing under pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::")[0]
        together = file.startswith(("tests/published/", "tests/system/")) and file not in _APART
        return file if together else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling | None:
    """Schedule by ``_Scheduling`` where groups are wanted (--dist loadgroup)."""
    return _Scheduling(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True, scope="session")
def _priority() -> Iterator[None]:
    """Read reviews at the priority of the tests: the lowest gets a hundredth of a CPU that others keep busy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("iogauge.index.pool.NICE", 0)
        yield


def _cache(temporary: pytest.TempPathFactory) -> Path:
    """Return a directory for cached drawings that the processes of pytest-xdist share, as those of a user do."""
    base = temporary.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"


@pytest.fixture(autouse=True, scope="session")
def _state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("XDG_CACHE_HOME", str(_cache(tmp_path_factory)))
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        for size in ("COLUMNS", "LINES"):  # pytest-xdist sets them
            patch.delenv(size, raising=False)
        yield
