"""The index agrees with the reviews after a refresh, whatever was added, changed, removed or damaged."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from threading import Event

import pytest

from iogauge.errors import IogaugeError
from iogauge.index import Changes, Index, Progress
from iogauge.index.read import MOST_TEXT
from iogauge.store import Review
from iogauge.store.notes import write_notes
from tests.fast.index.saved import complete, saved


def ids(index: Index) -> list[str]:
    return [row.id for row in index.reviews(order="id").rows]


def test_reviews_are_added_changed_and_removed(tmp_path: Path) -> None:
    saved(tmp_path / "a")
    saved(tmp_path / "deep" / "er" / "b", run=("p0", "p100"))
    with Index.open(tmp_path) as index:
        assert index.reviews().total == 0
        assert index.refresh() == Changes(added=2, changed=0, removed=0)
        assert index.refresh() == Changes(added=0, changed=0, removed=0)
        assert ids(index) == ["a", "deep/er/b"]
        shutil.rmtree(tmp_path / "deep")
        saved(tmp_path / "c")
        assert index.refresh() == Changes(added=1, changed=0, removed=1)
        assert ids(index) == ["a", "c"]
        assert index.path("a") == tmp_path / "a"
        assert index.path("../a") is None
        assert index.row("deep/er/b") is None


def test_a_completed_step_and_a_note_are_changes(tmp_path: Path) -> None:
    review = saved(tmp_path / "a", run=("p0",))
    with Index.open(tmp_path) as index:
        index.refresh()
        before = index.row("a")
        assert before is not None
        assert (before.planned, before.complete, before.tags) == (2, 1, ())
        complete(review, "p100", latency_ns=200_000)
        assert index.refresh().changed == 1
        write_notes(review.path, "hot #Lab-2")
        assert index.refresh().changed == 1
        after = index.row("a")
        assert after is not None
        assert (after.complete, after.tags, after.notes) == (2, ("lab-2",), "hot #Lab-2")
        assert after.headline is not None
        assert len(after.headline.spark) == 2
        assert index.figures(["a"]).num_rows == 2


def test_what_the_manifest_says_is_in_the_row(tmp_path: Path) -> None:
    saved(tmp_path / "a", run=("p0",), created_at="2026-01-01T01:00:00+01:00")
    with Index.open(tmp_path) as index:
        index.refresh()
        (row,) = index.reviews().rows
    assert row.created is not None
    assert row.created.isoformat() == "2026-01-01T00:00:00+00:00"
    assert (row.drives, row.targets) == (("Example 1000",), ("/tmp/drive.bin",))
    assert (row.host, row.cpu, row.suites, row.seed) == ("bench-1", "Example CPU", ("write-pressure",), 42)
    assert (row.pace, row.state, row.repeats, row.modelled, row.running) == (
        "quick",
        "as-is",
        1,
        False,
        False,
    )
    assert row.figures_read
    assert row.headline is not None
    assert (row.headline.metric, row.headline.unit) == ("mean_ns", "ns")
    assert row.headline.value == pytest.approx(100_000, rel=1e-3)
    assert row.headline.sentence.startswith("Mean")


def test_the_directory_itself_can_be_a_review(tmp_path: Path) -> None:
    saved(tmp_path / "a")
    with Index.open(tmp_path / "a") as index:
        index.refresh()
        assert ids(index) == ["."]
        assert index.path(".") == tmp_path / "a"


def test_a_damaged_review_is_listed_with_its_problem(tmp_path: Path) -> None:
    review = saved(tmp_path / "a", run=("p0",))
    saved(tmp_path / "b")
    manifest = review.path / "manifest.json"
    intact = manifest.read_bytes()
    with Index.open(tmp_path) as index:
        index.refresh()
        manifest.write_bytes(intact.replace(b"Example", b"Another"))
        index.refresh()
        row = index.row("a")
        assert row is not None
        assert "damaged" in row.problem
        assert row.hint
        assert row.headline is None
        assert index.figures(["a"]).num_rows == 0
        manifest.write_bytes(intact)
        index.refresh()
        row = index.row("a")
        assert row is not None
        assert not row.problem
        assert index.figures(["a"]).num_rows == 1


def test_a_damaged_step_is_a_problem_of_its_review_alone(tmp_path: Path) -> None:
    review = saved(tmp_path / "a", run=("p0",))
    (review.step_path("p0") / "totals.parquet").write_bytes(b"PAR1")
    saved(tmp_path / "b", run=("p0",))
    with Index.open(tmp_path) as index:
        index.refresh()
        row, other = index.row("a"), index.row("b")
    assert row is not None
    assert other is not None
    assert "totals.parquet: damaged" in row.problem
    assert row.drives == ("Example 1000",)
    assert not other.problem
    assert other.headline is not None


def test_files_that_would_never_end_are_not_read(tmp_path: Path) -> None:
    review = saved(tmp_path / "a", run=("p0",))
    (review.step_path("p0") / "SHA256SUMS").unlink()
    os.mkfifo(review.step_path("p0") / "SHA256SUMS")
    os.mkfifo(saved(tmp_path / "b").path / "computed.json")
    (tmp_path / "c").mkdir()
    os.mkfifo(tmp_path / "c" / "manifest.json")
    with Index.open(tmp_path) as index:
        index.refresh()
        rows = index.reviews(order="id").rows
    assert [row.id for row in rows] == ["a", "b", "c"]
    assert all(row.problem and row.hint for row in rows)


def test_a_manifest_that_leads_elsewhere_is_not_read(tmp_path: Path) -> None:
    other = saved(tmp_path / "other" / "a", host="secret")
    (tmp_path / "served" / "a").mkdir(parents=True)
    (tmp_path / "served" / "a" / "manifest.json").symlink_to(other.path / "manifest.json")
    with Index.open(tmp_path / "served") as index:
        index.refresh()
        row = index.row("a")
    assert row is not None
    assert "not a file of its own" in row.problem
    assert row.host == ""


def test_a_file_whose_name_is_not_text_is_a_problem_of_its_review_alone(tmp_path: Path) -> None:
    review = saved(tmp_path / "a", run=("p0",))
    os.mkfifo(os.fsencode(review.path) + b"/\xff")
    saved(tmp_path / "b", run=("p0",))
    with Index.open(tmp_path) as index:
        index.refresh()
        row, other = index.row("a"), index.row("b")
    assert row is not None
    assert other is not None
    assert "\\xff" in row.problem or "\\udcff" in row.problem
    assert not other.problem


def test_texts_of_any_length_are_cut(tmp_path: Path) -> None:
    saved(tmp_path / "a", host="h" * 3_000_000, model="m" * 3_000_000)
    with Index.open(tmp_path) as index:
        index.refresh()
        row = index.row("a")
    assert row is not None
    assert len(row.host) == len(row.drives[0]) == MOST_TEXT


def test_hostile_names_are_data(tmp_path: Path) -> None:
    names = ["it's", 'a"b', "<script>", "%2e%2e", "-rf", "new\nline", "; DROP TABLE listed"]
    for name in names:
        saved(tmp_path / name, model=f"{name}'\"", host="\N{SNOWMAN}")
    saved(tmp_path / "x").path.rename(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"))
    with Index.open(tmp_path) as index:
        index.refresh()
        assert sorted(ids(index)) == sorted([*names, "\\xff\\xfe"])
        escaped = index.row("\\xff\\xfe")
        assert escaped is not None
        assert "not UTF-8" in escaped.problem
        assert index.reviews("drop table").total == 1


def test_symbolic_links_are_not_followed(tmp_path: Path) -> None:
    saved(tmp_path / "elsewhere" / "a")
    served = tmp_path / "served"
    served.mkdir()
    (served / "link").symlink_to(tmp_path / "elsewhere")
    with Index.open(served) as index:
        assert index.refresh().added == 0


def test_a_review_that_is_being_written_runs(tmp_path: Path) -> None:
    review = saved(tmp_path / "a", run=("p0",))
    with Index.open(tmp_path) as index:
        with review.lock():
            index.refresh()
            row = index.row("a")
            assert row is not None
            assert row.running
        index.refresh()
        row = index.row("a")
        assert row is not None
        assert not row.running


def test_looking_for_running_reviews_takes_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path / "a", run=("p0",))
    locked: list[int] = []
    real = fcntl.flock
    with Index.open(tmp_path) as index:
        monkeypatch.setattr(
            fcntl, "flock", lambda fd, how: (locked.append(os.fstat(fd).st_ino), real(fd, how))
        )
        index.refresh()
    assert set(locked) == {(tmp_path / ".iogauge-index.lock").stat().st_ino}


def test_progress_is_said_and_a_stop_is_continued(tmp_path: Path) -> None:
    for name in "abc":
        saved(tmp_path / name, run=("p0",))
    news: list[Progress] = []
    stop = Event()

    def on_progress(progress: Progress) -> None:
        news.append(progress)
        if progress.reading == "figures":
            stop.set()

    with Index.open(tmp_path) as index:
        assert index.refresh(on_progress=on_progress, stop=stop).interrupted
        assert news[0] == Progress("manifests", 0, 3)
        assert news[-1].reading == "figures"
        assert index.reviews().total == 3
        assert not any(row.figures_read for row in index.reviews().rows)
        assert not index.refresh().interrupted
        assert all(row.figures_read for row in index.reviews().rows)


@pytest.mark.slow
def test_many_reviews_are_read_in_processes(tmp_path: Path) -> None:
    for number in range(30):
        saved(tmp_path / f"{number:02}", run=("p0",), latency_ns=10_000 * (number + 1))
    with Index.open(tmp_path) as index:
        assert index.refresh().added == 30
        rows = index.reviews(order="value").rows
    assert [row.id for row in rows] == [f"{number:02}" for number in range(30)]


def test_figures_of_another_version_stay_until_they_are_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(tmp_path / "a", run=("p0",))
    with Index.open(tmp_path) as index:
        index.refresh()
        monkeypatch.setattr("iogauge.results.computed.code", lambda: "other")
        stop = Event()
        seen: list[tuple[int, int]] = []

        def on_progress(progress: Progress) -> None:
            seen.append((progress.done, index.figures(["a"]).num_rows))

        assert index.refresh(on_progress=on_progress, stop=stop) == Changes(0, 0, 0)
    assert seen == [(0, 1), (1, 1)]


def test_a_directory_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(IogaugeError, match="no such directory"):
        Index.open(tmp_path / "none")
    gone = tmp_path / "gone"
    gone.mkdir()
    index = Index.open(gone)
    shutil.rmtree(gone)
    with pytest.raises(IogaugeError, match="cannot be listed"):
        index.refresh()
    index.close()


def test_nothing_of_a_review_changes_but_its_cache(tmp_path: Path) -> None:
    review: Review = saved(tmp_path / "a", run=("p0",))
    before = {path: path.read_bytes() for path in review.path.rglob("*") if path.is_file()}
    with Index.open(tmp_path) as index:
        index.refresh()
    after = {path: path.read_bytes() for path in review.path.rglob("*") if path.is_file()}
    assert {path: data for path, data in after.items() if path.name != "computed.json"} == before


def test_a_note_alone_leaves_the_figures_read(tmp_path: Path) -> None:
    review = saved(tmp_path / "a", run=("p0",))
    with Index.open(tmp_path) as index:
        index.refresh()
        write_notes(review.path, "#x")
        news: list[Progress] = []
        assert index.refresh(on_progress=news.append).changed == 1
        assert {progress.reading for progress in news} == {"manifests"}
        row = index.row("a")
        assert row is not None
        assert row.figures_read
