"""fio's JSON and logs, imported: its own numbers, as exact as it gave them, and nothing that it did not give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.errors import IogaugeError
from iogauge.schema import Direction, Kind, Rw
from iogauge.stats.histogram import Histogram
from iogauge.store.imported import ImportedStep, read_foreign
from iogauge.store.imported.histograms import BUCKETS, encoded, fio_bounds, fio_bucket, fio_middle

SAMPLES = Path(__file__).parents[1] / "imports"
READ, WRITE = Direction.READ, Direction.WRITE


def step(path: Path) -> ImportedStep:
    (imported,) = read_foreign(path)
    return imported


def document(name: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((SAMPLES / name).read_text())
    return result


def written(folder: Path, result: object, *, name: str = "result.json") -> Path:
    path = folder / name
    path.write_text(result if isinstance(result, str) else json.dumps(result))
    return path


def test_a_latency_of_other_samples_takes_no_percentiles_from_its_sibling(tmp_path: Path) -> None:
    result = document("fio-sync.json")
    job = next(job for job in result["jobs"] if job["read"]["total_ios"])
    job["read"]["lat_ns"]["N"] = 2
    imported = step(written(tmp_path, result))
    latencies = next(row for row in imported.rows if READ in row.figures).figures[READ].latencies
    assert latencies[Kind.CLAT].quantiles
    assert (latencies[Kind.LAT].count, latencies[Kind.LAT].quantiles, latencies[Kind.LAT].histogram) == (
        2,
        (),
        None,
    )
    assert any("clat's percentiles are not taken for lat" in warning for warning in imported.warnings)


@pytest.mark.parametrize("name", ["fio.json", "fio-plus.json", "fio-sync.json"])
def test_every_figure_is_fios(name: str) -> None:
    imported = step(SAMPLES / name)
    assert (imported.tool, imported.version) == ("fio", "fio-3.33")
    jobs = document(name)["jobs"]
    assert [row.name for row in imported.rows] == [job["jobname"] for job in jobs]
    for row, job in zip(imported.rows, jobs, strict=True):
        for direction in (READ, WRITE):
            theirs = job[direction.value]
            assert (direction in row.figures) == bool(theirs["total_ios"])
            if direction not in row.figures:
                continue
            ours = row.figures[direction]
            assert (ours.ios, ours.bytes) == (theirs["total_ios"], theirs["io_bytes"])
            assert (ours.iops, ours.rate_Bps) == (theirs["iops"], theirs["bw_bytes"])
            for kind, key in ((Kind.LAT, "lat_ns"), (Kind.CLAT, "clat_ns"), (Kind.SLAT, "slat_ns")):
                if theirs[key]["N"] and "percentile" in theirs[key]:
                    latency = ours.latencies[kind]
                    published = {f"{100 * quantile.q:f}": quantile.value_ns for quantile in latency.quantiles}
                    assert published == theirs[key]["percentile"]
                    assert (latency.mean_ns, latency.max_ns) == (theirs[key]["mean"], theirs[key]["max"])


def test_percentiles_alone_make_no_histogram() -> None:
    latency = step(SAMPLES / "fio.json").rows[0].figures[READ].latency
    assert latency is not None
    assert latency.histogram is None
    assert all(
        quantile.low_ns <= quantile.value_ns <= quantile.high_ns and not quantile.exact
        for quantile in latency.quantiles
    )


def test_bins_are_a_histogram_with_fios_percentiles_and_exact_extremes() -> None:
    for row in step(SAMPLES / "fio-plus.json").rows:
        for figures in row.figures.values():
            latency = figures.latency
            assert latency is not None
            assert latency.histogram is not None
            histogram = Histogram.decode(latency.histogram, latency.exact)
            assert histogram.count == latency.count == figures.ios
            assert (histogram.max, histogram.min) == (latency.max_ns, latency.min_ns)
            assert histogram.mean == pytest.approx(latency.mean_ns, rel=1e-9)
            for published in latency.quantiles:
                assert published.low_ns <= histogram.quantile(published.q) <= published.high_ns + 1
                assert histogram.quantile(published.q) == pytest.approx(published.value_ns, rel=1e-3)


def test_the_jobs_are_fios() -> None:
    jobs = step(SAMPLES / "fio-plus.json").jobs
    assert jobs is not None
    reader, writer = jobs.jobs
    assert (reader.rw, reader.iodepth, reader.norandommap, reader.direct) == (Rw.RANDREAD, 4, True, True)
    assert (writer.rw, writer.numjobs, writer.new_group, writer.rate_iops.write) == (
        Rw.RANDWRITE,
        2,
        True,
        500,
    )


def test_without_lat_percentiles_clat_is_said_to_be_clat(tmp_path: Path) -> None:
    result = document("fio.json")
    for job in result["jobs"]:
        for direction in ("read", "write"):
            job[direction]["lat_ns"].pop("percentile", None)
    imported = step(written(tmp_path, result))
    assert any("fio's percentiles are of clat" in warning for warning in imported.warnings)
    figures = imported.rows[0].figures[READ]
    assert figures.latencies[Kind.LAT].quantiles == ()
    assert figures.latencies[Kind.CLAT].quantiles


def test_where_submitting_is_all_clat_is_lat() -> None:
    imported = step(SAMPLES / "fio-sync.json")
    assert imported.warnings == ()
    lat, clat = (imported.rows[0].figures[READ].latencies[kind] for kind in (Kind.LAT, Kind.CLAT))
    assert lat.histogram == clat.histogram
    assert lat.mean_ns != clat.mean_ns
    assert Kind.SLAT not in imported.rows[0].figures[READ].latencies


def test_a_rate_is_warned_of() -> None:
    assert any("with a rate" in warning for warning in step(SAMPLES / "fio-plus.json").warnings)


def test_failures_are_told(tmp_path: Path) -> None:
    result = document("fio-sync.json")
    result["jobs"][0] |= {"error": 5, "total_err": 3}
    assert step(written(tmp_path, result)).warnings == (
        "sync: 3 I/Os failed",
        "sync: 5 is the error that it ended with",
    )


def test_what_fio_prints_around_its_json_is_left_out(tmp_path: Path) -> None:
    text = (SAMPLES / "fio.json").read_text()
    first = document("fio.json")
    first["jobs"][0]["jobname"] = "earlier"
    # One document for every --status-interval; the last one is of the whole run. Messages come where they happen.
    before, between = "fio: job startup hung? exiting.", "fio: error calculating latency percentiles"
    result = f"{before}\n{json.dumps(first)}\n{between}\n{json.dumps(first)}\n{between}\n{text}\nfio: done\n"
    imported = step(written(tmp_path, result))
    assert [row.name for row in imported.rows] == ["reader", "writer"]
    said = f"what fio printed beside its JSON was left out: {before}; {between}; fio: done"
    assert said in imported.warnings


def test_an_entry_that_fio_left_empty_is_told_of(tmp_path: Path) -> None:
    result = document("fio.json")
    del result["jobs"][1]["jobname"]
    imported = step(written(tmp_path, result))
    assert [row.name for row in imported.rows] == ["reader"]
    assert any("several groups as one" in warning for warning in imported.warnings)


def test_clones_reported_apart_are_one_section(tmp_path: Path) -> None:
    result = document("fio-sync.json")
    result["jobs"][0]["job options"]["numjobs"] = "2"
    result["jobs"] = [result["jobs"][0], result["jobs"][0]]
    imported = step(written(tmp_path, result))
    assert imported.jobs is not None
    assert [job.numjobs for job in imported.jobs.jobs] == [2]
    assert [row.section for row in imported.rows] == [0, 0]


def test_jobs_that_iogauge_does_not_know_are_no_error(tmp_path: Path) -> None:
    result = document("fio-sync.json")
    result["jobs"][0]["job options"]["serialize_overlap"] = "1"
    imported = step(written(tmp_path, result))
    assert imported.jobs is None
    assert any("serialize_overlap" in warning for warning in imported.warnings)
    assert imported.options["serialize_overlap"] == "1"


def test_a_percentile_that_its_key_does_not_tell_is_left_out(tmp_path: Path) -> None:
    result = document("fio-sync.json")
    result["jobs"][0]["read"]["clat_ns"]["percentile"]["100.000000"] = 5
    imported = step(written(tmp_path, result))
    latency = imported.rows[0].figures[READ].latency
    assert latency is not None
    assert max(quantile.q for quantile in latency.quantiles) < 1
    assert any("100.000000" in warning for warning in imported.warnings)


@pytest.mark.parametrize("name", ["fio-sync.json", "fio-plus.json"])
def test_a_file_that_ends_early_is_damaged(tmp_path: Path, name: str) -> None:
    text = (SAMPLES / name).read_text()
    for cut in range(20, len(text) - 3, len(text) // 40):
        with pytest.raises(IogaugeError, match=r"not valid JSON|no result") as caught:
            read_foreign(written(tmp_path, text[:cut]))
        assert caught.value.hint


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("total_ios", -1), ("total_ios", "many"), ("total_ios", 1.5), ("total_ios", True), ("total_ios", None),
        ("io_bytes", 1e300), ("iops", []), ("lat_ns", 3), ("clat_ns", {"N": 1, "percentile": []}),
        ("clat_ns", {"N": 1, "percentile": {"x": 1}}), ("clat_ns", {"N": 1, "percentile": {"150.0": 1}}),
        ("clat_ns", {"N": 1, "percentile": {"NaN": 1}}), ("clat_ns", {"N": 1, "percentile": {"1e999999999": 1}}),
        ("clat_ns", {"N": 1, "bins": {"x": 1}}), ("clat_ns", {"N": 1, "bins": {"5": 2**63}}),
        ("clat_ns", {"N": 1, "bins": {"5": 2**62, "6": 2**62}}), ("clat_ns", {"N": 1, "mean": "x"}),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_is_named(tmp_path: Path, key: str, value: object) -> None:
    result = document("fio-sync.json")
    result["jobs"][0]["read"][key] = value
    with pytest.raises(IogaugeError, match=r"result\.json: sync: read"):
        read_foreign(written(tmp_path, result))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    paths = [path] if path else []
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            paths += places(inner, (*path, key))
    return paths


SMALL = document("fio.json")
PLACES = places(SMALL)


@given(st.sampled_from(PLACES), JSON)
def test_whatever_stands_anywhere_is_read_or_refused(
    tmp_path_factory, place: tuple[Any, ...], value: object
) -> None:
    result = json.loads(json.dumps(SMALL))
    holder = result
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(result))
    try:
        assert read_foreign(path)
    except IogaugeError as error:
        assert error.hint  # noqa: PT017 (either outcome is right)


@given(st.binary(max_size=400) | st.text(max_size=200).map(lambda text: f'{{"fio version": {text}'.encode()))
def test_any_bytes_are_refused_without_a_traceback(tmp_path_factory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.bin"
    path.write_bytes(data)
    with pytest.raises(IogaugeError):
        read_foreign(path)


def test_no_file_and_no_result(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(IogaugeError, match=r"missing: No such file|is not a file"):
            read_foreign(path)
    with pytest.raises(IogaugeError, match="is not a result of fio or DiskSpd") as caught:
        read_foreign(written(tmp_path, '{"something": 1}'))
    assert "json+" in str(caught.value.hint)
    with pytest.raises(IogaugeError):
        read_foreign(written(tmp_path, '{"fio version": ' + "[" * 100_000))


# --- fio's buckets -----------------------------------------------------------------------------------------


@given(st.integers(0, 2**34))
def test_a_bucket_holds_its_middle(value_ns: int) -> None:
    low, high = fio_bounds(value_ns)
    middle = fio_middle(fio_bucket(value_ns))
    assert low <= value_ns <= high
    if fio_bucket(value_ns) < BUCKETS - 1:
        assert low <= middle <= high
    assert high - low <= max(value_ns // 64, 0)


@given(st.dictionaries(st.integers(0, 2**45), st.integers(1, 2**40), min_size=1, max_size=9))
def test_encoding_keeps_every_count(counts: dict[int, int]) -> None:
    assert Histogram.decode(encoded(counts)).count == sum(counts.values())


def test_more_samples_than_there_can_be_are_refused() -> None:
    assert Histogram.decode(encoded({2**70: 2**62})).count == 2**62
    with pytest.raises(IogaugeError, match="more samples than there can be"):
        encoded({100: 2**62, 101: 1})


# --- Logs --------------------------------------------------------------------------------------------------


def with_logs(folder: Path, options: dict[str, str], logs: dict[str, str]) -> ImportedStep:
    result = document("fio-sync.json")
    result["jobs"][0]["job options"] |= options
    for name, text in logs.items():
        (folder / name).write_text(text)
    return step(written(folder, result))


def seen(imported: ImportedStep, direction: Direction = READ) -> list[tuple[int, int]]:
    return [
        (interval.tallies[direction].ios, interval.tallies[direction].bytes)
        for interval in imported.intervals
    ]


def test_rates_of_windows_are_intervals_and_a_window_without_a_line_is_zero(tmp_path: Path) -> None:
    options = {"write_iops_log": "x", "write_bw_log": "x", "log_avg_msec": "500"}
    logs = {
        "x_iops.1.log": "500, 100, 0, 0, 0\n1501, 200, 0, 0, 0\n2000, 50, 0, 0, 0\n",
        "x_bw.1.log": "500, 400, 0, 0, 0\n1501, 800, 0, 0, 0\n2000, 200, 0, 0, 0\n",
    }
    imported = with_logs(tmp_path, options, logs)
    assert seen(imported) == [(50, 204_800), (0, 0), (100, 409_600), (25, 102_400)]
    assert [(interval.start_ns, interval.end_ns) for interval in imported.intervals][1] == (
        500_000_000,
        1_000_000_000,
    )


def test_one_log_and_the_block_size_give_the_other(tmp_path: Path) -> None:
    imported = with_logs(
        tmp_path, {"write_bw_log": "x", "log_avg_msec": "1000"}, {"x_bw.1.log": "1000, 400, 0, 0, 0\n"}
    )
    assert seen(imported) == [(100, 409_600)]
    options = {"write_bw_log": "x", "log_avg_msec": "1000", "bssplit": "4k/50:8k/50"}
    assert with_logs(tmp_path, options, {}).intervals == (), "how many I/Os those were is not known"


def test_threads_add_up_until_the_first_has_ended(tmp_path: Path) -> None:
    options = {"write_iops_log": "x", "log_avg_msec": "1000", "numjobs": "2"}
    logs = {"x_iops.1.log": "1000, 10, 0, 0, 0\n2000, 10, 0, 0, 0\n", "x_iops.2.log": "1000, 20, 0, 0, 0\n"}
    assert [ios for ios, _ in seen(with_logs(tmp_path, options, logs))] == [30]


def test_a_histogram_log_gives_clat_of_each_window(tmp_path: Path) -> None:
    counts = [0] * BUCKETS
    counts[fio_bucket(100)], counts[fio_bucket(50_000)] = 3, 2
    line = ", ".join(map(str, [1000, 0, 4096, *counts]))
    imported = with_logs(
        tmp_path, {"write_hist_log": "x", "log_hist_msec": "1000"}, {"x_clat_hist.1.log": f"{line}\n"}
    )
    assert seen(imported) == [(5, 5 * 4096)]
    histogram = Histogram.decode(imported.intervals[0].tallies[READ].histograms[Kind.CLAT])
    assert histogram.count == 5
    assert fio_bounds(50_000)[0] <= histogram.max <= fio_bounds(50_000)[1] + 64


def test_a_latency_log_of_every_request_gives_lat(tmp_path: Path) -> None:
    log = "10, 70000, 0, 4096, 0\n990, 80000, 0, 4096, 0\n1000, 90000, 1, 8192, 0\n"
    imported = with_logs(tmp_path, {"write_lat_log": "x"}, {"x_lat.1.log": log})
    assert seen(imported) == [(2, 8192), (0, 0)]
    assert seen(imported, WRITE) == [(0, 0), (1, 8192)]
    assert Histogram.decode(imported.intervals[0].tallies[READ].histograms[Kind.LAT]).count == 2


def test_means_of_latency_are_no_distribution(tmp_path: Path) -> None:
    imported = with_logs(
        tmp_path, {"write_lat_log": "x", "log_avg_msec": "500"}, {"x_lat.1.log": "500, 70000, 0, 0, 0\n"}
    )
    assert imported.intervals == ()


@pytest.mark.parametrize(
    "line",
    ["x", "1000, 5", "1000, 5, 7, 0", "1000, -5, 0, 0", "1e3, 5, 0, 0", f"{10**17}, 5, 0, 0", f"{2**70},1,0"],
)
def test_a_damaged_log_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(IogaugeError, match=r"x_iops\.1\.log"):
        with_logs(tmp_path, {"write_iops_log": "x", "log_avg_msec": "500"}, {"x_iops.1.log": line + "\n"})


def test_a_line_from_long_after_fio_s_end_is_refused(tmp_path: Path) -> None:
    options = {"write_iops_log": "x", "log_avg_msec": "500"}
    with pytest.raises(
        IogaugeError, match=r"x_iops\.1\.log: a line has the time 200000 s, and fio ran for 1 s"
    ) as caught:
        with_logs(tmp_path, options, {"x_iops.1.log": "500, 5, 0, 0\n200000000, 5, 0, 0\n"})
    assert "log_unix_epoch" in caught.value.hint


def status(ios: int, runtime_ms: int, bins: dict[str, int], *, moved: int | None = None) -> str:
    """One report of a job that reads, as --status-interval gives it."""
    read = {
        "total_ios": ios,
        "io_bytes": 4096 * ios if moved is None else moved,
        "iops": 1,
        "bw_bytes": 4096,
        "runtime": runtime_ms,
        "lat_ns": {"N": sum(bins.values()), "mean": 100, "min": 100, "max": 100, "bins": bins},
    }
    job = {"jobname": "a", "job options": {"rw": "read", "filename": "t"}, "read": read}
    return json.dumps({"fio version": "fio-3.33", "jobs": [job]}, indent=1) + "\n"


def test_reports_of_the_status_are_intervals_of_what_came_between(tmp_path: Path) -> None:
    reports = [
        status(50, 90, {}),  # the ramp: I/Os, and no latencies
        status(90, 190, {}),
        status(3, 100, {"100": 2, "612": 1}),
        status(3, 200, {"100": 2, "612": 1}),  # nothing completed
        status(7, 300, {"100": 4, "612": 2, "700": 1}),
        status(7, 300, {"100": 4, "612": 2, "700": 1}),  # it had ended
    ]
    (tmp_path / "a.json").write_text("".join(reports))
    (step,) = read_foreign(tmp_path / "a.json")
    assert step.warnings == ()
    assert [
        (interval.index, interval.start_ns // 10**6, interval.end_ns // 10**6) for interval in step.intervals
    ] == [
        (2, 0, 100),
        (3, 100, 200),
        (4, 200, 300),
    ]
    reads = [interval.tallies[Direction.READ] for interval in step.intervals]
    assert [(tally.ios, tally.bytes) for tally in reads] == [(3, 12288), (0, 0), (4, 16384)]
    assert [Kind.LAT in tally.histograms for tally in reads] == [True, False, True]
    last = Histogram.decode(reads[2].histograms[Kind.LAT])
    assert (last.count, last.quantile(0.5), last.quantile(0.75)) == (4, 100, 612)
    assert step.rows[0].figures[Direction.READ].ios == 7


def test_what_comes_while_fio_reports_is_in_the_interval_of_that_time(tmp_path: Path) -> None:
    reports = [status(3, 100, {"100": 3}), status(7, 200, {"100": 7}), status(9, 200, {"100": 9})]
    (tmp_path / "a.json").write_text("".join(reports))
    (step,) = read_foreign(tmp_path / "a.json")
    reads = [(interval.index, interval.tallies[Direction.READ].ios) for interval in step.intervals]
    assert reads == [(0, 3), (1, 6)]


def test_what_is_taken_back_at_the_end_of_a_ramp_is_in_no_interval(tmp_path: Path) -> None:
    reports = [
        status(9, 50, {"100": 1, "612": 2}, moved=90_000),  # one worker of the row has begun, another has not
        status(11, 150, {"100": 5, "612": 1}),
        status(20, 250, {"100": 12, "612": 8}),
    ]
    (tmp_path / "a.json").write_text("".join(reports))
    (step,) = read_foreign(tmp_path / "a.json")
    reads = [interval.tallies[Direction.READ] for interval in step.intervals]
    assert [tally.ios for tally in reads] == [2, 4, 14]
    assert sum(tally.bytes for tally in reads) == 20 * 4096


@pytest.mark.parametrize(
    "reports",
    [
        [status(7, 300, {"100": 7})],
        [status(3, 100, {}), status(7, 300, {})],
        [status(3, 100, {"100": 3}).replace('"jobname": "a"', '"jobname": "b"'), status(7, 300, {"100": 7})],
    ],
)
def test_without_several_reports_of_the_same_rows_with_counts_there_are_no_intervals(
    reports: list[str], tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text("".join(reports))
    (step,) = read_foreign(tmp_path / "a.json")
    assert step.intervals == ()


def test_a_report_that_is_damaged_is_an_error(tmp_path: Path) -> None:
    broken = status(3, 100, {"100": 3}).replace('"100": 3', '"100": -3')
    (tmp_path / "a.json").write_text(broken + status(7, 300, {"100": 7}))
    with pytest.raises(IogaugeError, match=r"a: read: lat_ns: the bin 100 is not a number"):
        read_foreign(tmp_path / "a.json")


def test_syncs_have_their_latencies(tmp_path: Path) -> None:
    text = json.loads(status(4, 1000, {"100": 4}))
    text["jobs"][0]["sync"] = {
        "total_ios": 0,
        "lat_ns": {"N": 2, "mean": 700, "min": 650, "max": 750, "bins": {"652": 1, "748": 1}},
    }
    (tmp_path / "a.json").write_text(json.dumps(text))
    (step,) = read_foreign(tmp_path / "a.json")
    syncs = step.rows[0].figures[Direction.SYNC]
    assert (syncs.ios, syncs.bytes, syncs.iops) == (2, 0, 2.0)
    assert syncs.latencies[Kind.LAT].histogram is not None
