"""What the structure of the models shows without a fit to it: rules that others published about how drives behave.

Source: Wu et al., "Towards an unwritten contract of Intel Optane SSD" (HotStorage 2019); AnandTech 11209 p4; single
reads of a Micron 9100 in MicronSSD/unvme, issue 18.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from iogauge.calibrate import loads
from iogauge.calibrate.assess import shipped
from iogauge.calibrate.trial import Seen, Trial
from iogauge.execution.interrupts import Interrupts

P4800X, MICRON = "p4800x-375g", "9100max-2400g"
LINUX = "anandtech-linux"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trial() -> Iterator[Trial]:
    with Interrupts() as interrupts:
        yield shipped(interrupts)


def seen(
    trial: Trial, rw: str, threads: int, depth: int, *, size: int = 4096, ios: int = 400_000, more: str = ""
) -> Seen:
    polled = threads * depth == 1
    jobs = loads.plain(rw, size, threads=threads, depth=depth, ios=ios, polled=polled, more=more)
    return trial.seen(jobs, P4800X, LINUX, clat=True)


def width(figures: Seen) -> float:
    return figures.lat.quantile(0.99) / figures.lat.quantile(0.5)


def test_reads_are_narrow_at_depth_1_and_wide_at_16(trial: Trial) -> None:
    # Published: 10 to 9 us, and 41 to 25.
    assert width(seen(trial, "randread", 1, 1)) < 1.15
    assert width(seen(trial, "randread", 4, 4)) == pytest.approx(41 / 25, rel=0.15)


@pytest.mark.parametrize("rw", ["randread", "randwrite"])
def test_tails_grow_with_depth(trial: Trial, rw: str) -> None:
    tails = [
        seen(trial, rw, threads, depth).lat.quantile(0.999) for threads, depth in ((1, 1), (4, 4), (8, 4))
    ]
    assert tails[0] < tails[1] < tails[2]


def test_random_reads_are_as_fast_as_reads_in_order(trial: Trial) -> None:
    scattered, ordered = (seen(trial, rw, 4, 4).iops for rw in ("randread", "read"))
    assert scattered == pytest.approx(ordered, rel=0.05)


def test_requests_for_one_chunk_are_served_one_at_a_time(trial: Trial) -> None:
    apart = seen(trial, "randread", 4, 4, ios=100_000)
    one = seen(trial, "randread", 4, 4, ios=100_000, more="size=4k\ntime_based=1\nruntime=200ms\n")
    assert one.iops < 0.6 * apart.iops
    assert one.lat.mean > 1.7 * apart.lat.mean


def test_tiny_reads_reach_a_fifth_of_the_bandwidth_at_any_depth(trial: Trial) -> None:
    most = seen(trial, "randread", 4, 8, size=65536, ios=50_000).rate_Bps
    for depth in (4, 16, 32):
        assert seen(trial, "randread", 4, depth, size=512).rate_Bps < 0.22 * most


def test_misaligned_reads_are_slower(trial: Trial) -> None:
    aligned, misaligned = (seen(trial, "randread", 4, 4, more=more).iops for more in ("", "offset=2k\n"))
    assert misaligned < 0.6 * aligned


def test_writes_after_writes_cost_no_collection(trial: Trial) -> None:
    first, later = (
        seen(trial, "randwrite", 4, 4, ios=ios, more=f"ramp_time={ramp}ms\n").iops
        for ios, ramp in ((200_000, 10), (200_000, 2000))
    )
    assert later == pytest.approx(first, rel=0.01)


def test_single_reads_of_flash_have_two_speeds(trial: Trial) -> None:
    jobs = loads.plain("randread", 4096, threads=1, depth=1, ios=400_000, polled=True)
    lat = trial.seen(jobs, MICRON, LINUX, clat=True, state="filled").lat
    published = {0.1: 98, 0.9: 114, 0.99: 116, 0.999: 124, 0.9999: 131}
    for quantile, value in published.items():
        # Another host measured them, so that only the shape is comparable.
        ratio = lat.quantile(quantile) / lat.quantile(0.5)
        assert ratio == pytest.approx(value / 101, rel=0.08), quantile
