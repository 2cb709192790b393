"""A review on disk gives back what it was given, and refuses, by name, what it cannot trust."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iogauge.errors import IogaugeError
from iogauge.schema import SCHEMA_VERSION, Direction, Interval, Kind, RunRecord, Tally
from iogauge.store import Review
from iogauge.store.checksums import write_checksums
from tests import builders

READS = builders.tally([90_000, 100_000, 4_000_000], errors={5: 2, 110: 1}, short=1, flagged=2, late=3)
WRITES = builders.tally({20_000: 10_007}, histograms={Kind.LAT: builders.histogram({20_000: 10_007})})
INTERVALS = [
    builders.interval(0, {Direction.READ: READS, Direction.WRITE: WRITES}, ramp=True),
    builders.interval(1, {Direction.READ: Tally(), Direction.WRITE: WRITES}),
    builders.interval(2),
    builders.interval(2, {Direction.SYNC: READS, Direction.TRIM: WRITES}, row=1, stage=1),
    Interval(stage=0, row=0, index=3, start_ns=3, end_ns=4, ramp=False, tallies={}, loop_gap=None),
]


def run_record() -> RunRecord:
    """Two rows, one of which reads and writes."""
    return builders.record(
        [
            builders.row("reader", {Direction.READ: READS}),
            builders.row("pressure", {Direction.WRITE: WRITES, Direction.READ: Tally()}, index=1),
        ]
    )


@pytest.fixture
def review(tmp_path: Path) -> Review:
    """A review of three steps, the last of which is complete."""
    review = Review.create(
        tmp_path / "review",
        builders.manifest([builders.step("a"), builders.step("b", 1), builders.step("c", 2)]),
    )
    save(review, "c")
    return review


def save(review: Review, step_id: str) -> None:
    """Run one step as a suite's runner does."""
    with review.begin(step_id) as writer:
        for interval in INTERVALS:
            writer.interval(interval)
        writer.finish(run_record())


def test_gives_back_what_it_was_given(review: Review) -> None:
    again = Review.open(review.path)
    assert again.manifest == review.manifest
    assert list(again.intervals("c")) == INTERVALS
    assert again.record("c") == run_record()


def test_histograms_stay_readable_for_the_reference_implementation(review: Review) -> None:
    reads = Review.open(review.path).record("c").result.rows[0].tallies[Direction.READ]
    assert builders.decoded(reads.histograms[Kind.LAT]).get_total_count() == 3


def test_completed_follows_the_plan_not_the_order_of_running(review: Review) -> None:
    assert review.completed() == ("c",)
    save(review, "a")
    assert review.completed() == ("a", "c")
    assert Review.open(review.path).completed() == ("a", "c")


def test_a_step_without_finish_leaves_no_trace(review: Review) -> None:
    before = sorted(review.path.rglob("*"))
    with review.begin("a") as writer:
        writer.interval(INTERVALS[0])
    with contextlib.suppress(ZeroDivisionError), review.begin("a") as writer:
        writer.interval(INTERVALS[0])
        raise ZeroDivisionError
    assert sorted(review.path.rglob("*")) == before


def test_what_a_killed_run_left_is_not_read_and_is_cleared_away(review: Review) -> None:
    left = review.path / "steps" / ".a.tmp"
    left.mkdir()
    (left / "totals.parquet").write_bytes(b"half")
    assert review.completed() == ("c",)
    save(review, "a")
    assert list(review.intervals("a")) == INTERVALS
    assert not left.exists()


def test_a_stopped_run_is_kept_but_never_complete(review: Review) -> None:
    for _ in range(2):  # the second takes the place of the first
        with review.begin("a") as writer:
            writer.interval(INTERVALS[0])
            writer.finish_stopped(run_record())
    assert review.completed() == ("c",)
    assert {file.name for file in (review.path / "stopped" / "a").iterdir()} == {
        "intervals.parquet",
        "record.json",
        "totals.parquet",
        "SHA256SUMS",
    }


def test_a_complete_step_is_not_run_over(review: Review) -> None:
    with pytest.raises(IogaugeError, match="complete already"):
        review.begin("c")
    review.discard("c")
    assert review.completed() == ()
    save(review, "c")
    assert review.completed() == ("c",)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", ".hidden", "a b", "x" * 101])
def test_a_steps_name_stays_inside_its_review(review: Review, name: str) -> None:
    with pytest.raises(IogaugeError, match="not a step's name"):
        review.begin(name)


def test_an_incomplete_step_is_named_with_the_way_to_complete_it(review: Review) -> None:
    for read in (review.record, lambda step: list(review.intervals(step))):
        with pytest.raises(IogaugeError, match="step a is not complete") as caught:
            read("a")
        assert f"resume='{review.path}'" in str(caught.value.hint)


def test_create_refuses_a_directory_in_use(review: Review, tmp_path: Path) -> None:
    with pytest.raises(IogaugeError, match="the directory is not empty") as caught:
        Review.create(review.path, review.manifest)
    assert "resume=" in str(caught.value.hint)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(IogaugeError, match="the directory is not empty"):
        Review.create(tmp_path, review.manifest)
    with pytest.raises(IogaugeError, match="cannot create"):
        Review.create(tmp_path / "notes.txt" / "review", review.manifest)


def test_open_refuses_what_is_no_review(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(IogaugeError, match="not a saved review"):
            Review.open(path)


def test_a_newer_manifest_is_refused_before_its_fields_are_read(review: Review) -> None:
    manifest = review.path / "manifest.json"
    manifest.write_text(json.dumps({"schema_version": SCHEMA_VERSION + 1, "unheard_of": True}))
    with pytest.raises(IogaugeError, match=f"version {SCHEMA_VERSION + 1} of the schema") as caught:
        Review.open(review.path)
    assert "newer" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not JSON"),
        (b'{"schema_version": 1, "id": "x', "not JSON"),
        (b"[]", "schema version is None"),
        (b'{"schema_version": true}', "schema version is True"),
        (b'{"schema_version": 1}', "is missing"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 200_000, "not JSON"),
    ],
)
def test_a_damaged_manifest_is_named(review: Review, content: bytes, says: str) -> None:
    path = review.path / "manifest.json"
    path.write_bytes(content)
    with pytest.raises(IogaugeError, match=says) as caught:
        Review.open(review.path)
    assert str(path) in str(caught.value)
    assert caught.value.hint


def test_no_changed_digit_of_a_manifest_is_read(review: Review) -> None:
    path = review.path / "manifest.json"
    content = path.read_bytes()
    places = [match.start() for match in re.finditer(rb"\d", content)]
    for at in {*places[::7], places[-1], content.index(b'"sha256"') + 1}:
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(IogaugeError, match=r"damaged|schema"):
            Review.open(review.path)
    path.write_bytes(content)
    assert Review.open(review.path).manifest == review.manifest


def test_a_manifest_without_its_checksum_is_damaged_unless_an_older_iogauge_wrote_it(review: Review) -> None:
    path = review.path / "manifest.json"
    fields = json.loads(path.read_text())
    del fields["sha256"]
    path.write_text(json.dumps(fields | {"schema_version": 2}))
    assert Review.open(review.path).manifest.plans == review.manifest.plans
    path.write_text(json.dumps(fields))
    with pytest.raises(
        IogaugeError, match=r"manifest\.json: damaged: its field sha256, .* is missing"
    ) as caught:
        Review.open(review.path)
    assert caught.value.hint


READERS = {
    "record.json": lambda review: review.record("c"),
    "totals.parquet": lambda review: review.record("c"),
    "intervals.parquet": lambda review: list(review.intervals("c")),
}


@pytest.mark.parametrize("name", READERS)
def test_no_changed_byte_is_taken_for_a_measurement(review: Review, name: str) -> None:
    path = review.step_path("c") / name
    content = path.read_bytes()
    for place in range(0, len(content), 13):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x01]) + content[place + 1 :])
        with pytest.raises(IogaugeError, match="damaged") as caught:
            READERS[name](review)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_a_cut_off_or_missing_file_is_named(review: Review, name: str, share: float) -> None:
    path = review.step_path("c") / name
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(IogaugeError, match="damaged") as caught:
        READERS[name](review)
    assert str(path) in str(caught.value)
    path.unlink()
    with pytest.raises(IogaugeError, match="cannot read") as caught:
        READERS[name](review)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", READERS)
def test_a_file_without_its_checksum_is_named(review: Review, name: str) -> None:
    (review.step_path("c") / "SHA256SUMS").unlink()
    with pytest.raises(IogaugeError, match="SHA256SUMS: cannot read"):
        READERS[name](review)


def test_the_checksums_are_those_of_sha256sum(review: Review) -> None:
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=review.step_path("c"), check=True)


@pytest.mark.parametrize("name", READERS)
def test_a_file_that_parses_but_is_not_ours_is_named(review: Review, name: str) -> None:
    path = review.step_path("c") / name
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"direction": ["read"]}), path)
    else:
        path.write_text('{"schema_version": 1}')
    (path.parent / "SHA256SUMS").unlink()
    write_checksums(path.parent)
    with pytest.raises(IogaugeError, match="damaged") as caught:
        READERS[name](review)
    assert str(path) in str(caught.value)


def test_two_writers_cannot_hold_one_review(review: Review) -> None:
    other = Review.open(review.path)
    with review.lock(), pytest.raises(IogaugeError, match="another iogauge"), other.lock():
        pass
    with other.lock():
        pass


def test_a_killed_writer_holds_nothing(review: Review) -> None:
    source = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom iogauge.store import Review\n"
        "with Review.open(Path(sys.argv[1])).lock():\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", source, str(review.path)], env=environ, check=False)
    assert done.returncode == -9
    with review.lock():
        pass


def test_a_vanished_directory_is_said(review: Review) -> None:
    with review.begin("a") as writer:
        writer.interval(INTERVALS[0])
        review.path.rename(review.path.with_name("elsewhere"))
        with pytest.raises(IogaugeError, match="cannot write") as caught:
            writer.finish(run_record())
    assert "missing" in str(caught.value.hint)
    with pytest.raises(IogaugeError, match="cannot write"):
        review.begin("a").__enter__()
    with pytest.raises(IogaugeError, match="cannot write"):
        review.save_manifest(review.manifest)
