"""``iogauge query`` and ``iogauge export``: the figures of reviews for whoever wants to ask or draw for themselves."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from iogauge.cli import main
from iogauge.results import tables
from iogauge.store import Review
from tests import reviews


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up drive, and a model under a mix of reads and writes."""
    place = tmp_path_factory.mktemp("reviews")
    reviews.save(place / "flash", pressures_MBps=(0, 300))
    options = ["review", "model:p4800x", "--suite=mixed", "--runtime=10ms", "--seed=1"]
    assert main([*options, f"--output={place}/mix"]) == 0
    return place


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(["query", *arguments]) == 0
    return capsys.readouterr().out


def test_figures_are_those_that_are_judged(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = 'select step, direction, iops, mean_ns, mean_low_ns, "p99_ns", supported from figures order by position'
    rows = json.loads(answer(capsys, sql, f"{saved}/flash", "--json"))
    capsys.readouterr()
    assert main(["show", f"{saved}/flash", "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["plans"][0]["steps"]
    assert [(row["step"], row["direction"]) for row in rows] == [("at-0000", "read"), ("at-0300", "read")]
    for row, step in zip(rows, steps, strict=True):
        assert row["iops"] == step["iops"]
        assert row["mean_ns"] == step["mean_ns"]["value"]
        assert row["mean_low_ns"] == step["mean_ns"]["low"]
        assert row["p99_ns"] == step["quantiles_ns"]["0.99"]["value"]
        assert step["quantiles_ns"][f"{row['supported']:.12g}"]["supported"]


def test_a_mix_has_a_row_for_each_direction(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "select position, direction, ios from figures where position in (100, 50)"
    rows = json.loads(answer(capsys, sql, f"{saved}/mix", "--json"))
    ios = {(row["position"], row["direction"]): row["ios"] for row in rows}
    assert set(ios) == {(100, "all"), (100, "read"), (50, "all"), (50, "read"), (50, "write")}
    assert ios[50, "all"] == ios[50, "read"] + ios[50, "write"]


def test_histograms_are_read_by_functions(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = json.loads(
        answer(
            capsys,
            "select step, quantile_ns(lat, 0.99) as p99, mean_ns(lat) as mean, quantile_ns(slat, 0.5) as none "
            "from totals where direction = 'read' order by step",
            f"{saved}/flash",
            "--json",
        )
    )
    several = json.loads(
        answer(
            capsys,
            "select step, merged_quantile_ns(list(lat), 0.99) as p99 from intervals "
            "where direction = 'read' group by step order by step",
            f"{saved}/flash",
            "--json",
        )
    )
    assert [row["p99"] for row in one] == [row["p99"] for row in several]
    assert all(row["mean"] > 50_000 for row in one)
    assert all(row["none"] is None for row in one)


def test_figures_are_only_computed_where_they_are_named(
    saved: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise AssertionError("nobody asked for figures")

    monkeypatch.setattr(tables, "figures_table", refuse)
    assert answer(capsys, "select count(*) as n from steps", f"{saved}/flash").split() == ["n", "2"]


def test_csv_and_parquet_and_the_terminal(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sql = "select step, position, lat from totals join steps using (step, position) where lat is not null"
    rows = list(csv.DictReader(io.StringIO(answer(capsys, sql, f"{saved}/flash", "--csv"))))
    assert rows
    assert all(bytes.fromhex(row["lat"]) for row in rows)
    assert (
        answer(capsys, sql, f"{saved}/flash", f"--parquet={tmp_path}/x.parquet") == f"{tmp_path}/x.parquet\n"
    )
    assert pq.read_table(tmp_path / "x.parquet").num_rows == len(rows)
    table = answer(capsys, sql, f"{saved}/flash").splitlines()
    assert len(table) == len(rows) + 1
    assert max(map(len, table)) < 100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("select 1", "nothing"), "no manifest.json"),
        (("selec 1", "flash"), "query: "),
        (("select * from drives", "flash"), "query: "),
        (("select quantile_ns(lat, 99) from totals", "flash"), "quantile 99.0 is outside 0 to 1"),
        (("select 1", "flash", "--csv", "--json"), "exclude each other"),
        (("select 1", "flash", "--parquet=missing/x"), "missing/x: there is no directory"),
        (("select 1",), "missing argument 'REVIEW...'"),
    ],
)
def test_what_cannot_be_answered(
    arguments: tuple[str, ...],
    message: str,
    saved: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(saved)
    capsys.readouterr()
    assert main(["query", *arguments]) in (1, 2)
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert "hint: " in err
    assert "defect" not in err


def test_export_writes_a_tidy_file_for_each_suite(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    both = [f"{saved}/flash", f"{saved}/mix"]
    assert main(["export", *both, f"--csv={tmp_path}/csv", f"--parquet={tmp_path}/all.parquet"]) == 0
    files = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert [file.name for file in files] == [
        "all.parquet",
        "write-pressure.csv",
        "mixed.csv",
        "intervals.csv",
    ]
    table = pq.read_table(files[0])
    assert table.schema.names == tables.FIGURES.names
    for file in files[1:3]:
        rows = list(csv.DictReader(file.open()))
        assert {row["suite"] for row in rows} == {file.stem}
        assert list(rows[0]) == table.schema.names
    moments = list(csv.DictReader(files[3].open()))
    assert len([row for row in moments if row["step"] == "at-0300"]) == reviews.Drive().seconds


def test_export_says_what_to_write(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["export", f"{saved}/flash"]) == 2
    assert capsys.readouterr().err.startswith(
        "error: --csv, --parquet or --pictures is missing\nhint: add --csv DIRECTORY"
    )


def test_an_unfinished_review_has_the_figures_that_it_has(tmp_path: Path) -> None:
    review = reviews.save(tmp_path / "part", pressures_MBps=(0, 100), missing=(100,))
    assert tables.figures_table([review.path])["step"].to_pylist() == ["at-0000"]
    nothing = reviews.save(tmp_path / "none", pressures_MBps=(0,), missing=(0,))
    assert isinstance(nothing, Review)
    assert tables.figures_table([nothing.path]).num_rows == 0


def test_published_rows_join_with_steps_of_the_same_load(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked_for = ["review", "model:p4800x", "--suite=mixed", "--runtime=10ms", "--seed=1"]
    assert main([*asked_for, f"--output={tmp_path}/mixed"]) == 0
    sql = """
        select p.target as drive, m.iops / p.iops as ratio, m.review as mine, p.review as theirs
        from figures m join figures p using (pattern, block_bytes, read_percent, threads, depth)
        where p.review = 'published' and m.review <> 'published' and m.direction <> 'all' and p.iops is not null
    """
    rows = json.loads(answer(capsys, sql, f"{tmp_path}/mixed", "published:p4800x", "--json"))
    (same,) = [row for row in rows if row["drive"] == "Intel Optane SSD DC P4800X 375GB (anandtech-linux)"]
    assert 0.9 < same["ratio"] < 1.1
    alone = json.loads(answer(capsys, "select distinct suite from figures", "published", "--json"))
    assert alone == [{"suite": "published"}]


def test_what_was_published_is_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["export", "published", f"--csv={tmp_path}/csv"]) == 0
    (file,) = capsys.readouterr().out.splitlines()
    rows = list(csv.DictReader(io.StringIO(Path(file).read_text())))
    assert Path(file).name == "published.csv"
    (row,) = [
        row
        for row in rows
        if row["target"] == "Intel Optane SSD DC P4800X 375GB (windows-inbox)"
        and (row["read_percent"], row["block_bytes"], row["threads"]) == ("100", "4096", "8")
    ]
    assert (row["iops"], row["p99_ns"], row["mean_ns"]) == ("583558.0", "81000.0", "")
    assert main(["export", "published:nobody", f"--csv={tmp_path}/csv"]) == 2
    assert "no published drive" in capsys.readouterr().err
