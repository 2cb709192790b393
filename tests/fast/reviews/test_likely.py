"""What a review is likely to take and write, against what reviews of drive models really took and wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge import workload
from iogauge.reviews.bounds import most_written
from iogauge.reviews.drive_rates import DriveRates, rates_of
from iogauge.reviews.estimate import AROUND_S, ReviewCost, cost_of
from iogauge.reviews.likely import likely, loads
from iogauge.reviews.manifest import new_manifest
from iogauge.schema import Direction, Manifest
from iogauge.suites import SUITES, suite_of
from tests import builders
from tests.suite_runs import announced, reviewed

READ, WRITE = Direction.READ, Direction.WRITE
DRIVE = DriveRates(
    latency_ns={READ: 90_000, WRITE: 10_000},
    iops={READ: 100_000, WRITE: 50_000},
    bandwidth_Bps={READ: 1e9, WRITE: 5e8},
    sync_ns=970_000,
    basis="made up",
)
SECOND = "runtime=1\ntime_based\nfilename=t\n"
DISK = 3.0
"""The factor within which what is likely comes true on a disk, whose last requests take as long as a short step."""
QUICK = {"mixed", "write-pressure", "pts-throughput"}
"""Suites of the quick test: no search, a search, and rounds."""
LONG = {"pts-composite", "pts-iops", "queue-depth", "tenants"}
"""Suites of many steps, which are left to a release."""
ELSEWHERE = {"stack-overhead", "ladder"}
"""Suites that need more than a drive."""


def written(*jobs: str) -> float:
    """Return the bytes that jobs, each of a second, are likely to write together."""
    text = "".join(f"[job{number}]\n{job}{SECOND}" for number, job in enumerate(jobs))
    return likely(workload.parse(text, source="x").jobs, {"t": DRIVE}.get, {"t": 10**9}).written_bytes


@pytest.mark.parametrize(
    ("job", "iops", "size"),
    [
        # One at a time: the latency and the time on the drive.
        ("rw=randwrite\nbs=4k\n", 1e9 / (10_000 + 20_000), 4096),
        # Many: the drive's own rate. Then what is in flight at the end is written too.
        ("rw=randwrite\nbs=4k\niodepth=32\nnumjobs=4\n", 50_000 + 128, 4096),
        ("rw=write\nbs=1m\niodepth=8\n", 5e8 / 2**20 + 8, 2**20),
        ("rw=randwrite\nbs=4k\niodepth=32\nrate_iops=700\n", 700, 4096),
        ("rw=randwrite\nbs=4k\niodepth=32\nrate=,4m\nnumjobs=2\n", 2 * 1024, 4096),
        # A sync after each write, and a pause after each.
        ("rw=randwrite\nbs=4k\nfdatasync=1\n", 1000, 4096),
        ("rw=randwrite\nbs=4k\nthinktime=970\n", 1000, 4096),
        # Half reads, of 90 + 10 us, and half writes, of 10 + 20 us.
        ("rw=randrw\nbs=4k\n", 0.5e9 / 65_000, 4096),
        ("rw=randread\nbs=4k\n", 0, 4096),
        ("rw=randrw\nrwmixread=100\nbs=4k\n", 0, 4096),
    ],
)
def test_a_job_alone(job: str, iops: float, size: int) -> None:
    assert written(job) == pytest.approx(iops * size, rel=0.005)


def test_jobs_at_once_share_their_drive() -> None:
    alone = "rw=randwrite\nbs=4k\niodepth=32\n"
    assert written(alone, alone) == pytest.approx(written(alone), rel=0.01)
    apart = likely(
        workload.parse(f"[a]\n{alone}{SECOND}[b]\nstonewall\n{alone}{SECOND}", source="x").jobs,
        {"t": DRIVE}.get,
        {},
    )
    assert apart.written_bytes == pytest.approx(2 * written(alone), rel=0.01)
    assert apart.seconds == 2


def test_an_amount_takes_its_time_and_no_more_is_written() -> None:
    (fill,) = workload.parse("[fill]\nrw=write\nbs=1m\niodepth=8\nfilename=t\n", source="x").jobs
    filled = likely([fill], {"t": DRIVE}.get, {"t": 10**9})
    assert filled.seconds == pytest.approx(2, rel=0.01)
    assert filled.written_bytes == pytest.approx(10**9, rel=0.01)


def test_of_an_unknown_drive_nothing_is_guessed() -> None:
    (job,) = workload.parse(f"[w]\nrw=randwrite\n{SECOND}", source="x").jobs
    (load,) = loads([job], lambda _: None)
    assert (load.iops, load.written_Bps) == (0, 0)


@pytest.mark.parametrize(
    ("facts", "basis", "most_MBps"),
    [
        ({"model": "ST16000NM001G", "rotational": True}, "disks", 200),
        ({"model": "INTEL SSDPED1K375GA", "rotational": False}, "3D XPoint", 2200),
        ({"model": "Samsung SSD 870", "rotational": False, "link_Bps": 600_000_000}, "SATA flash", 450),
        ({"model": "SAMSUNG MZQL2", "rotational": False, "link_Bps": 1_000_000_000}, "NVMe flash", 1000),
        ({"device": "zram0"}, "memory", 3000),
        ({}, "NVMe flash", 2000),
    ],
)
def test_a_real_drive_has_the_rates_of_its_class(
    facts: dict[str, object], basis: str, most_MBps: int
) -> None:
    rates = rates_of(builders.target("/dev/x", kind="block", **facts))
    assert rates.basis == f"usual rates of {basis}"
    assert rates.bandwidth_Bps[WRITE] == most_MBps * 1e6


def test_a_longer_run_is_likely_where_the_sample_would_be_too_small() -> None:
    def cost(q: float) -> ReviewCost:
        disk = builders.target("/dev/x", kind="block", size_bytes=10**12, model="ST1", rotational=True)
        return cost_of(planned("mixed", disk, until_supported=q), suite_of)

    # A disk serves some hundred requests in the three seconds of a step: enough for p99 alone.
    once = cost(0.9)
    assert once.likely_s < 1.05 * once.expected_s + len(once.steps) * AROUND_S
    assert cost(0.99999).likely_s > 15 * cost(0.99999).expected_s


def planned(suite: str, *targets: object, **options: object) -> Manifest:
    """Plan a review by one suite at quick pace."""
    return new_manifest(
        [SUITES[suite]], targets, seed=1, command=(), machine=builders.machine(), ceiling=None, **options
    )


@pytest.mark.parametrize(
    "suite",
    [
        pytest.param(
            suite,
            marks=() if suite in QUICK else pytest.mark.release if suite in LONG else pytest.mark.slow,
        )
        for suite in sorted(SUITES.keys() - ELSEWHERE)
    ],
)
def test_what_a_review_of_a_disk_takes_and_writes_was_announced(
    suite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``tests/fast/suites/test_everywhere.py`` has the same for 3D XPoint and flash."""
    targets = ["model:disk-7200", "model:mx300-750g"]
    before = announced(suite, targets, monkeypatch, runtime="300ms")
    reviewed(suite, targets, tmp_path / "saved", capsys, "--runtime=300ms")
    before.assert_held(tmp_path / "saved", time=DISK, writes=DISK)


def test_a_rate_bounds_what_is_written_with_its_first_requests_and_its_chance() -> None:
    text = "[w]\nrw=randwrite\nbs=4k\nnumjobs=2\nrate_iops=,100\nruntime=100\ntime_based\nfilename=t\n"
    (even,) = workload.parse(text, source="x").jobs
    (random,) = workload.parse(f"{text}rate_process=poisson\n", source="x").jobs
    assert most_written(even, {}) == (2 * 10_001 * 4096, True)
    assert most_written(random, {}) == (2 * 10_501 * 4096, True)
