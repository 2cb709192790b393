"""Jobs fitted to traces: on drive models they have the latencies of a replay of the trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import iogauge
from iogauge.cli import main
from iogauge.library.traces.fitted import GOALS
from tests.fast.traces import fit_samples, trace_samples

COUNT = 30_000
MORE = {"closed": 120_000}
"""Its p99 is that of stalls, which hit several requests at a time, so fewer would leave it to chance."""
MODELS = ("p4800x", "p3700-800g")
MISSED = {("batches", "p4800x"): {"p99"}, ("closed", "p4800x"): {"p99"}}
"""What is beyond the goals: a replay issues batches that overlap from one thread, the jobs from several; and one
request in a hundred of a closed trace meets a stall, so that its p99 has a stall or none, by chance."""

AT_MOST = 1.35
"""No figure is further off than by this factor."""


@pytest.mark.parametrize("kind", [*fit_samples.OPEN, *fit_samples.CLOSED])
def test_a_fitted_job_has_the_latency_of_a_replay(kind: str, tmp_path: Path) -> None:
    trace = fit_samples.trace(kind, tmp_path, MORE.get(kind, COUNT))
    for model in MODELS:
        fit = iogauge.fit_trace(trace, tmp_path / "fitted.fio", model=model)
        missed = {one.name for one in fit.missed}
        assert missed == MISSED.get((kind, model), set()), (model, fit.latency)
        assert all(1 / AT_MOST < one.fitted / one.trace < AT_MOST for one in fit.missed), fit.latency
        assert fit.meets_goals == (not missed)
        assert fit.pacing == {"closed": "closed", "think": "think"}.get(kind, "timed")


@pytest.mark.parametrize("kind", ["mixed", "hot", "wandering", "bursts"])
def test_the_requests_are_like_the_traces(kind: str, tmp_path: Path) -> None:
    trace = fit_samples.trace(kind, tmp_path, COUNT)
    fit = iogauge.fit_trace(trace, tmp_path / "fitted.fio")
    for one in fit.properties:
        assert one.difference is not None
        assert abs(one.difference) < (0.02 if one.unit == "share" else 0.15), one
    assert fit.to_polars().columns == ["property", "unit", "trace", "fitted", "difference"]
    assert set(fit.latency) == set(GOALS)


@pytest.mark.parametrize("source", ["msr", "alibaba"])
def test_an_imported_trace_is_fitted(source: str, tmp_path: Path) -> None:
    mixed = [
        trace_samples.Request(
            1 + int(row["time_ns"]) // 1000, ("read", "write")[row["direction"]], int(row["offset_bytes"]),
            int(row["size_bytes"]), 100 + number % 7, number % 2
        )
        for number, row in enumerate(fit_samples.mixed(fit_samples.np.random.default_rng(2), 10_000))
    ]  # fmt: skip
    (tmp_path / "made").write_bytes(getattr(trace_samples, source)(mixed))
    trace = iogauge.import_trace(tmp_path / "made", tmp_path / "t", format=source)
    fit = iogauge.fit_trace(trace.path, tmp_path / "fitted.fio")
    assert fit.meets_goals, str(fit)


def test_the_same_trace_gives_the_same_bytes(tmp_path: Path) -> None:
    trace = fit_samples.trace("wandering", tmp_path, 5_000)
    fits = [iogauge.fit_trace(trace, tmp_path / "fitted.fio", seed=7) for _ in range(2)]
    assert str(fits[0]) == str(fits[1])
    assert (tmp_path / "fitted.fio").read_text() == fits[0].text == fits[1].text


@pytest.mark.parametrize("kind", ["batches", "think", "bursts"])
def test_the_command_prints_a_screen_and_writes_a_job(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    trace = fit_samples.trace(kind, tmp_path, 5_000)
    assert main(["trace", "fit", trace.name, "--output", "my job.fio"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].startswith("my job.fio: ")
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert err == "next: iogauge run --filename=TARGET 'my job.fio'\n"
    assert main(["run", "--filename=model:ram", "my job.fio"]) == 0
    assert "nothing completed" not in capsys.readouterr().out
    assert main(["trace", "fit", trace.name, "--output", "my job.fio", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [one["property"] for one in shown["properties"]][-3:] == ["p50", "p99", "p99.9"]


def test_a_trace_larger_than_the_model_is_scaled(tmp_path: Path) -> None:
    made = fit_samples.poisson(fit_samples.np.random.default_rng(1), 2_000)
    made["offset_bytes"] *= 1 << 11
    fit = iogauge.fit_trace(fit_samples.write(tmp_path / "t", made), tmp_path / "fitted.fio")
    assert "size=87" in fit.text
    assert "needs a target of 8.788 TB" in " ".join(str(fit).split())
    assert fit.latency[0.5].difference == pytest.approx(0, abs=0.05)


def test_a_region_beyond_the_models_end_is_moved_and_keeps_its_size(tmp_path: Path) -> None:
    made = fit_samples.poisson(fit_samples.np.random.default_rng(1), 2_000)
    made["offset_bytes"] = (3 << 40) + made["offset_bytes"] % (2 << 20)
    fit = iogauge.fit_trace(fit_samples.write(tmp_path / "t", made), tmp_path / "fitted.fio")
    assert f"offset={3 << 40}\nsize={(2 << 20) - 4096}\n" in fit.text
    (job,) = fit.result.record.jobs.jobs
    assert job.size is not None
    assert job.size.size_bytes == (2 << 20) - 4096
    assert job.offset.size_bytes + job.size.size_bytes <= fit.result.record.targets[0].size_bytes
    assert "needs a target of 3.299 TB; for p4800x its region" in " ".join(str(fit).split())


def test_a_slow_trace_keeps_its_rate(tmp_path: Path) -> None:
    made = fit_samples.slow(fit_samples.np.random.default_rng(1), 200)
    fit = iogauge.fit_trace(fit_samples.write(tmp_path / "t", made), tmp_path / "fitted.fio")
    assert fit.result.to_arrow().column("ios").to_pylist() == [200]
    assert fit.meets_goals, str(fit)


@pytest.mark.parametrize("count", [1, 3])
def test_a_few_requests_at_one_place_are_fitted(count: int, tmp_path: Path) -> None:
    made = fit_samples.rows(fit_samples.np.arange(count) * 1_000_000, fit_samples.READ, 1 << 20, 4096)
    fit = iogauge.fit_trace(fit_samples.write(tmp_path / "t", made), tmp_path / "fitted.fio")
    assert fit.meets_goals, str(fit)
    assert fit.result.to_arrow().column("ios").to_pylist() == [count]


def test_what_cannot_be_fitted_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    syncs = trace_samples.write(tmp_path / "syncs", [trace_samples.Request(0, "sync", 0, 0)] * 3)
    with pytest.raises(iogauge.IogaugeError, match="has no reads, writes or trims"):
        iogauge.fit_trace(syncs, tmp_path / "fitted.fio")
    assert not (tmp_path / "fitted.fio").exists()
    trace = fit_samples.trace("poisson", tmp_path, 100)
    (tmp_path / "mine.fio").write_text("[mine]\n")
    assert main(["trace", "fit", str(trace), "--output", str(tmp_path / "mine.fio")]) == 1
    assert (tmp_path / "mine.fio").read_text() == "[mine]\n"
    assert main(["trace", "fit", str(trace), "--output", str(trace)]) == 1
    assert main(["trace", "fit", str(trace), "--output", str(tmp_path / "x"), "--model", "nosuch"]) != 0
    assert "hint: " in capsys.readouterr().err
