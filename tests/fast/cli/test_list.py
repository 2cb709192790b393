"""``iogauge list``: what is saved, how far it is, and what cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from iogauge.cli import main
from iogauge.store.find import find_reviews
from iogauge.store.names import DEPTH
from iogauge.store.notes import write_notes
from tests import reviews


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A whole review, an unfinished one further down, a damaged one, and much that is none."""
    reviews.save(tmp_path / "whole", pressures_MBps=(0, 100))
    reviews.save(tmp_path / "more" / "part", pressures_MBps=(0, 100), missing=(100,))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    (tmp_path / "file").write_text("text")
    return tmp_path


def test_a_line_for_each_and_the_damaged_one_beside(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", str(place)]) == 0
    out, err = capsys.readouterr()
    head, *lines = out.splitlines()
    assert head.split() == ["review", "begun", "age", "targets", "suites", "pace", "repeats", "steps"]
    assert [(line.split()[0], line.split()[-3:]) for line in lines] == [
        (f"{place}/more/part", ["1", "of", "2"]),
        (f"{place}/whole", ["2", "of", "2"]),
    ]
    assert f"error: {place}/broken/manifest.json: damaged" in err
    assert "hint: " in err


def test_tags_are_shown_where_a_review_has_some(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_notes(place / "whole", "slot 3 #Nightly #lab")
    assert main(["list", str(place)]) == 0
    head, part, complete = capsys.readouterr().out.splitlines()
    at = head.index("tags")
    assert part[at:].split() == ["1", "1", "of", "2"]
    assert complete[at:].split() == ["#nightly", "#lab", "1", "2", "of", "2"]


def test_json_has_them_all(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", str(place), "--json"]) == 0
    out, err = capsys.readouterr()
    reviews = {Path(review["review"]).name: review for review in json.loads(out)}
    assert err == ""
    assert set(reviews) == {"whole", "part", "broken"}
    assert reviews["part"]["complete"] == 1
    assert reviews["part"]["steps"] == 2
    assert "damaged" in reviews["broken"]["problem"]


def test_nothing_saved_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("no review is saved in ")


def test_no_deeper_than_it_says_and_not_along_links(tmp_path: Path) -> None:
    near = tmp_path.joinpath(*"abcd"[:DEPTH])
    reviews.save(near, pressures_MBps=(0,))
    reviews.save(tmp_path.joinpath(*"vwxyz"[: DEPTH + 1]), pressures_MBps=(0,))
    (tmp_path / "link").symlink_to(near)
    (tmp_path / "circle").symlink_to(tmp_path)
    assert [saved.path for saved in find_reviews(tmp_path)] == [near]


def test_published_drives(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--published", "--json"]) == 0
    drives = {drive["drive"]: drive for drive in json.loads(capsys.readouterr().out)}
    assert drives["Intel Optane SSD DC P4800X 375GB (windows-intel)"]["sources"]
    assert main(["list", "--published"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(drives)
