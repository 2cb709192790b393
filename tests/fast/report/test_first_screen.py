"""The first screen: key figures with their intervals, findings by effect and sureness, short names, the hero chart."""

from __future__ import annotations

import html
import json
import math
import re
from pathlib import Path

import pytest

import iogauge
from iogauge.cli import main
from iogauge.library.reading.report import read_report
from iogauge.report.page import render
from iogauge.report.page.first_screen import ranked, subject
from iogauge.report.page.key_figures import KeyFigure, _key_figure, key_figures
from iogauge.report.page.verdict import REMARK, shown_effect
from iogauge.report.sections import Report
from iogauge.results.names import short_name
from iogauge.stats.figure import Figure
from iogauge.stats.figures import Ratio
from iogauge.text.cells import micro
from iogauge.verdicts.text import sentence
from tests import reviews
from tests.reviews import Drive

STEPS = (100, 300, 700)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first")
    small = {"seconds": 12, "reads_a_second": 400}
    reviews.save(folder / "flash", Drive(**small), pressures_MBps=STEPS)
    reviews.save(folder / "other", Drive("Crosspoint", base_us=9, slope=0.05, **small), pressures_MBps=STEPS)
    return folder


def test_key_figures_are_the_ends_of_the_axis_with_their_intervals(folder: Path) -> None:
    report = Report.of([folder / "flash"])
    first, *_, last = report.drives[0].positions
    figures = {figure.name: figure for figure in key_figures(report)}
    assert 4 <= len(figures) <= 6
    mean = first.figures.mean
    assert mean is not None
    assert mean.low is not None
    assert mean.high is not None
    least = figures[f"Mean at {first.achieved_Bps / 1e6:.1f} MB/s of writes"]
    # Two digits of the interval's width.
    decimals = 1 - math.floor(math.log10((mean.high - mean.low) / 1000))
    value, low, high = (f"{bound / 1000:.{decimals}f}" for bound in (mean.value, mean.low, mean.high))
    assert (least.value, least.interval, least.unsupported) == (f"{value} µs", f"{low}–{high} µs", "")
    assert float(figures["Most writes"].value.removesuffix(" MB/s")) == pytest.approx(
        last.achieved_Bps / 1e6, rel=5e-3
    )


def test_a_key_figure_that_its_sample_does_not_support_says_so() -> None:
    rare = Figure(7_999_000, 5_235_000, None, supported=False, needed=1000, long_enough=False)
    assert _key_figure("p99", rare) == KeyFigure("p99", "~?8.0 ms", "≥ 5.2 ms", "needs 1,000; run too short")
    rate = Figure(1.89e9, 1e8, 3.6e10, unit="B/s")
    assert _key_figure("Most", rate) == KeyFigure("Most", "2,000 MB/s", "100–36,000 MB/s")


def test_of_a_comparison_they_are_ratios_and_each_drive_has_as_many(folder: Path) -> None:
    report = Report.of([folder / "flash", folder / "other"])
    names = [figure.name for figure in key_figures(report)]
    assert 4 <= len(names) <= 6
    assert any(figure.value.endswith("x") for figure in key_figures(report))
    counts = [sum(name.startswith(label) for name in names) for label in report.tested]
    assert len(set(counts)) == 1


def test_a_ratio_says_what_is_divided_by_what_and_agrees_with_the_headline(folder: Path) -> None:
    for names, divided in (
        (("flash", "other"), "Flash 9000 / Crosspoint"),
        (("other", "flash"), "Flash 9000 / Crosspoint"),
    ):
        report = Report.of([folder / name for name in names])
        ratios = [figure for figure in key_figures(report) if figure.value.endswith("x")]
        assert ratios
        assert all(figure.name.endswith(divided) for figure in ratios if "mean" in figure.name.lower())
        assert all(float(figure.value.rstrip("x").replace(",", "")) >= 1 for figure in ratios)
        assert ratios[0].value in ranked(report)[0].text


def test_the_surest_and_greatest_effect_leads(folder: Path) -> None:
    findings = ranked(Report.of([folder / "flash"]))
    effects = [finding.sentence.effect for finding in findings]
    assert effects == sorted(effects, reverse=True)
    assert effects[0] > 0
    assert "read latency grew" in findings[0].text


@pytest.mark.parametrize(
    ("change", "effect"),
    [
        (Ratio(8.0, 4.0, 16.0), math.log(4)),
        (Ratio(1 / 8, 1 / 16, 1 / 4), math.log(4)),
        (Ratio(8.0, 0.9, 16.0), 0.0),
        (Ratio(8.0, None, None), 0.0),
        (Ratio(math.inf, None, None), 0.0),
    ],
)
def test_an_effect_is_what_its_interval_shows_at_least(change: Ratio, effect: float) -> None:
    assert shown_effect(change) == pytest.approx(effect)


def test_remarks_come_last(tmp_path: Path) -> None:
    reviews.save(tmp_path / "short", Drive(seconds=3, reads_a_second=400), pressures_MBps=STEPS)
    *_, last = ranked(Report.of([tmp_path / "short"]))
    assert last.sentence.effect == REMARK
    assert "too short" in last.text


def test_what_was_tested_is_a_line_with_the_full_name(folder: Path) -> None:
    line = subject(Report.of([folder / "flash", folder / "other"]))
    assert line.startswith("Flash 9000, Crosspoint · ")
    assert "\n" not in line


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a review for two uses. The disk misses the limit of commits with O_DSYNC by four threads."""
    path = tmp_path_factory.mktemp("judged") / "saved"
    iogauge.review("model:disk-7200", use=["etcd", "ceph-osd"], runtime="200ms", seed=1, output=path)
    return path


def test_a_page_keeps_the_verdict_of_its_review_and_leads_with_what_decides(judged: Path) -> None:
    report = read_report([judged])
    (etcd, osd) = report.verdicts
    assert (etcd.profile.name, osd.profile.name) == ("etcd", "ceph-osd")
    assert report.lead is not None
    assert report.lead.answer == "no"
    decides = report.lead.deciding
    assert report.hero is not None
    assert report.hero.series == decides.criterion.series
    first = key_figures(report)[0]
    assert first.name.lower().startswith(decides.criterion.name.lower())
    page = render.page(report)
    text = html.unescape(re.sub(r"<[^>]+>", " ", page[page.index("<main>") :]))
    assert text.index(f"{micro(sentence(etcd))}.") < text.index("Findings")
    assert "Judged for a Ceph OSD" in text
    assert "modelled: P4800X 375 GB" in text


def test_markdown_and_show_keep_it_too(judged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (
        ["report", "--format=md"],
        ["report", "--format=md", "-v"],
        ["show"],
        ["show", "-v"],
        ["judge"],
    ):
        main([command[0], str(judged), *command[1:]])
        said = capsys.readouterr().out
        assert "7200 rpm hard disk" in said
        assert "etcd" in said, command
        assert "Ceph OSD" in said or "ceph-osd" in said, command
    main(["show", str(judged), "--json"])
    assert len(json.loads(capsys.readouterr().out)["verdicts"]) == 2
    main(["show", str(judged), "--suite=mixed"])
    assert "etcd" not in capsys.readouterr().out


def test_a_use_whose_file_is_gone_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        'title = "a"\nuse = "b"\n[[criterion]]\nname = "c"\nsuite = "mixed"\nat = 70\nquantity = "iops"\n'
        'at_least = 1\nsource = "ours"\n'
    )
    saved = tmp_path / "saved"
    iogauge.review("model:ram", use=str(own), runtime="100ms", seed=1, output=saved)
    own.unlink()
    for command in ("report", "show"):
        assert main([command, str(saved)]) == 0
        assert f"warning: not judged: {own}: no such file" in capsys.readouterr().err.replace("\n", " ")


def test_an_overview_has_a_panel_for_each_suite_and_captions_name_their_origin(tmp_path: Path) -> None:
    review = [
        "review",
        "model:p4800x",
        "--suite=mixed",
        "--suite=write-pressure",
        "--runtime=20ms",
        "--seed=1",
    ]
    assert main([*review, f"--output={tmp_path}/r"]) == 0
    report = Report.of([tmp_path / "r"])
    assert report.hero is not None
    assert report.hero.name == "overview"
    assert set(report.hero.table.column("suite")) == {section.plan.title for section in report.sections}
    (overview, *_) = report.charts
    _, caption = overview.spec("only")["title"]["subtitle"]
    assert caption.startswith("P4800X 375 GB, model · ")
    assert report.reviews[0].manifest.machine.kernel in caption
    assert report.reviews[0].manifest.created_at[:10] in caption
    assert "iogauge " in caption


@pytest.mark.parametrize(
    ("model", "short"),
    [
        ("Intel Optane SSD DC P4800X 375GB", "P4800X 375 GB"),
        ("Micron 9100 MAX 2.4TB", "9100 MAX 2.4 TB"),
        ("SAMSUNG MZVL2512HCJQ-00B00", "MZVL2512HCJQ-00B00"),
        ("Intel Optane Memory 32GB", "Intel Optane Memory 32 GB"),
        ("Samsung", "Samsung"),
        ("", ""),
    ],
)
def test_a_short_name_is_the_model_s_number(model: str, short: str) -> None:
    assert short_name(model) == short


def test_two_drives_that_would_share_a_short_name_keep_their_own(tmp_path: Path) -> None:
    for maker in ("Samsung", "Micron"):
        reviews.save(
            tmp_path / maker, Drive(f"{maker} X9", seconds=1, reads_a_second=100), pressures_MBps=(100,)
        )
    assert list(Report.of([tmp_path / "Samsung", tmp_path / "Micron"]).tested) == ["Samsung X9", "Micron X9"]
