"""Notes on a review: free text with tags, read whatever is there, written atomically."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.errors import IogaugeError, UsageError
from iogauge.store import Review
from iogauge.store.notes import MOST_BYTES, Notes, read_notes, tags_of, write_notes
from tests import builders


@pytest.fixture
def review(tmp_path: Path) -> Path:
    return Review.create(tmp_path / "r", builders.manifest([builders.step("p0")])).path


def test_notes_are_read_as_they_were_written(review: Path) -> None:
    assert read_notes(review) == Notes()
    write_notes(review, "new drive, slot 3\n#Nightly #firmware-1.2")
    assert read_notes(review) == Notes(
        "new drive, slot 3\n#Nightly #firmware-1.2", ("nightly", "firmware-1.2")
    )
    write_notes(review, "  \n")
    assert not (review / "notes.md").exists()


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("# Heading", ()),
        ("#1 #_x a#b ##c", ()),
        ("#é-1, #É-1", ("é-1",)),
        ("(#x) #y.", ("y",)),
        ("#a\t#b\n#c", ("a", "b", "c")),
    ],
)
def test_a_tag_is_a_word_that_begins_with_a_letter(text: str, tags: tuple[str, ...]) -> None:
    assert tags_of(text) == tags


@given(st.binary(max_size=300))
def test_any_bytes_are_notes(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    assert all(tag and not any(character.isspace() for character in tag) for tag in tags_of(text))


def test_what_is_no_short_regular_file_does_no_harm(review: Path) -> None:
    path = review / "notes.md"
    path.write_bytes(b"\xff\0#x " + b"a" * MOST_BYTES)
    assert len(read_notes(review).text) == MOST_BYTES
    assert "\0" not in read_notes(review).text
    path.unlink()
    path.symlink_to("/etc/passwd")
    assert read_notes(review) == Notes()
    path.unlink()
    os.mkfifo(path)
    assert read_notes(review) == Notes()
    path.unlink()
    path.mkdir()
    assert read_notes(review) == Notes()


def test_a_link_is_replaced_and_not_followed(review: Path, tmp_path: Path) -> None:
    other = tmp_path / "precious"
    other.write_text("precious")
    (review / "notes.md").symlink_to(other)
    write_notes(review, "mine")
    assert other.read_text() == "precious"
    assert read_notes(review).text == "mine"


def test_what_cannot_be_kept_is_refused(review: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at most 65,536"):
        write_notes(review, "é" * (MOST_BYTES // 2 + 1))
    with pytest.raises(UsageError, match="UTF-8"):
        write_notes(review, "\ud800")
    with pytest.raises(IogaugeError, match="not a saved review"):
        write_notes(tmp_path, "text")


def test_notes_are_no_part_of_what_was_measured(review: Path) -> None:
    before = Review.open(review).manifest
    write_notes(review, "#x")
    assert Review.open(review).manifest == before
