"""Nothing in Python grows with the length of a run: everything that hears its intervals, over a long one."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path

from iogauge.cli.terminal.progress import Progress
from iogauge.execution.figures import OwnBytes
from iogauge.report.run.fio_logs import FioLogs, claim
from iogauge.report.run.interval_stats import IntervalStats
from iogauge.schema import Direction, Interval, Job
from iogauge.store.outputs import Claims
from tests import builders, report_records

SHORT_NS = 10_000_000
GROWTH_BYTES = 64 << 10
"""Twenty bytes an interval: less than the smallest object that could be kept of one."""


def test_listeners_do_not_grow(tmp_path: Path) -> None:
    # A window of an hour over intervals of 10 ms: what is held of it must not grow either.
    job = Job(
        name="x",
        write_lat_log=str(tmp_path / "l"),
        write_hist_log=str(tmp_path / "h"),
        log_avg_ns=3600 * 10**9,
    )
    job = job.model_copy(update={"log_hist_ns": 3600 * 10**9})
    plan = report_records.plan([job], interval_ns=SHORT_NS)
    file = report_records.job_file(job)
    logs = FioLogs(file, claim(file, Claims()))
    stats = IntervalStats(interval_ns=SHORT_NS)
    own = OwnBytes(plan, [builders.target("/tmp/drive.bin", device="sda")])
    tally = builders.tally({1_000: 50, 2_000: 50, 900_000: 1})

    def hear(progress: Progress, first: int, count: int) -> None:
        for index in range(first, first + count):
            interval = builders.interval(index, {Direction.READ: tally}, interval_ns=SHORT_NS)
            heard = Interval.model_validate_json(interval.model_dump_json())
            for listener in (logs.interval, stats.add, own.add, progress.interval):
                listener(heard)

    with Progress(title="t", plain=True, stream=io.StringIO(), clock=lambda: 0.0) as progress:
        progress.step("x", expected_s=None)
        hear(progress, 0, 200)
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            hear(progress, 200, 3_200)
            grown = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
    logs.close()
    assert grown < GROWTH_BYTES
    assert stats.iops(stage=0, row=0, direction=Direction.READ).samples == 3_400
    assert own.by_device() == {"sda": (3_400 * 101 * 8192, 0)}
