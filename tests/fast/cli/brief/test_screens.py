"""What the commands print fits on a screen: at most 24 or 30 lines, none wider than the terminal, no number cut."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import iogauge
from iogauge.cli import main
from iogauge.cli.brief.run import run_text
from iogauge.library.reading import report
from iogauge.report.page.first_screen import ranked
from iogauge.report.run.interval_stats import IntervalStats
from iogauge.stats.figure import Figure
from iogauge.store import Review
from iogauge.suites.quick import ROWS
from iogauge.text import numbers
from tests import builders, reviews

NARROW, WIDE = 80, 200
RUN_LINES, REVIEW_LINES = 24, 30
TARGETS = ("p4800x", "ram", "optane-memory-32g")
"""Models that need no preparation."""
RUN = ("--no-ceiling", "--seed=1", "--time_based", "--runtime=100ms", "--filename=model:p4800x", "--bs=4k")
LOADS = {
    "one": (*RUN, "--name=x", "--rw=randrw"),
    "scheduled": (*RUN, "--name=x", "--rw=randread", "--rate_iops=1000"),
    "commits": (*RUN, "--name=x", "--rw=write", "--fsync=1", "--size=1m"),
    "own percentiles": (*RUN, "--name=x", "--rw=randread", "--percentile_list=5:25:75:99:99.999"),
    "many jobs": (
        "--no-ceiling",
        *(word for n in range(30) for word in (f"--name=job{n}", *RUN[1:], "--rw=randrw")),
    ),
}
"""Each job of a model, in virtual time."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reviews of models: by two suites, and of three targets; and two made-up drives, with repeats."""
    place = tmp_path_factory.mktemp("reviews")
    short = ("--runtime=2ms", "--seed=1")
    for name, arguments in {
        "suites": ("model:p4800x", "--suite=mixed", "--suite=commit-latency"),
        "targets": (*(f"model:{target}" for target in TARGETS), "--suite=mixed", "--suite=commit-latency"),
    }.items():
        assert main(["review", *arguments, *short, f"--output={place / name}"]) == 0
    fast = reviews.Drive(model="Fast", base_us=10, slope=0.05, limit_MBps=2000)
    reviews.save(place / "flash", pressures_MBps=(0, 100, 300, 500), repeats=3)
    reviews.save(place / "fast", fast, pressures_MBps=(0, 200, 300, 900), seed=2, repeats=3)
    return place


def screen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int, *arguments: str
) -> list[str]:
    """Return the lines of a command on a terminal of this width: its results, then its warnings."""
    monkeypatch.setenv("COLUMNS", str(columns))
    capsys.readouterr()
    assert main([*arguments]) == 0
    out, err = capsys.readouterr()
    warnings = [line for line in err.splitlines() if line.startswith(("warning: ", "context: ", "   hint: "))]
    return [*out.splitlines(), *warnings]


def head_of(lines: list[str]) -> list[str]:
    """Return the head of the first table."""
    return next(
        re.split(r"  +", line.strip())
        for line in lines
        if re.search(r"( mean| figure)( |$)", line) and "  " in line
    )


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("columns", [NARROW, WIDE])
def test_a_run(
    load: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = screen(capsys, monkeypatch, columns, "run", *LOADS[load])
    assert len(lines) <= RUN_LINES
    assert max(map(len, lines)) <= columns
    assert " a second" in " ".join(lines[:3])
    assert "-v shows everything" in lines
    assert ("... " in " ".join(lines)) == (load == "many jobs")


def test_a_wide_terminal_has_more_columns_of_a_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow, wide = (
        head_of(screen(capsys, monkeypatch, columns, "run", *LOADS["one"])) for columns in (NARROW, WIDE)
    )
    assert [head for head in wide if head in narrow] == narrow
    assert len(wide) > len(narrow)
    # The first columns to go are those that say least.
    assert {"IOPS", "mean", "p99"} <= set(narrow)
    assert {"stddev", "I/Os"} <= set(wide) - set(narrow)


def test_verbose_is_the_whole_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = screen(capsys, monkeypatch, NARROW, "run", *LOADS["one"], "-v")
    assert any(line.startswith("  worker ") for line in lines)
    assert lines != screen(capsys, monkeypatch, NARROW, "run", *LOADS["one"])


@pytest.mark.parametrize("name", ["suites", "targets", "flash"])
@pytest.mark.parametrize("columns", [NARROW, WIDE])
def test_a_saved_review(
    name: str,
    columns: int,
    saved: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = screen(capsys, monkeypatch, columns, "show", f"{saved}/{name}")
    assert len(lines) <= REVIEW_LINES
    # A command is for copying: it is as long as the path in it.
    assert max(len(line) for line in lines if "iogauge " not in line) <= columns
    assert re.search(r", (\d+) of \1 steps, pace ", lines[0])
    assert lines[1] != ""  # the finding
    verbose = screen(capsys, monkeypatch, columns, "show", f"{saved}/{name}", "--verbose")
    assert len(verbose) > len(lines)


MADE = {
    "a search": ("find", "--limit=p99 < 100us", "--precision=0.2"),
    "a minute": ("quick",),
    "a verdict": ("review", "--for=etcd"),
    "a suite": ("review", "--suite=mixed"),
}
"""Commands that measure a model and save a review; each has a screen of its own."""


@pytest.mark.parametrize("kind", MADE)
def test_show_prints_what_the_command_printed_that_measured(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command, *options = MADE[kind]
    path = f"{tmp_path}/r"
    arguments = (command, "model:p4800x", *options, "--runtime=20ms", "--seed=1", f"--output={path}")
    monkeypatch.setenv("COLUMNS", str(NARROW))
    assert main([*arguments]) == 0
    made = capsys.readouterr().out.splitlines()
    assert main(["show", path]) == 0
    shown = capsys.readouterr().out.splitlines()
    # Measuring again is no way to see more of what was measured.
    *made, everything, following = made
    assert (everything, following) == (f"everything: iogauge show {path} -v", f"next: iogauge report {path}")
    assert shown == [*made, "-v shows everything"]
    assert len(shown) <= REVIEW_LINES
    assert not any("-v" in line for line in made)


def test_a_verdict_reads_no_review_a_second_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{tmp_path}/r"
    assert main(["review", "model:p4800x", "--for=etcd", "--runtime=2ms", f"--output={path}"]) == 0
    opened = []
    once = Review.open
    monkeypatch.setattr(
        Review, "open", lambda path, **options: (opened.append(path), once(path, **options))[1]
    )
    assert main(["show", path]) == 0
    assert len(opened) == 1
    assert "P4800X 375 GB (model)" in capsys.readouterr().out, "the short name of a drive"


def test_several_targets_are_shown_as_their_review_showed_them(
    saved: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("suites", "targets"):
        shown = screen(capsys, monkeypatch, NARROW, "show", f"{saved}/{name}")
        made = screen(capsys, monkeypatch, NARROW, "review", "--resume", f"{saved}/{name}")
        assert len(made) <= REVIEW_LINES
        assert f"next: iogauge report {saved}/{name}" in made
        assert made[:4] == shown[:4]


def test_a_row_of_a_suite_is_of_the_step_that_it_names(
    saved: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = screen(capsys, monkeypatch, WIDE, "show", f"{saved}/suites")
    review = iogauge.open_review(saved / "suites")
    for suite in review:
        line = next(line for line in lines if line.startswith(f"{suite.plan.title}  "))
        _, step, iops, _, mean, *_ = re.split(r"  +", line)
        figures = suite[step].figures
        assert figures.iops == max(position.figures.iops for position in suite)
        assert iops == f"{float(iops.replace(',', '')):,.0f}"
        assert float(iops.replace(",", "")) == pytest.approx(figures.iops, rel=5e-3)
        assert mean == numbers.in_digits(*bounds(figures.mean), numbers.duration)[0]


def bounds(figure: Figure | None) -> tuple[float, float | None, float | None]:
    assert figure is not None
    return figure.value, figure.low, figure.high


def plain(text: str) -> str:
    """Return a text of a page as a terminal shows it."""
    return text.replace("µs", "us").replace("\xa0", " ")


def test_the_terminal_ranks_findings_as_the_page_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    suites = ("--suite=spec", "--suite=mixed", "--suite=reader-under-writers", "--runtime=50ms", "--seed=1")
    assert main(["review", "model:p4800x", *suites, f"--output={tmp_path}/r"]) == 0
    shown = screen(capsys, monkeypatch, 400, "show", f"{tmp_path}/r")
    page = ranked(report.read_report([f"{tmp_path}/r"]))
    assert shown[1] == plain(page[0].headline)
    bullets = [line.removeprefix("- ") for line in shown if line.startswith("- ")]
    assert bullets == [plain(finding.text) for finding in page[1 : len(bullets) + 1]]
    assert len(bullets) > 4


def test_every_target_of_a_review_has_a_row(
    saved: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = screen(capsys, monkeypatch, NARROW, "show", f"{saved}/targets")
    for target in TARGETS:
        assert sum(bool(re.search(rf"(^| ){target}  ", line)) for line in lines) == 2


@pytest.mark.parametrize(
    "names", [("fast", "flash"), ("targets",), ("suites", "targets"), ("targets", "published")]
)
@pytest.mark.parametrize("columns", [NARROW, WIDE])
def test_a_comparison(
    names: tuple[str, ...],
    columns: int,
    saved: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = screen(capsys, monkeypatch, columns, "compare", *(_path(saved, name) for name in names))
    assert len(lines) <= REVIEW_LINES
    assert max(map(len, lines)) <= columns
    assert lines[0].startswith("A is ")
    assert "-v shows everything" in lines


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Reviews of two models by two suites, with more rows than fit on a screen."""
    place = tmp_path_factory.mktemp("both")
    paths = [f"{place}/{target}" for target in ("p4800x", "optane-memory-32g")]
    suites = ("--suite=queue-depth", "--suite=mixed", "--runtime=20ms", "--seed=1")
    for path in paths:
        assert main(["review", f"model:{Path(path).name}", *suites, f"--output={path}"]) == 0
    return paths


@pytest.mark.parametrize("columns", [NARROW, WIDE])
def test_every_row_of_a_comparison_names_its_step(
    columns: int, both: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = screen(capsys, monkeypatch, columns, "compare", *both)
    assert sum("Intel Optane SSD DC P4800X 375GB" in line for line in lines) == 1, "the full name once"
    head = re.split(r"  +", next(line for line in lines if line.startswith("step  ")))
    assert head[1:5] == ["figure", "A", "B", "B has"], "the numbers are the last to go"
    assert ("finding" in head) == (columns == WIDE)
    rows = [re.split(r"  +", line)[:2] for line in lines if re.search(r"  (IOPS|p99)  ", line)]
    assert len({*map(tuple, rows)}) == len(rows)
    assert len(lines) == REVIEW_LINES, "more rows than fit: those that fit are there"
    assert all(re.search(r"\d+ (in flight|%)$", name) for name, _ in rows)
    if columns == WIDE:
        assert all(name.startswith(("Queue depth, ", "Mixed reads and writes, ")) for name, _ in rows)
        assert not any("..." in name for name, _ in rows)
    assert sum(line.startswith("... ") for line in lines) == 1
    assert not any("..." in line for line in lines if line not in rows and re.match(r"[?~o]", line))


def test_two_minutes_are_side_by_side_row_by_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [f"{tmp_path}/{target}" for target in ("p4800x", "optane-memory-32g")]
    for path in both:
        target = f"model:{Path(path).name}"
        assert main(["quick", target, "--runtime=50ms", "--seed=1", f"--output={path}"]) == 0
    lines = screen(capsys, monkeypatch, NARROW, "compare", *both)
    assert max(map(len, lines)) <= NARROW
    table = [re.split(r"  +", line) for line in lines if line.startswith(("SEQ1M", "RND4K"))]
    assert [tuple(row[:2]) for row in table] == [
        (row.label, figure) for row in ROWS for figure in ("IOPS" if row.random else "MB/s", "p99")
    ]
    for label, figure, *values in table:
        a, b = (iogauge.open_review(path).suite("quick")[label].figures for path in both)
        if figure == "MB/s":
            for value, figures in zip(values, (a, b), strict=False):
                assert float(value.replace(",", "")) == pytest.approx(figures.rate_Bps / 1e6, rel=0.05)
        times, way = re.match(r"[~?]*([\d.]+)x (less|more)", values[2]).groups()  # ty: ignore
        assert float(times) >= 1
        first, second = (it.quantile(0.99).value if figure == "p99" else it.rate_Bps for it in (a, b))
        assert (way == "less") == (second < first)
        assert float(times) == pytest.approx(max(first / second, second / first), rel=0.05)


@pytest.mark.parametrize("columns", [NARROW, WIDE])
def test_a_comparison_explains_the_marks_that_it_shows_and_cuts_no_sentence(
    columns: int, saved: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for names in (("fast", "flash"), ("targets",), ("suites", "targets")):
        lines = screen(capsys, monkeypatch, columns, "compare", *(f"{saved}/{name}" for name in names))
        for mark, meaning in (("~", numbers.TOO_FEW), ("?", numbers.TOO_SHORT)):
            assert (meaning in lines) == any(re.search(rf"\{mark}[~?]*\d", line) for line in lines)
        assert not any(line.endswith("...") for line in lines[lines.index("") :])


def _path(saved: Path, name: str) -> str:
    return name if name == "published" else f"{saved}/{name}"


def test_a_run_that_ended_before_it_had_a_row() -> None:
    text = run_text(builders.record([]), IntervalStats(interval_ns=10**9), columns=NARROW)
    assert text.startswith("nothing completed\n")
