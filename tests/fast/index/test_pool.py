"""Reading in processes: an item that ends its process has no result, all others have, and a stop ends what is read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest

from iogauge.index import Index, refresh
from iogauge.index.pool import MEMORY_BYTES, results_of
from tests.fast.index.saved import saved

pytestmark = pytest.mark.slow  # every test starts processes

BAD, LARGE = 5, 6


def square(number: int) -> int | None:
    """Return a square, unless the number is one that does harm."""
    if number == BAD:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == LARGE:
        bytearray(MEMORY_BYTES + 1)
    return number * number


def waiting(number: int) -> int:
    """Return at once for the first numbers, and never for the others."""
    if number >= 8:
        signal.pause()
    return number


def test_an_item_that_ends_its_process_is_the_only_one_without_a_result() -> None:
    items = [number for number in range(12) if number != LARGE]
    results = dict(results_of(square, items, ended_early=lambda _: None, stop=Event(), few=0))
    assert results == {number: None if number == BAD else number * number for number in items}


def test_memory_is_bounded() -> None:
    with pytest.raises(MemoryError):
        list(results_of(square, [LARGE], ended_early=lambda _: None, stop=Event(), few=0))


def test_a_stop_ends_what_is_being_read() -> None:
    stop = Event()
    results = results_of(waiting, range(40), ended_early=lambda _: -1, stop=stop, few=0)
    assert [next(results)[1] for _ in range(8)] == list(range(8))
    stop.set()
    assert list(results) == []


def test_figures_are_never_read_in_the_process_of_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh, "_FIGURES_HERE", 0)
    monkeypatch.setattr("iogauge.index.read.rows_of", None)  # so this process could not read them
    saved(tmp_path / "a", run=("p0",))
    with Index.open(tmp_path) as index:
        index.refresh()
        assert index.figures(["a"]).num_rows == 1


def test_a_script_without_a_guard_runs_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from threading import Event\n"
        "from iogauge.index import pool\n"
        "pool.NICE = 0\n"
        "print(list(pool.results_of(abs, [-1, -2], ended_early=lambda _: None, stop=Event(), few=0)))\n"
    )
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert (ran.stdout, ran.stderr) == ("[(-1, 1), (-2, 2)]\n", "")


def test_reading_gives_way_to_measurements(tmp_path: Path) -> None:
    """In a process of its own, since tests read at their own priority."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os\n"
        "from threading import Event\n"
        "from iogauge.index import pool\n"
        "print(list(pool.results_of(os.nice, [0], ended_early=lambda _: None, stop=Event(), few=0)))\n"
    )
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert (ran.stdout, ran.stderr) == ("[(0, 19)]\n", "")
