"""``iogauge collect``, and ``query`` and ``compare`` over what was collected."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import iogauge
from iogauge.cli import main
from tests.reviews import Drive, save

QUICK = Drive(seconds=2, reads_a_second=200)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two reviews of a fleet, and a collection of their figures."""
    place = tmp_path_factory.mktemp("reviews")
    (place / "fleet" / "hosts").mkdir(parents=True)
    save(place / "fleet" / "hosts" / "a", QUICK, pressures_MBps=(100, 300))
    slow = replace(QUICK, model="Slow", base_us=900.0)
    save(place / "fleet" / "hosts" / "b", slow, pressures_MBps=(100, 300), seed=2)
    assert main(["collect", f"{place}/fleet", f"--output={place}/collection"]) == 0
    return place


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main([*arguments]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main([*arguments]) in (1, 2)
    return " ".join(capsys.readouterr().err.split())


def ids(place: Path) -> list[str]:
    """Return the ids of the collected reviews: of the fast drive, then of the slow one."""
    with iogauge.open_collection(place / "collection") as collection:
        return [*collection.reviews(drive="Flash 9000"), *collection.reviews(drive="Slow")]


def test_it_says_what_it_added(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, "collect", f"{saved}/fleet", f"--output={saved}/collection")
    assert out == f"{saved}/collection: 0 reviews added, 2 known already\n"
    out = shown(capsys, "collect", f"{saved}/fleet", f"--output={saved}/other", "--with-reviews")
    assert out == f"{saved}/other: 2 reviews added, 0 known already, 2 reviews copied\n"


def test_a_damaged_review_is_named_and_the_status_says_so(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(saved / "fleet", tmp_path / "fleet")
    (tmp_path / "fleet" / "hosts" / "b" / "manifest.json").write_text("{")
    capsys.readouterr()
    assert main(["collect", f"{tmp_path}/fleet", "-o", f"{tmp_path}/collection"]) == 1
    out, err = capsys.readouterr()
    assert out == f"{tmp_path}/collection: 1 review added, 0 known already, 1 review left out\n"
    assert err.startswith(f"warning: {tmp_path}/fleet/hosts/b/manifest.json: damaged: ")
    assert "\nhint: " in err


def test_figures_in_sql_are_those_of_the_reviews(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = (
        'select step, direction, iops, "p99_ns", "p99_low_ns", supported from figures order by iops, "p99_ns"'
    )
    collected = json.loads(shown(capsys, "query", sql, f"{saved}/collection", "--json"))
    hosts = [f"{saved}/fleet/hosts/{name}" for name in "ab"]
    assert collected == json.loads(shown(capsys, "query", sql, *hosts, "--json"))
    joined = "select drives[1] as drive, count(*) as rows from figures join reviews using (review) group by 1"
    rows = json.loads(shown(capsys, "query", f"{joined} order by 1", f"{saved}/collection", "--json"))
    assert rows == [{"drive": "Flash 9000", "rows": 2}, {"drive": "Slow", "rows": 2}]


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("select * from intervals", "only in the reviews themselves"),
        ("copy figures to 'stolen.csv'", "only SELECT"),
        ("select * from read_csv('/etc/passwd')", "disabled"),
        ("delete from figures", "only SELECT"),
        ("select", "Parser Error"),
    ],
)
def test_sql_reads_the_figures_and_nothing_else(
    saved: Path, capsys: pytest.CaptureFixture[str], sql: str, why: str
) -> None:
    assert why in refused(capsys, "query", sql, f"{saved}/collection")


def test_a_collection_is_asked_by_itself(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "asked by itself" in refused(
        capsys, "query", "select 1", f"{saved}/collection", f"{saved}/fleet/hosts/a"
    )


def test_figures_are_compared_and_what_needs_the_review_is_said(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fast, slow = (f"{saved}/collection/{name}" for name in ids(saved))
    text = shown(capsys, "compare", fast, slow)
    first, *_ = text.splitlines()
    assert "differ from those of" in first
    assert Path(slow).name in first
    assert text.rstrip().endswith("Tests need the reviews themselves.")
    rows = json.loads(shown(capsys, "compare", fast, slow, "--json"))
    (mean,) = (
        row for row in rows if row["review"] in slow and row["metric"] == "mean_ns" and row["position"] == 100
    )
    assert mean["ratio"] == pytest.approx(mean["value"] / mean["baseline"])
    assert mean["ratio"] > 5
    turned = json.loads(shown(capsys, "compare", fast, slow, "--baseline", slow, "--json"))
    assert {row["ratio"] for row in turned if row["review"] in slow} == {1.0}
    for options in (["--fail-if=worse by > 5%"], ["--format=html"], ["--suite=write-pressure"]):
        assert "this needs the review itself" in refused(capsys, "compare", fast, slow, *options)
    assert "has no review" in refused(capsys, "compare", fast, f"{saved}/collection/none")


def test_copied_reviews_are_compared_with_all_that_there_is(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["collect", f"{saved}/fleet", f"--output={tmp_path}/collection", "--with-reviews"])
    names = [f"{tmp_path}/collection/{name}" for name in ids(saved)]
    hosts = [f"{saved}/fleet/hosts/{name}" for name in "ab"]
    assert shown(capsys, "compare", *names, "-v") == shown(capsys, "compare", *hosts, "-v")
    assert iogauge.compare(*names).findings == iogauge.compare(*hosts).findings


def test_the_library_finds_and_tabulates(saved: Path) -> None:
    with iogauge.open_collection(saved / "collection") as collection:
        assert len(collection) == 2
        (slow,) = collection.reviews("slow")
        table = collection.to_arrow()
        assert table.num_rows == 2
        assert f"{saved}/fleet/hosts/b" in table["source"].to_pylist()
        assert collection.path(slow) is None
        with pytest.raises(iogauge.IogaugeError, match="has no review"):
            collection.compare([slow, "none"])
        with pytest.raises(iogauge.UsageError, match="cannot be compared"):
            collection.compare([slow])
    with pytest.raises(iogauge.IogaugeError, match="no collection is here"):
        iogauge.open_collection(saved)
