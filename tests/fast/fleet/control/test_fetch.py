"""Copies of what hosts saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.fleet.control.fetch import fetch
from iogauge.fleet.control.link import LinkError
from tests.fast.fleet.control.fake_hosts import FakeHost, FakeLink


def saved(*steps: str) -> FakeHost:
    host = FakeHost("x")
    host.saved = {"manifest.json": b"{}", "empty": b""}
    for step in steps:
        host.saved[f"steps/{step}/record.json"] = step.encode() * 500
        host.saved[f"steps/{step}/totals.parquet"] = b"\1" * 3000
    return host


def files(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_a_copy_is_the_same_to_the_byte_and_copied_once(tmp_path: Path) -> None:
    host = saved("a", "b")
    assert fetch(FakeLink(host), tmp_path, timeout_s=1) == sum(map(len, host.saved.values()))
    assert files(tmp_path) == host.saved
    assert fetch(FakeLink(host), tmp_path, timeout_s=1) == 0


def test_a_step_that_was_discarded_vanishes_and_one_that_ran_again_is_replaced(tmp_path: Path) -> None:
    fetch(FakeLink(saved("a", "b")), tmp_path, timeout_s=1)
    host = saved("b")
    host.saved["steps/b/record.json"] = b"again"
    fetch(FakeLink(host), tmp_path, timeout_s=1)
    assert files(tmp_path) == host.saved
    assert not (tmp_path / "steps/a").exists()


def test_a_host_that_saved_nothing_leaves_the_copy(tmp_path: Path) -> None:
    host = saved("a")
    fetch(FakeLink(host), tmp_path, timeout_s=1)
    fetch(FakeLink(FakeHost("x")), tmp_path, timeout_s=1)
    assert files(tmp_path) == host.saved


@pytest.mark.parametrize("calls", range(1, 24, 3))
def test_a_step_is_there_as_a_whole_or_not_at_all(tmp_path: Path, calls: int) -> None:
    host = saved("a", "b")
    link = FakeLink(host, lambda _host, _method, number: "lost" if number >= calls else "")
    with pytest.raises(LinkError):
        fetch(link, tmp_path, timeout_s=1)
    for step in ("a", "b"):
        names = {path.name for path in (tmp_path / "steps").glob(f"{step}/*")}
        assert names in (set(), {"record.json", "totals.parquet"})
    fetch(FakeLink(host), tmp_path, timeout_s=1)
    assert files(tmp_path) == host.saved


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "steps/../../x", ".lock", "steps/a/.b", ""])
def test_a_host_cannot_write_elsewhere(tmp_path: Path, path: str) -> None:
    host = FakeHost("x")
    host.saved = {path: b"evil"}
    with pytest.raises(IogaugeError, match="no name of a review's file"):
        fetch(FakeLink(host), tmp_path / "copy", timeout_s=1)
    assert list(tmp_path.iterdir()) == [tmp_path / "copy"]


def test_what_comes_damaged_is_not_kept(tmp_path: Path) -> None:
    host = saved("a")
    host.checksum = lambda path: "0" * 64  # type: ignore[method-assign]
    with pytest.raises(IogaugeError, match="changes while it is fetched"):
        fetch(FakeLink(host), tmp_path, timeout_s=1)
    assert not (tmp_path / "steps/a").exists()
