"""Which leases a host refuses, and which files it hands out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from iogauge.errors import InUseError, IogaugeError
from iogauge.fleet.host import HostClock, HostRequest, Lease
from iogauge.fleet.host.places import HostPlace, lock_running
from tests.fast.fleet import fleet_host

CLOCK = HostClock(error_ns=50_000_000)


@pytest.fixture
def wanted(tmp_path: Path) -> HostRequest:
    return fleet_host.request(tmp_path / "suite.toml", "model:p4800x")


def use(tmp_path: Path, wanted: HostRequest, lease: Lease) -> None:
    # A new object each time, as after the host's process was killed.
    HostPlace(tmp_path / "state", wanted).use(lease, wanted, CLOCK)


def test_a_lease_is_used_once(tmp_path: Path, wanted: HostRequest) -> None:
    lease = fleet_host.lease(wanted)
    use(tmp_path, wanted, lease)
    with pytest.raises(IogaugeError, match="has been used") as refused:
        use(tmp_path, wanted, lease)
    assert refused.value.hint
    with pytest.raises(IogaugeError, match="has been used"):
        use(tmp_path, wanted, lease.model_copy(update={"generation": 9}))


@pytest.mark.parametrize("generation", [0, 1, 2])
def test_an_older_lease_is_refused(tmp_path: Path, wanted: HostRequest, generation: int) -> None:
    use(tmp_path, wanted, fleet_host.lease(wanted, generation=2))
    with pytest.raises(IogaugeError, match="generation 2 was used"):
        use(tmp_path, wanted, fleet_host.lease(wanted, generation=generation))
    use(tmp_path, wanted, fleet_host.lease(wanted, generation=3))


@pytest.mark.parametrize("change", [{"host": "b"}, {"fleet_id": "f2"}])
def test_the_lease_of_another_host_or_fleet_is_refused(
    tmp_path: Path, wanted: HostRequest, change: dict[str, Any]
) -> None:
    with pytest.raises(IogaugeError, match="the lease is for host"):
        use(tmp_path, wanted, fleet_host.lease(wanted, **change))


def test_a_review_that_runs_is_known(tmp_path: Path, wanted: HostRequest) -> None:
    place = HostPlace(tmp_path / "state", wanted)
    assert not place.is_running
    use(tmp_path, wanted, fleet_host.lease(wanted))
    assert not place.is_running
    lock_running(place.review)
    assert place.is_running
    with pytest.raises(InUseError, match="earlier review of this fleet still runs") as refused:
        lock_running(place.review)
    assert refused.value.hint


def test_a_lease_that_comes_too_late_is_refused(tmp_path: Path, wanted: HostRequest) -> None:
    now_ns = CLOCK.now_ns()
    with pytest.raises(IogaugeError, match="expired"):
        use(tmp_path, wanted, fleet_host.lease(wanted, begin_by_ns=now_ns - 1))
    use(tmp_path, wanted, fleet_host.lease(wanted, begin_by_ns=now_ns + 3600 * 10**9))


def test_fleets_have_leases_of_their_own(tmp_path: Path, wanted: HostRequest) -> None:
    use(tmp_path, wanted, fleet_host.lease(wanted, generation=5))
    other = wanted.model_copy(update={"fleet_id": "f2"})
    use(tmp_path, other, fleet_host.lease(other, generation=1))


@pytest.mark.parametrize("name", ["..", "a/b", "", ".a"])
def test_names_that_lead_elsewhere_are_no_requests(tmp_path: Path, name: str) -> None:
    for field in ("fleet_id", "host"):
        with pytest.raises(ValueError, match=field):
            fleet_host.request(tmp_path / "suite.toml", **{field: name})


@pytest.fixture
def place(tmp_path: Path, wanted: HostRequest) -> HostPlace:
    place = HostPlace(tmp_path / "state", wanted)
    steps = place.review / "steps" / "s"
    steps.mkdir(parents=True)
    (place.review / "manifest.json").write_bytes(b"0123456789")
    (steps / "record.json").write_bytes(b"{}")
    (place.review / ".lock").touch()
    (place.review / "steps" / ".s.tmp").mkdir()
    (place.review / "steps" / ".s.tmp" / "record.json").touch()
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key").write_bytes(b"secret")
    (place.review / "link").symlink_to(tmp_path / "secret")
    (place.review / "folder").symlink_to(tmp_path / "secrets")
    os.mkfifo(place.review / "pipe")
    return place


def test_files_are_listed_and_read(place: HostPlace) -> None:
    files = place.files()
    assert [(file.path, file.bytes) for file in files] == [("manifest.json", 10), ("steps/s/record.json", 2)]
    assert files[0].modified_ns == (place.review / "manifest.json").stat().st_mtime_ns
    assert place.read("manifest.json", 0, 4) == b"0123"
    assert place.read("manifest.json", 8, 100) == b"89"
    assert place.read("manifest.json", 100, 1) == b""
    assert place.checksum("steps/s/record.json").startswith("44136fa3")


@pytest.mark.parametrize(
    "path",
    [
        "link",
        "folder/key",
        "pipe",
        "steps",
        "none",
        "",
        "/etc/passwd",
        "../lease.json",
        "steps/../manifest.json",
        "steps//s/record.json",
        "./manifest.json",
        "manifest.json/x",
        ".lock",
        "steps/.s.tmp/record.json",
        "a\0b",
        "steps/s/record.json/",
    ],
)
def test_nothing_but_files_of_the_review_is_read(place: HostPlace, path: str) -> None:
    with pytest.raises(IogaugeError, match="no file of this host's review") as refused:
        place.read(path, 0, 10)
    assert refused.value.hint
    with pytest.raises(IogaugeError, match="no file"):
        place.checksum(path)


def test_a_review_that_is_a_link_is_not_followed(tmp_path: Path, wanted: HostRequest) -> None:
    place = HostPlace(tmp_path / "state", wanted)
    place.directory.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "manifest.json").touch()
    place.review.symlink_to(tmp_path / "elsewhere")
    assert place.files() == []
    with pytest.raises(IogaugeError, match="no file"):
        place.read("manifest.json", 0, 1)


@pytest.mark.parametrize(("offset", "length"), [(-1, 1), (0, -1)])
def test_a_part_that_no_file_has_is_refused(place: HostPlace, offset: int, length: int) -> None:
    with pytest.raises(IogaugeError, match="no file"):
        place.read("manifest.json", offset, length)


def test_a_host_that_has_saved_nothing_has_no_files(tmp_path: Path, wanted: HostRequest) -> None:
    assert HostPlace(tmp_path / "state", wanted).files() == []
