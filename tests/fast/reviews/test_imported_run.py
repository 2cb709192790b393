"""A record of a run made of fio's json+: judged and shown like a run of iogauge."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.report.run import jsonplus, table
from iogauge.report.run.interval_stats import IntervalStats
from iogauge.reviews.imported_run import run_record
from iogauge.schema import Direction, RunRecord
from iogauge.stats.figures import step_figures
from iogauge.store.imported import ImportedStep, read_foreign

SAMPLES = Path(__file__).parents[1] / "imports"
FIO = json.loads((SAMPLES / "fio-plus.json").read_text())


def step(name: str = "fio-plus.json") -> ImportedStep:
    (result,) = read_foreign(SAMPLES / name)
    return result


def test_its_figures_are_those_of_fio() -> None:
    record = run_record(step())
    figures = step_figures(record, (), measured_job="reader", load_jobs="writer")
    reads, writes = FIO["jobs"][0]["read"], FIO["jobs"][1]["write"]
    assert figures.ios == reads["total_ios"]
    assert figures.iops == pytest.approx(reads["iops"], rel=1e-6)
    assert figures.pressure_Bps == pytest.approx(writes["bw_bytes"], rel=1e-3)
    assert figures.mean is not None
    assert figures.mean.value == pytest.approx(reads["lat_ns"]["mean"], rel=1e-6)
    for q, key in ((0.5, "50.000000"), (0.99, "99.000000")):
        quantile = figures.quantile(q)
        assert quantile is not None
        assert quantile.value == pytest.approx(reads["lat_ns"]["percentile"][key], rel=1e-3)


def test_it_is_a_record_like_any_other() -> None:
    record = run_record(step())
    assert RunRecord.model_validate_json(record.model_dump_json()) == record
    assert record.started_at == step().started_at
    stats = IntervalStats.over((), interval_ns=record.plan.interval_ns)
    shown = table.render(record, stats)
    assert "reader: randread, 4 KiB, libaio, direct, iodepth 4" in shown
    written = json.loads(jsonplus.render(record, stats, plus=True))
    ours, theirs = (document["jobs"][0]["read"]["lat_ns"] for document in (written, FIO))
    assert (ours["N"], ours["min"], ours["max"]) == (theirs["N"], theirs["min"], theirs["max"])
    assert sum(ours["bins"].values()) == theirs["N"]


def test_figures_that_fio_does_not_report_are_empty() -> None:
    record = run_record(step())
    assert (record.device_stats, record.ceiling, record.result.in_flight) == ((), None, ())
    (target,) = record.targets
    assert (target.path, target.kind, target.size_bytes) == ("/tmp/drive.bin", "file", 0)
    worker = record.result.workers[0]
    assert (worker.cpus, worker.depth) == ((), ())
    assert worker.user_ns == round(worker.end_ns * FIO["jobs"][0]["usr_cpu"] / 100)


def test_percentiles_alone_cannot_be_judged() -> None:
    with pytest.raises(IogaugeError, match="has no counts of lat") as caught:
        run_record(step("fio.json"))
    assert "json+" in str(caught.value.hint)


def test_unknown_jobs_cannot_be_judged() -> None:
    with pytest.raises(IogaugeError, match="verify is not supported"):
        run_record(replace(step(), jobs=None, warnings=("verify is not supported",)))


def test_more_rows_than_the_options_make_are_refused() -> None:
    result = step()
    with pytest.raises(IogaugeError, match=r"reported more rows of .* than its options make"):
        run_record(replace(result, rows=(*result.rows, result.rows[0])))


def test_clones_reported_apart_have_rows_of_their_own(tmp_path: Path) -> None:
    document = json.loads((SAMPLES / "fio-sync.json").read_text())
    document["jobs"][0]["job options"]["numjobs"] = "2"
    document["jobs"] *= 2
    path = tmp_path / "two.json"
    path.write_text(json.dumps(document))
    (result,) = read_foreign(path)
    record = run_record(result)
    assert [row.row for row in record.result.rows] == [0, 1]
    assert sum(row.tallies[Direction.READ].ios for row in record.result.rows) == 600
