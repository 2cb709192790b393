"""Traces made ready to be replayed: times, addresses and what waits for what, against rules written out plainly."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.errors import IogaugeError
from iogauge.schema import Addresses, Direction, Job, Pacing
from iogauge.traces.replay import placing, waiting
from iogauge.traces.replay.compiling import Compiled, compile_trace
from iogauge.traces.replay.placing import Region, place
from iogauge.traces.replay.source import Source
from tests.fast.traces import trace_samples as samples
from tests.fast.traces.trace_samples import REQUESTS, Request

LINES = """fio version 3 iolog
0 /dev/x add
3 /dev/x open
100 /dev/x read 0 4096
300 /dev/x write 8192 512
250 /dev/x read 4096 0
250 /dev/x read 5000 4096
900 /dev/x sync 0 0
1000 /dev/y datasync 0 0
1500 /dev/y trim 1048576 4096
1600 /dev/x close
"""


def compiled(path: Path, **options: Any) -> tuple[Compiled, Any]:
    job = Job(name="x", read_iolog=str(path), **options)
    made = compile_trace(job, Source(path))
    return made, np.array(made.rows.array())


def iolog(path: Path, text: str = LINES) -> Path:
    path.write_text(text)
    return path


def traced(path: Path, requests: Sequence[tuple[int, int]]) -> Path:
    """Write a trace of requests: when each arrived and how long it took (-1: unknown), microseconds."""
    made = [Request(time, "read", 4096 * number, 4096, took) for number, (time, took) in enumerate(requests)]
    return samples.write(path, made)


def test_an_iolog_keeps_its_order_and_its_times(tmp_path: Path) -> None:
    made, rows = compiled(iolog(tmp_path / "log"))
    # From the first request on; time that runs backwards stands still, and goes on from where it is.
    assert rows["due_ns"].tolist() == [0, 200_000, 200_000, 850_000, 950_000, 1_450_000]
    assert rows["kind"].tolist() == [0, 1, 0, 3, 4, 2]
    assert rows["offset_bytes"].tolist() == [0, 8192, 5000, 0, 0, 1_048_576]
    assert rows["length_bytes"].tolist() == [4096, 512, 4096, 0, 0, 4096]
    assert rows["target"].tolist() == [0, 0, 0, 0, 1, 1]
    assert (made.devices, made.ends) == (["/dev/x", "/dev/y"], {0: 9096, 1: 1_052_672})
    assert (made.empty, made.backwards, made.granularity, made.depth) == (1, 1, 8, 0)
    assert made.sizes == {
        Direction.READ: (4096, 4096), Direction.WRITE: (512, 512), Direction.TRIM: (4096, 4096),
        Direction.SYNC: (0, 0),
    }  # fmt: skip


def test_times_and_offsets_are_scaled_and_directions_left_out(tmp_path: Path) -> None:
    _, rows = compiled(
        iolog(tmp_path / "log"),
        replay_time_scale=50,
        replay_scale=2,
        replay_align=512,
        replay_skip=(Direction.SYNC, Direction.WRITE),
    )
    assert rows["due_ns"].tolist() == [0, 400_000, 2_900_000]
    assert rows["offset_bytes"].tolist() == [0, 2048, 524_288]
    assert rows["length_bytes"].tolist() == [4096, 4096, 4096]


def test_the_waits_of_version_2_are_not_scaled(tmp_path: Path) -> None:
    text = "fio version 2 iolog\n/x add\n/x open\n/x read 0 512\n/x wait 3 0\n/x read 512 512\n/x close\n"
    _, rows = compiled(iolog(tmp_path / "log", text), replay_time_scale=50)
    assert rows["due_ns"].tolist() == [0, 3_000_000]


def test_blktrace_rounds_sizes_to_the_alignment(tmp_path: Path) -> None:
    path = tmp_path / "sda.blktrace.0"
    path.write_bytes(samples.blktrace(REQUESTS)[0])
    _, rows = compiled(path, replay_align=4096)
    assert rows["length_bytes"].tolist() == [4096, 65536, 4096, 4096]


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(-1, 200)), min_size=1, max_size=40),
    st.integers(1, 7),
    st.booleans(),
)
def test_what_waits_for_what(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int]], piece: int, think: bool
) -> None:
    path = tmp_path_factory.mktemp("t") / "t"
    times = np.cumsum([gap for gap, _ in steps]).tolist()
    requests = [(time, took) for time, (_, took) in zip(times, steps, strict=True)]
    traced(path, requests)
    if all(took < 0 for _, took in requests):
        with pytest.raises(IogaugeError, match="does not say when requests completed"):
            compiled(path, replay_pacing=Pacing.THINK)
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waiting, "_PIECE", piece)
        made, rows = compiled(path, replay_pacing=Pacing.THINK if think else Pacing.DEPENDENT)
    done = [time + took if took >= 0 else None for time, took in requests]
    before: set[int] = set()
    depth = 0
    for number, (time, _) in enumerate(requests):
        waits = {other for other in range(number) if done[other] is not None and (done[other] or 0) <= time}
        depth = max(depth, number + 1 - len(waits))
        mine = waits - before
        assert bool(rows["waits"][number]) == bool(mine)
        assert all(rows["needed_after"][other] == number - other for other in mine)
        latest = max([done[other] or 0 for other in waits], default=times[0])
        start = time - times[0]
        assert rows["due_ns"][number] == 1000 * (time - latest if think else start)
        before = waits
    assert {n for n in range(len(rows)) if rows["needed_after"][n] == waiting.NEVER} == {
        *range(len(rows))
    } - before
    assert made.depth == depth


def placed(path: Path, addresses: Addresses, *lengths: int, turns: Sequence[int] = (0, 0)) -> Any:
    made, _ = compiled(path)
    regions = [Region(f"/dev/t{number}", 1 << 20, length) for number, length in enumerate(lengths)]
    place(made, regions, turns, addresses)
    return np.array(made.rows.array())


def test_devices_are_merged_onto_one_target_or_split_over_several(tmp_path: Path) -> None:
    path = iolog(tmp_path / "log")
    merged = placed(path, Addresses.KEEP, 2 << 20)
    assert merged["target"].tolist() == [0] * 6
    assert merged["offset_bytes"].tolist() == [1 << 20, (1 << 20) + 8192, (1 << 20) + 5000, 0, 0, 2 << 20]
    split = placed(path, Addresses.KEEP, 16384, 2 << 20, turns=(0, 1))
    assert split["target"].tolist() == [0, 0, 0, 0, 1, 1]


def test_addresses_beyond_the_end_are_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(IogaugeError) as refused:
        placed(iolog(tmp_path / "log"), Addresses.KEEP, 1 << 20)
    assert "4096 bytes at 1048576 lies beyond its end" in str(refused.value)
    assert "fold or fit the addresses (replay_addresses), divide them by 2 (replay_scale)" in (
        refused.value.hint or ""
    )


@pytest.mark.parametrize("addresses", [Addresses.FOLD, Addresses.FIT])
def test_folded_and_fitted_requests_lie_in_the_region_and_stay_aligned(
    addresses: Addresses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placing, "PIECE_ROWS", 7)
    rng = np.random.default_rng(1)
    made = [
        Request(number, "read", int(block) * 4096, int(size) * 4096, 1)
        for number, (block, size) in enumerate(
            zip(rng.integers(0, 1 << 28, 100), rng.integers(1, 9, 100), strict=True)
        )
    ]
    path = samples.write(tmp_path / "t", made)
    rows = placed(path, addresses, (1 << 20) + 100, turns=(0,))
    offset, length = rows["offset_bytes"] - (1 << 20), rows["length_bytes"]
    assert (offset + length <= 1 << 20).all()
    assert not (offset % 4096).any()
    if addresses is Addresses.FOLD:
        fits = np.array([one.offset for one in made]) % (1 << 20) + length <= 1 << 20
        assert (offset[fits] == np.array([one.offset for one in made])[fits] % (1 << 20)).all()
    else:
        order = np.argsort([one.offset for one in made])
        ends = np.minimum(offset, (1 << 20) - 8 * 4096)[order]
        assert all(first <= second for first, second in pairwise(ends.tolist()))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("fio version 3 iolog\n0 /x add\n", "has no request"),
        ("fio version 3 iolog\n1 /x read 0 0\n", "has no request"),
        ("fio version 3 iolog\n1 /x read 0 4294963200\n", "cannot be issued"),
        ("fio version 3 iolog\n1 /x reed 0 4096\n", "line 2"),
        ("fio version 3 iolog\n1 /x read 0", "line 2"),
        ("fio version 1 iolog\n", "line 1"),
        ("nothing that is known\n", "not recognised"),
        ("PAR1 and then nothing", "is not a trace"),
    ],
)
def test_what_cannot_be_replayed_is_refused_with_a_remedy(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(IogaugeError, match=problem) as refused:
        compiled(iolog(tmp_path / "log", text))
    assert refused.value.hint
