"""Verdicts on drive models agree with what is published and known of such drives."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import iogauge
from iogauge.cli import main
from iogauge.machine.warnings import warning
from iogauge.results.position import Position
from iogauge.schema import Code, StepPlan

OPTANE, DISK = "model:p4800x", "model:disk-7200"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> iogauge.Review:
    """Return a review of both drives with what a write-ahead log needs, which is also what etcd needs."""
    saved = tmp_path_factory.mktemp("reviews") / "logs"
    return iogauge.review([OPTANE, DISK], use="wal", runtime="500ms", seed=1, output=saved)


def answers(reviews: object, use: str) -> dict[str, str]:
    return {verdict.path: verdict.answer for verdict in iogauge.judge(reviews, use=use)}  # type: ignore[arg-type]


def missed(reviews: object, use: str) -> list[str]:
    """Return the criteria that the disk misses."""
    (disk,) = (verdict for verdict in iogauge.judge(reviews, use=use) if verdict.path == DISK)  # type: ignore[arg-type]
    return [judged.criterion.name for judged in disk.criteria if judged.outcome.value == "missed"]


def test_optane_is_fit_for_a_log_and_a_disk_is_not(logs: iogauge.Review) -> None:
    """AnandTech's review of the P4800X (April 2017): made for logs and caches, with latencies in tens of us.

    The disk waits for a turn of 8.3 ms at each commit of a single log.
    """
    assert answers(logs, "wal") == {OPTANE: "yes", DISK: "no"}
    assert missed(logs, "wal") == ["a commit by one log", "a commit with O_DSYNC by one log"]


def test_a_disk_serves_a_small_etcd_alone_and_no_heavily_loaded_one(logs: iogauge.Review) -> None:
    """etcd's hardware guide: 50 sequential IOPS, as of a 7200 rpm disk; heavily loaded clusters need 500, as of an SSD.

    Beside etcd's database, the disk seeks at each sync: OpenShift's etcd practices have no rotating drives.
    """
    assert answers(logs, "etcd") == {OPTANE: "yes", DISK: "no"}
    assert missed(logs, "etcd") == ["a write with its fdatasync beside a second log"]
    optane, disk = (verdict.criteria[1] for verdict in iogauge.judge(logs, use="etcd"))
    assert disk.criterion.limit == 50
    assert disk.figure is not None
    assert disk.figure.low is not None
    assert disk.figure.high is not None
    assert 50 < disk.figure.low <= disk.figure.high < 500
    assert optane.figure is not None
    assert optane.figure.low is not None
    assert optane.figure.low > 500


def test_only_the_steps_that_the_profile_needs_are_planned(logs: iogauge.Review) -> None:
    steps: tuple[StepPlan, ...] = iogauge.plan(OPTANE, use="wal", seed=1).manifest.steps
    assert [(step.series, step.at) for step in steps] == [
        *(("write, then fdatasync", logs_at_once) for logs_at_once in (1, 2, 4, 8, 16)),
        ("write with O_DSYNC", 1),
    ]
    assert logs.manifest.use == ("wal",)
    assert {step.series for step in iogauge.plan(OPTANE, use="etcd", seed=1).manifest.steps} == {
        "write, then fdatasync"
    }


def test_several_profiles_share_the_steps_that_both_need() -> None:
    def steps(*use: str) -> list[tuple[str | None, float | None]]:
        manifest = iogauge.plan(OPTANE, use=use, seed=1).manifest
        assert manifest.use == tuple(dict.fromkeys(use))
        return [(step.series, step.at) for step in manifest.steps]

    assert set(steps("etcd", "ceph-osd", "etcd")) == {*steps("etcd"), *steps("ceph-osd")}
    assert len(steps("wal", "etcd")) == len(steps("wal"))


def test_what_was_not_measured_is_said_with_its_command(logs: iogauge.Review) -> None:
    verdict = iogauge.judge(logs, use="oltp")[0]
    assert verdict.answer == "not shown"
    assert [criterion.outcome.value for criterion in verdict.criteria] == [
        *["not measured"] * 3,
        *["met"] * 2,
    ]


def test_targets_are_references_for_each_other(logs: iogauge.Review) -> None:
    optane, disk = iogauge.judge(logs, use="etcd")
    commit = disk.criteria[0]
    (reference,) = [other for other in commit.references if other.kind == "reviewed"]
    assert reference.drive == optane.target
    assert reference.figure == optane.criteria[0].figure


def test_a_limit_along_the_axis_says_how_far_it_holds(logs: iogauge.Review) -> None:
    optane, disk = iogauge.judge(logs, use="wal")
    extents = optane.criteria[0].extent, disk.criteria[0].extent
    assert extents[0] is not None
    assert extents[1] is not None
    assert (extents[0].holds, extents[0].ends) == (16, None)
    assert (extents[1].holds, extents[1].ends, extents[1].missed) == (None, 1, True)


def test_a_miss_while_something_slows_the_drive_shows_nothing(
    logs: iogauge.Review, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What meets its limit meets it all the more without."""
    busy = warning(Code.BUSY_TARGET, path=DISK, who="52.2 MB read on sda besides the run's own")
    monkeypatch.setattr(Position, "warnings", (busy,))
    assert answers(logs, "wal") == {OPTANE: "yes", DISK: "not shown"}
    assert main(["judge", str(logs.path), "--for", "wal"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("warning: ")] == [
        "warning: P4800X 375 GB (model): another program uses the target",
        "warning: a 7200 rpm hard disk (model): another program uses the target",
    ]
    flat = " ".join(" ".join(lines).split())
    assert "; beyond the limit, but another program uses the target" in flat
    assert (
        "to decide: stop the other use, or choose an idle drive; then measure again: iogauge review" in flat
    )


@pytest.mark.parametrize(("stalls", "disk"), [(0, "no"), (10**6, "not shown")])
def test_stalls_count_where_they_may_be_the_tail(
    stalls: int, disk: str, logs: iogauge.Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Position, "warnings", (warning(Code.STALLED, row="log", count=stalls),))
    figures = Position.figures.func  # type: ignore[attr-defined]
    stalled = property(lambda position: replace(figures(position), flagged=stalls))
    monkeypatch.setattr(Position, "figures", stalled)
    assert answers(logs, "wal") == {OPTANE: "yes", DISK: disk}
    assert all(bool(verdict.warnings) == bool(stalls) for verdict in iogauge.judge(logs, use="wal"))


def test_the_command_says_the_answer_by_its_status(
    logs: iogauge.Review, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", str(logs.path), "--for", "wal"]) == 3
    shown = capsys.readouterr().out
    assert "P4800X 375 GB (model) is fit for a write-ahead log: all 3 criteria are met" in shown.replace(
        "\n", " "
    )
    assert len(shown.splitlines()) <= 72
    assert max(map(len, shown.splitlines())) <= 80
    assert main(["judge", str(logs.path), "--for", "oltp", "--json"]) == 3
    data = json.loads(capsys.readouterr().out)
    assert {verdict["answer"] for verdict in data["verdicts"]} == {"not shown", "no"}
    assert main(["judge", str(logs.path), "--for", "etdc"]) == 2
    assert "did you mean etcd?" in capsys.readouterr().err


def test_without_a_use_each_drive_has_one_answer_by_its_own_reviews(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each review answers for the use that it was made for; the other one measured less of it."""
    monkeypatch.chdir(tmp_path)
    for use in ("ceph-osd", "backup"):
        iogauge.review(DISK, use=use, runtime="200ms", seed=1, output=use)
    main(["judge", "ceph-osd", "backup"])
    assert capsys.readouterr().out == (
        "a 7200 rpm hard disk in 2 reviews, judged for 2 uses:\n"
        "ceph-osd  no: a 7200 rpm hard disk (model) (ceph-osd)\n"
        "backup    yes: a 7200 rpm hard disk (model) (backup)\n"
        "why: iogauge judge ceph-osd --for ceph-osd\n"
    )
    # A use that is named is judged by every review.
    assert len(iogauge.judge("ceph-osd", "backup", use="backup")) == 2


def test_without_a_use_of_its_own_a_review_is_judged_for_all_that_it_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "saved"
    iogauge.review([OPTANE, DISK], suites="commit-latency", runtime="200ms", seed=1, output=saved)
    main(["judge", str(saved)])
    first, *rows, why = capsys.readouterr().out.splitlines()
    assert first == "2 targets, judged for 4 uses:"
    assert {row.split()[0] for row in rows if row[0] != " "} == {"ceph-osd", "etcd", "oltp", "wal"}
    assert "etcd      yes: P4800X 375 GB (model)" in rows
    assert "          no: a 7200 rpm hard disk (model)" in rows
    # The first use that is missed, and the review where it is.
    assert why == f"why: iogauge judge {saved} --for ceph-osd"


def test_a_disk_is_fit_for_backups_and_no_flash_is_needed(tmp_path: Path) -> None:
    """A disk's data sheet: some 200 MB/s in order, and a hundred requests a second at random."""
    saved = iogauge.review(DISK, use="backup", runtime="1s", seed=1, output=tmp_path / "backup")
    assert answers(saved, "backup") == {DISK: "yes"}


@pytest.mark.slow
def test_acts_multiples_tell_optane_from_a_disk(tmp_path: Path) -> None:
    """A disk serves some hundred reads a second, and ACT's 1x asks for two thousand."""
    saved = iogauge.review([OPTANE, DISK], use="key-value", runtime="200ms", seed=1, output=tmp_path / "act")
    optane, disk = iogauge.judge(saved, use="key-value")
    assert disk.answer == "no"
    extent = optane.criteria[0].extent
    assert extent is not None
    assert extent.holds is not None
    assert extent.holds >= 24


def test_your_own_profile_is_a_file(
    logs: iogauge.Review, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(
        'title = "my queue"\nuse = "It waits."\n[[criterion]]\nname = "a commit"\nsuite = "commit-latency"\n'
        'series = "write, then fdatasync"\nat = 1\nquantity = "mean"\nat_most = "1s"\nsource = "ours: a test"\n'
    )
    assert answers(logs, str(own)) == {OPTANE: "yes", DISK: "yes"}
    assert main(["plan", OPTANE, "--for", str(own), "--suite", "mixed"]) == 2
    assert "--for" in capsys.readouterr().err
