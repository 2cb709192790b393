"""The split of a mean lat by the device's counters, and every reason why it is unknown."""

from __future__ import annotations

from typing import Any

import pytest

from iogauge.execution.latency_split import OwnLatencies
from iogauge.schema import DeviceStat, Direction, Job, LatencySplit
from tests import builders, report_records

READ, WRITE = Direction.READ, Direction.WRITE
IOS = 10_000
BLOCK = 4096


def stat(**fields: Any) -> DeviceStat:
    defaults = dict.fromkeys(DeviceStat.model_fields, 0) | {
        "device": "vda", "read_ios": IOS, "read_bytes": IOS * BLOCK, "read_ns": IOS * 40_000,
    }  # fmt: skip
    return DeviceStat(**(defaults | fields))


def splits(
    *stats: DeviceStat,
    direct: bool = True,
    directions: dict[Direction, Any] | None = None,
    without_requests: tuple[str, ...] = (),
    ramps: tuple[bool, ...] = (False,),
    uncounted: tuple[str, ...] = (),
) -> tuple[LatencySplit, ...]:
    target = builders.target("/tmp/drive.bin", device="vda")
    run = report_records.record([Job(name="r", direct=direct)], [{}], target_facts=target)
    own = OwnLatencies(run.plan, run.targets, uncounted=uncounted)
    tallies = directions or {READ: builders.tally({50_000: IOS // len(ramps)}, block_bytes=BLOCK)}
    for index, ramp in enumerate(ramps):
        own.add(builders.interval(index, tallies).model_copy(update={"ramp": ramp}))
    return own.splits(stats, without_requests=without_requests)


def test_the_parts_add_up_to_the_mean() -> None:
    (split,) = splits(stat())
    assert (split.lat_ns, split.block_ns, split.outside_ns) == (50_000, 40_000, 10_000)
    assert (split.unknown, split.ramp, split.ios) == ("", False, IOS)


def test_a_ramp_is_in_both_and_named() -> None:
    (split,) = splits(stat(), ramps=(True, False))
    assert (split.ramp, split.ios, split.block_ns) == (True, IOS, 40_000)


def test_directions_are_apart() -> None:
    both = {
        READ: builders.tally({50_000: IOS}, block_bytes=BLOCK),
        WRITE: builders.tally({20_000: IOS}, block_bytes=BLOCK),
    }
    writes = {"write_ios": IOS, "write_bytes": IOS * BLOCK, "write_ns": IOS * 15_000}
    assert [split.block_ns for split in splits(stat(**writes), directions=both)] == [40_000, 15_000]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"read_ios": 2 * IOS}, "requests were split"),
        ({"read_ios": IOS // 2, "read_merges": IOS // 2}, "requests were merged"),
        ({"read_ios": IOS // 2}, "did not all reach the device"),
        ({"read_bytes": 2 * IOS * BLOCK}, "other programs used the device"),
        ({"read_ns": IOS * 60_000}, "more time than its requests took"),
    ],
)
def test_counters_that_do_not_tell(fields: dict[str, int], reason: str) -> None:
    (split,) = splits(stat(**fields))
    assert (split.block_ns, split.outside_ns) == (None, None)
    assert reason in split.unknown


def test_what_is_not_counted_is_unknown_and_not_zero() -> None:
    assert "switched off" in splits()[0].unknown
    assert "page cache" in splits(stat(), direct=False)[0].unknown
    assert "ticks" in splits(stat(read_ns=10**8), without_requests=("vda",))[0].unknown
    failed = {READ: builders.tally({50_000: IOS}, block_bytes=BLOCK, errors={5: 1})}
    assert "1 requests failed" in splits(stat(), directions=failed)[0].unknown


def test_a_count_of_ticks_is_a_mean_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.clock_getres", lambda _: 0.004)
    ticks = 2_500
    requests = 10**7
    tallies = {READ: builders.tally({2_000: requests}, block_bytes=BLOCK)}
    counted = stat(read_ios=requests, read_bytes=requests * BLOCK, read_ns=ticks * 4 * 10**6)
    (split,) = splits(counted, directions=tallies, without_requests=("vda",))
    assert (split.lat_ns, split.block_ns, split.outside_ns) == (2_000, 1_000, 1_000)
    assert split.error_ns == pytest.approx(1_000 * 1.96 / ticks**0.5)


def test_milliseconds_are_too_coarse_for_few_requests() -> None:
    few = {READ: builders.tally({50_000: 10}, block_bytes=BLOCK)}
    counted = stat(read_ios=10, read_bytes=10 * BLOCK, read_ns=10**6)
    assert "milliseconds" in splits(counted, directions=few)[0].unknown


def test_commands_that_the_kernel_does_not_count_have_no_split() -> None:
    (split,) = splits(stat(read_ios=0, read_bytes=0, read_ns=0), uncounted=("vda",))
    assert (split.block_ns, "does not count NVMe commands" in split.unknown) == (None, True)
