"""Progress: plain lines that do not flood, a live display on a terminal, estimates that add up."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path

import pytest

from iogauge.cli.terminal.progress import Progress
from iogauge.library.progress import expected_s
from iogauge.live.wording import described
from iogauge.schema import Direction, Job
from tests import builders, report_records

READ = Direction.READ


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def tally(ios: int = 1_000):
    return builders.tally({50_000: ios}, block_bytes=4096)


def plain(steps: int = 1) -> tuple[Progress, io.StringIO, Clock]:
    stream, clock = io.StringIO(), Clock()
    return Progress(title="review", steps=steps, stream=stream, clock=clock), stream, clock


def test_anything_but_a_terminal_gets_plain_lines() -> None:
    progress, stream, clock = plain(steps=2)
    with progress:
        progress.step("100 MB/s", expected_s=10)
        progress.started(report_records.plan([Job(name="reader")]))
        clock.now += 6
        progress.interval(builders.interval(5, {READ: tally()}))
        progress.message("a word")
        clock.now += 4
        rows = [builders.row("pressure", {}), builders.row("reader", {READ: tally(2_700)})]
        progress.ended(builders.manifest([]).plans[0], builders.record(rows))
        progress.step("200 MB/s", expected_s=10)
        clock.now += 12
    assert stream.getvalue().splitlines() == [
        "[1/2] 100 MB/s: 6 s in, 14 s left; reader: read 1,000 IOPS 4.096 MB/s mean 50.00 us p99 50.00 us",
        "a word",
        "[1/2] 100 MB/s: read 900 IOPS 3.686 MB/s mean 50.00 us p99 50.00 us; took 10 s",
        "[2/2] 200 MB/s: done in 12 s",
    ]


def test_how_warm_the_drive_is_is_said_where_it_is_known() -> None:
    warm = iter([41.6, None])
    stream, clock = io.StringIO(), Clock()
    progress = Progress(title="review", stream=stream, clock=clock, temperature_C=lambda: next(warm))
    with progress:
        progress.step("drive", expected_s=20)
        for index in range(2):
            clock.now += 6
            progress.interval(builders.interval(index, {READ: tally()}))
    lines = [line.partition(";")[0] for line in stream.getvalue().splitlines()]
    assert lines == ["drive, about 20 s", "drive: 6 s in, 14 s left, 42 °C", "drive: 12 s in, 8 s left"]


def test_plain_lines_come_no_closer_than_five_seconds() -> None:
    progress, stream, clock = plain()
    with progress:
        progress.step("drive", expected_s=None)
        for index in range(1_000):
            clock.now += 0.009
            progress.interval(builders.interval(index, {READ: tally()}))
    between = [line for line in stream.getvalue().splitlines() if " in; " in line]
    assert len(between) == 1


def test_virtual_time_says_how_much_of_it_passed_and_what_is_left_of_ours() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = Progress(title="review", virtual=True, stream=stream, clock=clock)
    with progress:
        progress.step("model:p4800x", expected_s=1000)
        clock.now += 6
        progress.interval(builders.interval(299, {READ: tally()}))
        clock.now += 6
        progress.interval(builders.interval(99, {READ: tally()}, stage=1))
    assert stream.getvalue().splitlines() == [
        "model:p4800x",
        "model:p4800x: 6 s in, 5 min 00 s of 16 min 40 s simulated, 14 s left; "
        "row 0: read 1,000 IOPS 4.096 MB/s mean 50.00 us p99 50.00 us",
        "model:p4800x: 12 s in, 6 min 40 s of 16 min 40 s simulated, 18 s left; "
        "row 0: read 1,000 IOPS 4.096 MB/s mean 50.00 us p99 50.00 us",
    ]


def test_virtual_time_without_an_end_promises_none() -> None:
    stream, clock = io.StringIO(), Clock()
    with Progress(title="run", virtual=True, stream=stream, clock=clock) as progress:
        progress.step("model:p4800x", expected_s=None)
        clock.now += 6
        progress.interval(builders.interval(299, {READ: tally()}))
    assert "6 s in, 5 min 00 s simulated; row 0: " in stream.getvalue()


def test_the_time_left_follows_what_steps_really_took() -> None:
    progress, stream, clock = plain(steps=4)
    with progress:
        progress.step("a", expected_s=10)
        clock.now += 20
        progress.step("b", expected_s=10)
        clock.now += 6
        progress.interval(builders.interval(5, {READ: tally()}))
    # 4 s of this step, and two more that took 20 s so far.
    assert "6 s in, 44 s left" in stream.getvalue()


def test_a_step_that_raises_is_not_done() -> None:
    progress, stream, clock = plain(steps=2)

    def interrupted() -> None:
        with progress:
            progress.step("a", expected_s=None)
            clock.now += 3
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert stream.getvalue().splitlines()[-1] == "[1/2] a: stopped after 3 s"


def test_a_terminal_gets_a_display_and_messages_that_stay() -> None:
    stream, clock = Terminal(), Clock()
    with Progress(title="review", steps=3, stream=stream, clock=clock) as progress:
        progress.step("100 MB/s", expected_s=10)
        progress.started(report_records.plan([Job(name="reader")]))
        progress.interval(builders.interval(0, {READ: tally()}))
        clock.now += 5
        progress.message("[brackets] are not markup")
        drawn = str(progress._drawn())
    assert drawn.splitlines() == [
        "review [1/3] 100 MB/s",
        "  [####....................] 5 s in, 25 s left",
        "  reader: read 1,000 IOPS 4.096 MB/s mean 50.00 us p99 50.00 us",
    ]
    assert "[brackets] are not markup" in stream.getvalue()


def test_rows_beyond_eight_are_counted_and_those_of_earlier_stages_forgotten() -> None:
    progress, _, _ = plain()
    with progress:
        progress.step("drive", expected_s=None)
        progress.interval(builders.interval(0, row=99))
        for row in range(10):
            progress.interval(builders.interval(0, {READ: tally()}, row=row, stage=1))
        rows = progress._rows()
    assert rows[-1] == "and 2 rows more"
    assert len(rows) == 9
    assert not any("row 99" in row for row in rows)


def test_an_interval_says_what_it_lacks() -> None:
    assert described(builders.interval(0)) == "nothing completed"
    assert described(builders.interval(0, {READ: tally()}, ramp=True)).startswith("ramp, read 1,000 IOPS")
    failing = builders.tally((), errors={5: 3})
    assert described(builders.interval(0, {READ: failing})) == "read 0 IOPS 3 errors"


def test_the_expected_time_is_known_where_every_worker_has_a_limit() -> None:
    plan = report_records.plan([Job(name="a"), Job(name="b")])
    assert expected_s(plan) == 3
    stage = plan.stages[0]
    endless = stage.workers[0].model_copy(update={"runtime_ns": 0})
    assert (
        expected_s(plan.model_copy(update={"stages": (stage.model_copy(update={"workers": (endless,)}),)}))
        is None
    )


def test_what_goes_into_a_file_is_no_part_of_a_display(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tmp_path / "results"
    master, terminal = os.openpty()
    with os.fdopen(terminal, "w") as stderr, results.open("w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        with Progress(title="run", stream=stderr):
            print("the results so far")
    os.close(master)
    assert results.read_text() == "the results so far\n"


def test_a_terminal_keeps_a_line_for_every_finished_step() -> None:
    stream, clock = Terminal(), Clock()
    with Progress(title="review", steps=2, stream=stream, clock=clock) as progress:
        progress.step("Mixed of /dev/nvme0n1, 70 %", expected_s=10)
        clock.now += 10
        progress.step("Mixed of /dev/nvme0n1, 30 %", expected_s=10)
        clock.now += 11
    kept = stream.getvalue()
    assert "[1/2] Mixed of /dev/nvme0n1, 70 %: done in 10 s\n" in kept
    assert "[2/2] Mixed of /dev/nvme0n1, 30 %: done in 11 s\n" in kept


@pytest.mark.parametrize(
    ("columns", "kept"),
    [
        (
            200,
            "[1/2] Mixed of model:p4800x, 70 %: read 900 IOPS 3.686 MB/s mean 50.00 us p99 50.00 us; took 10 s",
        ),
        (90, "[1/2] Mixed of model:p4800x, 70 %: read 900 IOPS 3.686 MB/s mean 50.00 us p99 50.00 us"),
        (80, "[1/2] Mixed of model:p4800x, 70 %: read 900 IOPS mean 50.00 us p99 50.00 us"),
        (64, "[1/2] Mixed of model:p4800x, 70 %: read 900 IOPS p99 50.00 us"),
        (60, "[1/2] ...of model:p4800x, 70 %: read 900 IOPS p99 50.00 us"),
        (50, "[1/2] ...70 %: read 900 IOPS p99 50.00 us"),
        (30, "[1/2] ...70 %: read 900 IOPS"),
    ],
)
def test_a_line_that_is_too_wide_loses_parts_and_no_figure_is_cut(
    columns: int, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    stream, clock = Terminal(), Clock()
    with Progress(title="review", steps=2, stream=stream, clock=clock) as progress:
        progress.step("Mixed of model:p4800x, 70 %", expected_s=10)
        clock.now += 10
        row = builders.row("reader", {READ: tally(2_700)})
        progress.ended(builders.manifest([]).plans[0], builders.record([row]))
        progress.step("Mixed of model:p4800x, 30 %", expected_s=10)
    assert kept in visible(stream).splitlines()


def test_virtual_steps_which_run_at_once_have_no_time_of_their_own() -> None:
    stream, clock = io.StringIO(), Clock()
    with Progress(title="review", steps=2, virtual=True, stream=stream, clock=clock) as progress:
        progress.step("70 %", expected_s=10)
        clock.now += 1
        progress.ended(
            builders.manifest([]).plans[0],
            builders.record([builders.row("reader", {READ: tally(2_700)})]),
        )
        progress.step("30 %", expected_s=10)
    assert stream.getvalue().splitlines() == [
        "[1/2] 70 %: read 900 IOPS 3.686 MB/s mean 50.00 us p99 50.00 us",
        "[2/2] 30 %: done",
    ]


def visible(stream: io.StringIO) -> str:
    """Return what was written to a terminal, one after the other, without its control sequences."""
    return re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", stream.getvalue().replace("\r", "\n"))


def test_no_display_of_a_step_is_left_when_the_step_ends() -> None:
    stream, clock = Terminal(), Clock()
    with Progress(title="review", steps=3, stream=stream, clock=clock) as progress:
        for step in ("first", "second", "third"):
            progress.step(step, expected_s=10)
            clock.now += 4
            progress.message("a word")
    shown = visible(stream)
    for number, step in enumerate(("first", "second", "third"), 1):
        before, ended, after = shown.partition(f"[{number}/3] {step}: done in 4 s")
        assert ended
        assert before.rfind(f"review [{number}/3] {step}") > before.rfind(f"[{number - 1}/3]"), (
            "it is displayed"
        )
        assert step not in after


def test_no_more_is_simulated_than_the_whole() -> None:
    stream, clock = Terminal(), Clock()
    with Progress(title="review", virtual=True, stream=stream, clock=clock) as progress:
        progress.step("first", expected_s=2)
        progress.started(report_records.plan([Job(name="reader")]))
        progress.interval(builders.interval(2, {READ: tally()}))
        assert "2 s of 2 s simulated" in str(progress._drawn())


@pytest.mark.parametrize("columns", [200, 80, 60, 40])
def test_the_display_is_as_wide_as_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    stream, clock = Terminal(), Clock()
    with Progress(
        title="review of model:p4800x",
        steps=3,
        virtual=True,
        stream=stream,
        clock=clock,
        temperature_C=lambda: 42,
    ) as progress:
        progress.step("A reader under writers of model:p4800x, 2,100 MB/s", expected_s=3600)
        progress.started(report_records.plan([Job(name="reader")]))
        progress.interval(builders.interval(0, {READ: tally()}))
        clock.now += 75
        lines = str(progress._drawn()).splitlines()
    assert max(map(len, lines)) <= columns
    assert "2,100 MB/s" in lines[0]
    assert " left" in lines[1]
    assert lines[2].startswith("  reader: read 1,000 IOPS")
    assert ("mean" in lines[2]) == (columns >= 60)


def places(stream: io.StringIO) -> list[str]:
    return [line.partition("step")[0].rstrip() for line in stream.getvalue().splitlines()]


def test_a_search_is_not_counted_and_steps_that_can_follow_are_a_plus() -> None:
    stream, clock = io.StringIO(), Clock()
    with Progress(title="review", steps=2, stream=stream, clock=clock) as progress:
        progress.step("step of a search", expected_s=10, ahead=0, search=True, more=True)
        progress.step("step 1", expected_s=10, ahead=2, more=True)
        progress.step("step 2", expected_s=10, ahead=1, more=True)
        progress.step("step 3", expected_s=10, ahead=1)
        progress.step("step 4", expected_s=10, ahead=0)
    assert places(stream) == ["", "[1/3+]", "[2/3+]", "[3/4]", "[4/4]"]


def test_where_each_step_follows_from_the_last_no_number_is_promised() -> None:
    stream, clock = io.StringIO(), Clock()
    with Progress(title="find", stream=stream, clock=clock) as progress:
        for step in ("step 1", "step 2"):
            progress.step(step, expected_s=10, ahead=0, more=True)
        progress.step("step 3", expected_s=10, ahead=1, more=True)
    assert places(stream) == ["[1]", "[2]", "[3/4+]"]
