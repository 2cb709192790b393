"""The page: one file without network, in which names are never markup and missing steps are named."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from iogauge.cli import main
from iogauge.errors import IogaugeError
from iogauge.report.page import render, verdict
from iogauge.report.sections import Report
from iogauge.results.review import load
from iogauge.results.suite_result import SuiteResult
from iogauge.results.warnings import warnings
from iogauge.schema import SCHEMA_VERSION, Code, Notice
from tests import reviews
from tests.reviews import Drive

HOSTILE = '</script><script>alert(1)</script> <b>&amp; "quoted" \'n {{ 7 * 7 }}'
SMALL: dict[str, Any] = {"seconds": 3, "reads_a_second": 400}
VOID = {"meta", "input", "br", "link", "img", "hr"}


class Page(HTMLParser):
    """What a browser would make of the page: elements with attributes, and text by the element it is in."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def within(self, tag: str) -> list[str]:
        """Return the texts directly in elements ``tag``."""
        return [text for where, text in self.texts if where == tag]

    @property
    def read(self) -> str:
        """All that is read, scripts and styles left out, white space as one space."""
        text = "".join(text for where, text in self.texts if where not in ("script", "style"))
        return re.sub(r"\s+", " ", text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reviews")
    steps = (100, 300, 700)
    reviews.save(folder / "flash", Drive(**SMALL, silent=(1,)), pressures_MBps=steps)
    reviews.save(
        folder / "other", Drive("Crosspoint", base_us=9, slope=0.05, **SMALL), pressures_MBps=(100, 700)
    )
    warning = Notice(code=Code.UNWRITTEN, message=f"found {HOSTILE}", hint="write first")
    hostile = folder / "hostile"
    job_text = f"[{HOSTILE}]\n</pre>\n"
    drive = Drive(HOSTILE, **SMALL)
    reviews.save(hostile, drive, pressures_MBps=steps, missing=(300,), job_text=job_text, warnings=(warning,))
    return folder


@pytest.fixture(scope="module")
def source(folder: Path) -> str:
    return render.page(Report.of([folder / "flash"]))


@pytest.fixture(scope="module")
def page(source: str) -> Page:
    return Page(source)


def test_the_page_asks_nothing_of_any_network(page: Page) -> None:
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form")
        assert "src" not in attributes
        assert not any(name.startswith("on") for name in attributes)
    assert not any("url(" in style or "@import" in style for style in page.within("style"))


def test_its_policy_lets_only_its_own_scripts_run(page: Page) -> None:
    headers = [
        attributes for tag, attributes in page.elements if tag == "meta" and "http-equiv" in attributes
    ]
    ((kind, policy),) = [(header["http-equiv"], header["content"]) for header in headers]
    assert kind == "Content-Security-Policy"
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert "unsafe-eval" not in policy
    scripts = [text for text in page.within("script") if not text.startswith("{")]
    assert len(scripts) == 2
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_charts_travel_as_data_with_every_variant(page: Page) -> None:
    (data,) = [json.loads(text) for text in page.within("script") if text.startswith("{")]
    assert set(data["charts"]) == {
        "write-pressure", "write-pressure-requested", "write-pressure-percentiles",
        "write-pressure-over-time-1", "write-pressure-heat-1",
    }  # fmt: skip
    pressure = data["charts"]["write-pressure"]
    assert list(pressure["choices"]) == ["mean", "median", "p99", "p99.9", "p99.99"]
    assert set(pressure["specs"]) == {"linear", "log"}
    assert all(set(choice["patches"]) == set(pressure["specs"]) for choice in pressure["choices"].values())
    # A row leaves out at its front what it has in common with the one before.
    assert len(pressure["values"][0]) == len(pressure["columns"])
    assert all(0 < len(row) <= len(pressure["columns"]) for row in pressure["values"])
    assert all("datasets" not in spec for spec in pressure["specs"].values())


def test_without_scripts_charts_are_there_as_pictures_but_those_of_thousands_of_marks(page: Page) -> None:
    assert sum(tag == "figure" for tag, _ in page.elements) == 5
    assert sum(tag == "svg" for tag, _ in page.elements) == 4
    assert page.read.count("Drawn by this page's scripts.") == 1


def test_controls_have_names_and_values(page: Page) -> None:
    radios = [attributes for tag, attributes in page.elements if tag == "input"]
    assert [r["value"] for r in radios if r["name"] == "write-pressure-choice"] == [
        "mean", "median", "p99", "p99.9", "p99.99",
    ]  # fmt: skip
    buttons = [attributes.get("aria-label") for tag, attributes in page.elements if tag == "button"]
    assert buttons.count("Save as CSV") == 5
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    labelled = [
        attributes["aria-labelledby"] for _, attributes in page.elements if "aria-labelledby" in attributes
    ]
    assert set(labelled) <= set(ids)


def test_verdict_table_environment_and_jobs_are_there(page: Page) -> None:
    read = page.read
    assert "Mean read latency grew " in read
    assert "Writes reached" in read
    assert "needs 100,000" in read
    assert "fewer than 10 intervals" in read
    assert re.search(
        r"One in twenty steps of [\d.]+ s misses a stall that comes at random about every [\d.]+ s\.", read
    )
    assert "true intervals are wider" in read
    assert "requests assumed independent" in read
    assert "1 interval without a read" in read
    for fact in (
        "bench-1",
        "Example CPU",
        "S3E4",
        "5,000,000 IOPS on the null engine",
        "iogauge review drive.bin",
    ):
        assert fact in read
    assert read.count("rw=randwrite") == 3
    assert "iogauge run at-0700.fio --seed 3" in read
    assert "Incomplete" not in read


@pytest.fixture(scope="module")
def hostile(folder: Path) -> Page:
    return Page(render.page(Report.of([folder / "hostile"])))


def test_hostile_names_stay_text(hostile: Page) -> None:
    page = hostile
    assert sum(tag == "script" for tag, _ in page.elements) == 3
    assert HOSTILE in page.read
    assert f"found {HOSTILE}" in page.read
    assert any(f"[{HOSTILE}]\n</pre>\n" in text for text in page.within("code"))
    assert all("alert" not in text for text in page.within("b"))


def test_an_incomplete_review_is_reported_as_far_as_it_got(hostile: Page) -> None:
    read = hostile.read
    assert "Incomplete review. Missing: 300 MB/s." in read
    assert "--resume" in read
    assert "step at-0300 is not complete" in read
    assert "Mean read latency grew" in read


def test_a_review_that_got_nowhere_says_so(tmp_path: Path) -> None:
    reviews.save(tmp_path / "review", pressures_MBps=(100,), missing=(100,))
    assert "there is nothing to judge yet" in Page(render.page(Report.of([tmp_path / "review"]))).read


def test_several_drives_share_a_chart_and_are_compared(folder: Path) -> None:
    report = Report.of([folder / "flash", folder / "other"])
    assert len(report.charts) == 8
    page = Page(render.page(report))
    compared = page.read.index("Reads of Crosspoint stay ")
    assert compared < page.read.index("latency grew") < page.read.index("Differences in setup")
    assert "(one run each); " in page.read
    # Each sentence leads to a row that is there, and every ratio has one.
    (pair,) = report.pairs
    (part,) = pair.parts
    names = {value for _, attributes in page.elements for name, value in attributes.items() if name == "id"}
    linked = {anchor for sentence in part.sentences for anchor, _ in sentence.evidence}
    assert linked
    assert linked <= {row.anchor for rows in part.rows.values() for row in rows} <= names
    assert sum(map(len, part.rows.values())) == len(part.compared.figures) + len(part.compared.overall)


def test_differences_in_setup_are_listed_and_nothing_else(folder: Path) -> None:
    setup = dict(Report.of([folder / "flash", folder / "other"]).setup)
    assert setup["Model"] == ("Flash 9000", "Crosspoint")
    assert not {"Kernel", "Processor", "Pace"} & set(setup)
    assert Report.of([folder / "flash"]).setup == ()
    assert "Differences in setup" not in render.page(Report.of([folder / "flash"]))


def planned(review: Path) -> dict[str, Any]:
    """Return the fields of a manifest, to be changed: without its checksum, as an older iogauge wrote it."""
    fields = json.loads((review / "manifest.json").read_text())
    del fields["sha256"]
    return fields | {"schema_version": 2}


def test_an_older_kernel_is_named_before_any_finding(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "flash", tmp_path / "later")
    manifest = planned(tmp_path / "later")
    manifest["machine"]["kernel"] = "Linux 9.9.9"
    (tmp_path / "later" / "manifest.json").write_text(json.dumps(manifest))
    report = Report.of([folder / "flash", tmp_path / "later"])
    (kernels,) = [values for term, values in report.setup if term == "Kernel"]
    assert kernels[1] == "Linux 9.9.9"
    page = render.page(report)
    assert page.index("figures: Kernel.") < page.index('class="sentences"')
    assert "Linux 9.9.9" in page[page.index("Differences in setup") :]


def test_drives_with_nothing_in_common_say_so(folder: Path, tmp_path: Path) -> None:
    other_plan(folder, tmp_path, suite="mixed", title="Mixed", load_jobs=None)
    read = Page(render.page(Report.of([folder / "flash", tmp_path]))).read
    assert "A and B have no complete step in common." in read


def test_the_same_review_gives_the_same_page(folder: Path, source: str) -> None:
    assert render.page(Report.of([folder / "flash"])) == source


def test_drives_of_one_model_have_different_labels(tmp_path: Path) -> None:
    for name in ("first", "second"):
        reviews.save(tmp_path / name, pressures_MBps=(100,), missing=(100,))
    same = tmp_path / "elsewhere" / "first"
    reviews.save(same, pressures_MBps=(100,), missing=(100,))
    labels = [drive.label for drive in load([tmp_path / "first", tmp_path / "second", same])]
    assert labels == ["Flash 9000 (first)", "Flash 9000 (second)", "Flash 9000 (first) [2]"]


def test_warnings_with_one_remedy_are_grouped(folder: Path) -> None:
    (drive,) = load([folder / "flash"])
    for place, run in enumerate(drive.runs):
        few = Notice(code=Code.FEW_SAMPLES, message=f"{place} reads do not support p99.99", hint="run longer")
        moved = Notice(code=Code.MIGRATION, message="workers moved", hint="pin them")
        run.record = run.record.model_copy(update={"warnings": (few, moved)})
    first, second = warnings([drive])
    assert [message for message, _ in first.messages] == [
        f"{n} reads do not support p99.99" for n in range(3)
    ]
    assert first.remedy == "run longer"
    assert second.messages == (("workers moved", "Write pressure: 100 MB/s, 300 MB/s, 700 MB/s"),)


def test_a_file_is_named_with_the_drive_it_is_on(folder: Path, tmp_path: Path) -> None:
    manifest = planned(folder / "flash")
    manifest["plans"][0]["targets"] = ["/data/test.bin"]
    manifest["targets"][0] |= {"kind": "file", "path": "/data/test.bin", "model": None, "device": "sda"}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert load([tmp_path])[0].label == "test.bin on sda"


def test_a_verdict_compares_the_least_and_the_most_pressed_step(tmp_path: Path) -> None:
    flat = Drive("Flat", slope=0.0, **SMALL)
    reviews.save(tmp_path / "flat", flat, pressures_MBps=(0, 100, 600))
    (drive,) = load([tmp_path / "flat"])
    text = " ".join(sentences(drive))
    assert "without writes" in text
    assert "at 600.0 MB/s of writes" in text


def test_one_step_is_no_verdict(tmp_path: Path) -> None:
    reviews.save(tmp_path / "one", Drive(**SMALL), pressures_MBps=(100, 200), missing=(200,))
    (drive,) = load([tmp_path / "one"])
    assert "Only one step is complete" in " ".join(sentences(drive))


def sentences(drive: SuiteResult) -> list[str]:
    return [sentence.text for sentence in verdict.verdict(drive).sentences]


def other_plan(folder: Path, place: Path, **changed: object) -> None:
    """Save a review like the first one, which has nothing complete and another plan."""
    manifest = planned(folder / "flash")
    manifest["plans"][0] |= changed
    (place / "manifest.json").write_text(json.dumps(manifest))


def test_different_suites_have_sections_of_their_own(folder: Path, tmp_path: Path) -> None:
    other_plan(folder, tmp_path, suite="mixed", title="Mixed", load_jobs=None)
    report = Report.of([folder / "flash", tmp_path])
    assert [section.plan.suite for section in report.sections] == ["write-pressure", "mixed"]
    page = render.page(report)
    assert all(f'<section id="{suite}"' in page for suite in ("write-pressure", "mixed"))
    # Of the other one nothing is complete, so that it has neither curves nor a heat map.
    assert len({chart.name for chart in report.charts}) == len(report.charts) == 7


def test_a_suite_along_different_axes_is_refused(folder: Path, tmp_path: Path) -> None:
    other_plan(folder, tmp_path, axis={"name": "write pressure", "unit": "IOPS"})
    with pytest.raises(IogaugeError, match=r"the axes of .* differ"):
        load([folder / "flash", tmp_path])


def test_the_command_writes_the_page_beside_the_review(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(folder / "hostile")]) == 0
    written, messages = capsys.readouterr()
    assert written == f"{folder / 'hostile' / 'report.html'}\n"
    assert Path(written.strip()).read_text().startswith("<!doctype html>")
    assert "is incomplete: no step at-0300" in messages


def newer(path: Path, folder: Path) -> None:
    manifest = planned(folder / "flash")
    (path / "manifest.json").write_text(json.dumps(manifest | {"schema_version": SCHEMA_VERSION + 1}))


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda path, folder: None, "not a saved review"),
        (newer, "newer"),
        (lambda path, folder: (path / "manifest.json").write_text("{"), "damaged"),
    ],
)
def test_what_is_not_a_readable_review_is_an_error_with_a_hint(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], prepare: Any, message: str
) -> None:
    prepare(tmp_path, folder)
    assert main(["report", str(tmp_path)]) == 1
    messages = capsys.readouterr().err
    assert message in messages
    assert "hint: " in messages
    assert "Traceback" not in messages


def test_a_place_that_cannot_be_written_is_an_error(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(folder / "flash"), "-o", str(tmp_path / "no" / "page.html")]) == 1
    assert "page.html: there is no directory" in capsys.readouterr().err
