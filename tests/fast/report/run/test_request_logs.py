"""fio's logs with a line for every request, made of a run's spill."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from iogauge.errors import IogaugeError
from iogauge.execution.log.spill import LOG_RECORD, NO_INSTANT, Spill
from iogauge.report.run import fio_logs, request_logs
from iogauge.schema import Job, StagePlan
from iogauge.store.outputs import Claims
from tests import report_records

MS = 1_000_000


class Pieces(Spill):
    """A spill that has these requests."""

    def __init__(self, *pieces: list[dict[str, int]]) -> None:
        super().__init__(Path("pieces"))
        self.pieces = pieces

    def records(self) -> Iterator[np.ndarray]:
        for piece in self.pieces:
            records = np.zeros(len(piece), dtype=LOG_RECORD)
            for record, fields in zip(records, piece, strict=True):
                values = {"length_bytes": 4096, "result": 4096, "issued_ns": NO_INSTANT} | fields
                for name, value in values.items():
                    record[name] = value
            yield records

    def read_share(self) -> float:
        return 0.5


def job(**fields: object) -> Job:
    return Job.model_validate({"name": "reader", "rw": "randrw", "ioengine": "libaio", **fields})


def convert(directory: Path, spill: Spill, *jobs: Job) -> dict[str, list[str]]:
    """Return the lines of every log of the jobs, by its name."""
    file, plan = report_records.job_file(*jobs), report_records.plan(jobs)
    logs = fio_logs.claim(file, Claims(), names=fio_logs.request_names, directory=directory)
    request_logs.convert(spill, jobs=file, plan=plan, parquet=None, logs=logs)
    return {path.name: path.read_text().splitlines() for path in directory.iterdir()}


def test_every_request_has_its_line(tmp_path: Path) -> None:
    first = [
        {"start_ns": 5 * MS, "issued_ns": 5 * MS + 300, "done_ns": 5 * MS + 4_300},
        {"start_ns": 8 * MS, "done_ns": 9 * MS, "result": -5},
        {"start_ns": 8 * MS, "done_ns": 9 * MS, "ramp": 1},
        {"start_ns": 8 * MS, "done_ns": 9 * MS, "row": 1},
        {"start_ns": 8 * MS, "done_ns": 9 * MS, "direction": 3, "length_bytes": 0, "result": 0},
    ]
    second = [{"start_ns": 7 * MS, "done_ns": 7 * MS + 2_048, "direction": 1, "length_bytes": 8192}]
    logs = convert(
        tmp_path, Pieces(first, [], second), job(write_lat_log="out", write_bw_log="out", write_iops_log="o")
    )
    assert logs == {
        "out_lat.1.log": ["5, 4300, 0, 4096, 0", "7, 2048, 1, 8192, 0"],
        "out_clat.1.log": ["5, 4000, 0, 4096, 0", "7, 2048, 1, 8192, 0"],
        "out_slat.1.log": ["5, 300, 0, 4096, 0"],
        "out_bw.1.log": ["5, 1024000, 0, 4096, 0", "7, 4000000, 1, 8192, 0"],
        "o_iops.1.log": ["5, 1, 0, 4096, 0", "7, 1, 1, 8192, 0"],
    }


def test_time_counts_from_the_end_of_the_ramp(tmp_path: Path) -> None:
    file = report_records.job_file(job(write_iops_log="out"))
    plan = report_records.plan(file.jobs)
    (worker,) = plan.stages[0].workers
    delayed = worker.model_copy(update={"start_delay_ns": 500 * MS, "ramp_ns": 1_500 * MS})
    plan = plan.model_copy(update={"stages": (StagePlan(workers=(delayed,)),)})
    logs = fio_logs.claim(file, Claims(), directory=tmp_path)
    spill = Pieces([{"start_ns": 2_005 * MS, "done_ns": 2_006 * MS}])
    request_logs.convert(spill, jobs=file, plan=plan, parquet=None, logs=logs)
    assert (tmp_path / "out_iops.1.log").read_text() == "6, 1, 0, 4096, 0\n"


def test_jobs_without_logs_of_their_own_share_one(tmp_path: Path) -> None:
    jobs = [job(name=name, write_iops_log="all", per_job_logs=False) for name in ("a", "b")]
    pieces = [{"start_ns": n * MS, "done_ns": n * MS, "row": n} for n in range(2)]
    logs = convert(tmp_path, Pieces(pieces), *jobs)
    assert logs == {"all_iops.log": ["0, 1, 0, 4096, 0", "1, 1, 0, 4096, 0"]}


@pytest.mark.parametrize(
    ("left_out", "empty"),
    [
        (["bw_measurement"], ["bw"]),
        (["bw_measurement", "lat", "clat"], ["bw"]),
        (["lat", "clat", "slat"], []),
        (["bw_measurement", "clat", "slat"], ["bw", "iops"]),
    ],
)
def test_what_a_job_leaves_out_is_empty(tmp_path: Path, left_out: list[str], empty: list[str]) -> None:
    logged = job(write_bw_log="out", write_iops_log="out", **{f"disable_{name}": True for name in left_out})
    logs = convert(tmp_path, Pieces([{"done_ns": 1}]), logged)
    assert [name for name in ("bw", "iops") if not logs[f"out_{name}.1.log"]] == empty


def test_rows_have_their_own_files_and_windows_none(tmp_path: Path) -> None:
    jobs = [job(name=name, write_iops_log=name) for name in ("a", "b")]
    jobs.append(job(name="c", write_iops_log="c", log_avg_ns=1000 * MS))
    pieces = [{"start_ns": n * MS, "done_ns": n * MS, "row": n, "worker": n} for n in range(3)]
    logs = convert(tmp_path, Pieces(pieces), *jobs)
    assert logs == {"a_iops.1.log": ["0, 1, 0, 4096, 0"], "b_iops.2.log": ["1, 1, 0, 4096, 0"]}


def test_trouble_leaves_no_log(tmp_path: Path) -> None:
    class Damaged(Pieces):
        def records(self) -> Iterator[np.ndarray]:
            yield from super().records()
            raise IogaugeError("damaged")

    with pytest.raises(IogaugeError, match="damaged"):
        convert(tmp_path, Damaged([{"done_ns": 1}]), job(write_iops_log="out"))
    assert list(tmp_path.iterdir()) == []


def test_requests_are_parted_by_stage_and_row_and_keep_their_order() -> None:
    keys = [(1, 0), (0, 7), (1, 0), (0, 2), (0, 7)]
    records = np.zeros(len(keys), dtype=LOG_RECORD)
    records["stage"], records["row"] = zip(*keys, strict=True)
    records["done_ns"] = range(len(keys))
    parts = {key: part["done_ns"].tolist() for key, part in request_logs._by_row(records)}
    assert parts == {(0, 2): [3], (0, 7): [1, 4], (1, 0): [0, 2]}
    assert list(request_logs._by_row(records[:0])) == []
