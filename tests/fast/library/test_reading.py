"""Saved reviews as objects: opened, asked, compared, written; the commands print the same (tests/fast/cli)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import iogauge
from iogauge.cli import main

MODELS = ("model:p4800x", "model:p3700-800g")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A review of two models, by two suites, one of which presses."""
    path = tmp_path_factory.mktemp("reviews") / "saved"
    suites = ["mixed", "write-pressure"]
    iogauge.review(MODELS, output=path, suites=suites, runtime="200ms", size="1g", seed=1)
    return path


@pytest.fixture(scope="module")
def review(saved: Path) -> iogauge.Review:
    return iogauge.open_review(saved)


def test_suites_positions_and_figures(review: iogauge.Review) -> None:
    assert review.complete
    assert [(result.plan.suite, *result.plan.targets) for result in review] == [
        (suite, model) for suite in ("mixed", "write-pressure") for model in MODELS
    ]
    pressed = review.suite("write-pressure", target=MODELS[0])
    means = [position.figures.mean for position in pressed]
    assert [position.at for position in pressed] == sorted(position.at for position in pressed)
    assert all(mean is not None and mean.value > 0 for mean in means)
    assert set(pressed.conclusions.findings) <= set(review.findings)


def test_what_is_not_there_is_an_error_that_says_what_is(review: iogauge.Review, saved: Path) -> None:
    with pytest.raises(iogauge.IogaugeError, match="has no suite 'spec'") as caught:
        review.suite("spec")
    assert caught.value.hint == "it has: mixed, write-pressure"
    with pytest.raises(iogauge.UsageError, match="mixed of several targets"):
        review.suite("mixed")
    with pytest.raises(iogauge.IogaugeError, match="no mixed of nothing"):
        review.suite("mixed", target="nothing")
    with pytest.raises(iogauge.IogaugeError, match="has no step 'x'"):
        review.step("x")
    with pytest.raises(iogauge.IogaugeError, match="has no suite 'spec'"):
        iogauge.open_review(saved, suites=["spec"])
    with pytest.raises(iogauge.IogaugeError, match="no such file"):
        iogauge.open_review(saved, judge_by=[saved / "none.py"])


def test_it_is_what_show_prints(
    review: iogauge.Review, saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(saved), "-v"]) == 0
    assert capsys.readouterr().out == str(review)
    assert main(["show", str(saved), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(review.to_dict()))
    step = review.steps[0]
    assert main(["show", str(saved), "--step", step]) == 0
    assert capsys.readouterr().out == review.step(step).to_text()


def test_tables_are_the_same_in_every_library(review: iogauge.Review) -> None:
    arrow = review.to_arrow()
    assert arrow.num_rows >= len(review.manifest.steps)
    polars, pandas = review.to_polars(), review.to_pandas()
    assert polars.columns == list(pandas.columns) == arrow.column_names
    assert polars["mean_ns"].to_list() == pandas["mean_ns"].tolist() == arrow["mean_ns"].to_pylist()
    alone = iogauge.open_review(review, suites=["mixed"])
    assert set(alone.to_arrow()["suite"].to_pylist()) == {"mixed"}


def test_a_library_that_is_missing_is_named() -> None:
    code = (
        "import sys; sys.modules['polars'] = sys.modules['pandas'] = None\n"
        "import pyarrow as pa\n"
        "from iogauge.results.tabular import Tabular\n"
        "class Some(Tabular):\n"
        "    def to_arrow(self): return pa.table({'x': [1]})\n"
        "for method in (Some().to_polars, Some().to_pandas):\n"
        "    try: method()\n"
        "    except Exception as error: print(error, '|', error.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "Polars is not installed | pip install 'iogauge[polars]', or take the table by to_arrow()",
        "pandas is not installed | pip install 'iogauge[pandas]', or take the table by to_arrow()",
    ]


def test_sql(review: iogauge.Review) -> None:
    answer = review.query("select count(*) as steps from steps where complete")
    assert answer["steps"].to_pylist() == [len(review.manifest.steps)]
    with pytest.raises(iogauge.IogaugeError):
        review.query("select nothing")


def test_charts_are_drawn_where_they_are_shown(review: iogauge.Review) -> None:
    charts = review.charts()
    chart = next(iter(charts.values()))
    assert chart.name in charts
    assert chart._repr_svg_().startswith("<svg")
    assert chart.to_arrow().num_rows
    assert chart.spec()["datasets"]
    with pytest.raises(iogauge.UsageError, match="has no choice 'x'"):
        chart.spec("x")


def test_a_comparison_is_the_commands(
    review: iogauge.Review, saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compared = iogauge.compare(review)
    assert main(["compare", str(saved), "-v"]) == 0
    assert capsys.readouterr().out == str(compared)
    assert compared.findings
    table = compared.to_arrow()
    assert table.num_rows == sum(len(suite.figures) for suite in compared.differences.suites)
    assert set(table["suite"].to_pylist()) == {"mixed", "write-pressure"}
    with pytest.raises(iogauge.IogaugeError, match=r"margin 7\.0|margin 7"):
        iogauge.compare(review, margin=7.0)
    page = compared.write_page(tmp_path / "page.html")
    assert page.read_text().startswith("<!doctype html>")


def test_a_report_is_written(review: iogauge.Review, tmp_path: Path) -> None:
    news: list[str] = []
    text = iogauge.write_report(
        review, tmp_path / "r.md", format="md", on_progress=lambda p: news.append(str(p))
    )
    assert text == tmp_path / "r.md"
    assert text.read_text().startswith("## P4800X 375 GB, model, P3700")
    assert "reading and judging: 4 of 4" in news
    page = iogauge.write_report(review)
    assert page == review.path / "report.html"
    with pytest.raises(iogauge.UsageError, match="format 'pdf'"):
        iogauge.write_report(review, format="pdf")  # type: ignore[arg-type]
    with pytest.raises(iogauge.UsageError, match="name a review"):
        iogauge.write_report([])


def test_charts_are_written_by_name(review: iogauge.Review, tmp_path: Path) -> None:
    news: list[str] = []
    files = iogauge.write_charts(
        review,
        tmp_path / "charts",
        charts="mixed*",
        suites="mixed",
        on_progress=lambda p: news.append(str(p)),
    )
    assert {path.suffix for path in files} == {".svg", ".png", ".csv"}
    assert set(files) == set((tmp_path / "charts").iterdir())
    drawn = sum(path.suffix == ".svg" for path in files)
    assert f"drawing: {drawn} of {drawn}" in news
    with pytest.raises(iogauge.UsageError, match="no chart is named mixd") as caught:
        iogauge.write_charts(review, tmp_path / "none", charts=["mixd"])
    assert str(caught.value.hint).startswith("did you mean charts=['mixed']? charts: overview, mixed, ")
    assert not (tmp_path / "none").exists()


def test_the_suffix_of_a_report_decides_its_format(
    review: iogauge.Review, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def begins(output: str, format: Any = None) -> str:  # noqa: A002
        page = iogauge.write_report(review, tmp_path / output, format=format)
        return page.read_text()[:2]

    assert [begins("a.md"), begins("a.HTML"), begins("a"), begins("a.txt", "md")] == ["##", "<!", "<!", "##"]
    with pytest.raises(iogauge.UsageError, match=r"format='html' contradicts the name r\.md") as caught:
        iogauge.write_report(review, "r.md", format="html")
    assert caught.value.hint == "name the file r.html, or leave out format"
    with pytest.raises(iogauge.UsageError, match=r"r\.pdf: .* \.pdf says neither"):
        iogauge.write_report(review, "r.pdf")

    command = ["report", str(review.path)]
    assert main([*command, f"--output={tmp_path}/b.md"]) == 0
    assert (tmp_path / "b.md").read_text().startswith("##")
    assert main([*command, "--output=r.html", "--format=md"]) == 2
    assert "--format md contradicts the name r.html" in capsys.readouterr().err
    assert main([*command, "--output=r.pdf"]) == 2
    assert "end the name in .html or .md, or add --format html or --format md" in capsys.readouterr().err


def test_a_notebook_shows_the_answer_first(review: iogauge.Review) -> None:
    shown = review._repr_html_()
    assert shown.index("<li>") < shown.index("<table>")
    assert shown.count("<table>") == len(review.suites)
    assert "<li>" in iogauge.compare(review)._repr_html_()
    plan = iogauge.plan(MODELS[0], suites=["mixed"])
    assert "of virtual time and 43 GB written" in plan._repr_html_()
    assert "model:p4800x-375g" in iogauge.models()._repr_html_()


def test_results_of_others_are_imported(tmp_path: Path) -> None:
    job = "[a]\nrw=randread\nbs=4k\nruntime=2\ntime_based=1\n"
    result = iogauge.run(job, target=MODELS[0], seed=1)
    (tmp_path / "fio.json").write_text(result.to_json())
    imported = iogauge.import_results(tmp_path / "fio.json", tmp_path / "r")
    (position,) = imported.suites[0]
    assert position.figures.ios == result["a"].read.ios
    with pytest.raises(iogauge.UsageError, match="is imported by itself"):
        iogauge.import_results([tmp_path / "r", tmp_path / "fio.json"], tmp_path / "s")


def test_a_run_is_shown_and_tabled() -> None:
    job = "[a]\nrw=randrw\nbs=4k\nruntime=12\ntime_based=1\n"
    result = iogauge.run(job, target=MODELS[0], seed=1)
    shown = result._repr_html_()
    assert "<td>a</td><td>read</td>" in shown
    assert "<td>a</td><td>write</td>" in shown
    (read, write) = result.to_arrow().to_pylist()
    assert (read["direction"], write["direction"]) == ("read", "write")
    assert read["mean_ns"] == result["a"].read.lat.mean.value
    assert read["p99.9_low_ns"] == result["a"].read.lat.quantile(0.999).low
    course = result.over_time.to_polars()
    assert course["ios"].sum() == read["ios"] + write["ios"]
    assert set(course["direction"]) == {"read", "write"}
