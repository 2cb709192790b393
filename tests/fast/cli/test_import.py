"""``iogauge import``: what fio and DiskSpd measured is read like a review of ours, and nothing is made up."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from iogauge.cli import main
from iogauge.schema import SCHEMA_VERSION
from iogauge.store import Review
from iogauge.store.names import FIGURES
from iogauge.store.reported import read_summary

SAMPLES = Path(__file__).parents[1] / "imports"


@pytest.fixture
def saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Two runs with counts, and two with percentiles alone."""
    place = tmp_path / "saved"
    names = ("fio-plus.json", "fio-sync.json", "fio.json", "diskspd.xml")
    assert main(["import", *(str(SAMPLES / name) for name in names), f"--output={place}"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{place}\n"
    assert "its figures are kept without intervals" in err
    return place


def test_runs_with_counts_are_steps_and_the_others_are_told(saved: Path) -> None:
    review = Review.open(saved)
    assert [plan.measured_job for plan in review.manifest.plans] == ["reader", "writer", "sync"]
    assert len(review.completed()) == len(review.manifest.steps) == 3
    figures = read_summary(saved)
    assert [(figure.label, figure.direction.value) for figure in figures] == [
        ("fio", "read"),
        ("fio", "write"),
        ("diskspd", "read"),
        ("diskspd", "write"),
    ]
    assert figures[2].iops == 13_900
    assert figures[2].quantiles_ns[0.99] == 700_000


def test_it_is_listed_shown_asked_and_reported(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", str(saved)]) == 0
    assert "3 of 3, 2 reported" in capsys.readouterr().out
    assert main(["show", str(saved), "-v"]) == 0
    out, err = capsys.readouterr()
    assert "Imported: reader" in out
    assert "Reported without samples" in out
    assert "warning" not in err
    assert main(["show", str(saved), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["reported"]) == 4
    assert main(["query", "select label, iops, mean_ns from figures", str(saved), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["label"] for row in rows] == [
        "fio-plus",
        "fio-plus",
        "sync",
        "fio",
        "fio",
        "diskspd",
        "diskspd",
    ]
    assert all(row["mean_ns"] > 0 for row in rows)
    assert main(["report", str(saved)]) == 0


def test_it_is_compared_with_another(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = tmp_path / "again"
    both = [str(SAMPLES / name) for name in ("fio-plus.json", "fio.json")]
    assert main(["import", *both, f"--output={same}"]) == 0
    capsys.readouterr()
    assert main(["compare", str(saved), str(same), "--json"]) == 0
    # What DiskSpd told is of another target, which is a side of its own.
    measured, reported = json.loads(capsys.readouterr().out)
    assert reported["b"] == {"name": r"D:\io\t dat.bin (saved)", "review": str(saved)}
    assert reported["figures"] == []
    assert {figure["series"] for figure in measured["figures"]} == {"reader", "writer"}
    assert all(figure["ratio"]["value"] == pytest.approx(1) for figure in measured["figures"])


def told_files(folder: Path, tag: str) -> list[str]:
    """Two results of DiskSpd, of two jobs' files, as it prints them: figures without samples."""
    text = (SAMPLES / "diskspd.xml").read_text()
    files = []
    for name in ("rand", "seq"):
        file = folder / tag / f"{name}.xml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(re.sub("<Path>[^<]*</Path>", rf"<Path>E:\\{name}.dat</Path>", text))
        files.append(str(file))
    return files


def test_all_that_was_told_of_a_review_is_one_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for tag in ("x", "y"):
        assert main(["import", *told_files(tmp_path, tag), f"--output={tmp_path / f'r{tag}'}"]) == 0
    capsys.readouterr()
    x, y = str(tmp_path / "rx"), str(tmp_path / "ry")
    assert main(["compare", x, y, "--json"]) == 0
    (comparison,) = json.loads(capsys.readouterr().out)
    assert comparison["a"]["name"] != comparison["b"]["name"]
    assert {figure["label"] for figure in comparison["figures"]} == {"rand", "seq"}


def test_a_report_shows_what_was_told_of_a_target_there_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = json.loads((SAMPLES / "fio-plus.json").read_text())
    reported = json.loads((SAMPLES / "fio.json").read_text())
    files = []
    for drive in "ab":
        for kind, content in (("measured", measured), ("told", reported)):
            file = tmp_path / f"{kind}-{drive}.json"
            file.write_text(json.dumps(content).replace("drive.bin", f"{drive}.bin"))
            files.append(str(file))
    assert main(["import", *files, f"--output={tmp_path / 'r'}"]) == 0
    page = tmp_path / "r.md"
    assert main(["report", str(tmp_path / "r"), "--format=md", "--verbose", f"--output={page}"]) == 0
    parts = re.split(r"(?m)^.*Reported without samples", page.read_text())[1:]
    assert len(parts) == 4  # two jobs on two drives
    for part in parts:
        rows = [line for line in part.splitlines() if line.startswith("|")]
        assert len({re.search(r"told-([ab])", row)[1] for row in rows if "told-" in row}) == 1  # type: ignore[index]


def test_a_job_is_met_again_whatever_its_file_was_called(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = (SAMPLES / "fio-plus.json").read_text()
    first, second, third = (tmp_path / f"{name}.json" for name in "abc")
    for file in (first, second, third):
        file.write_text(content)
    sync = str(SAMPLES / "fio-sync.json")
    for name, files in {"x": [first], "y": [sync, second], "z": [second, third], "w": [sync]}.items():
        assert main(["import", *map(str, files), f"--output={tmp_path / name}"]) == 0
    capsys.readouterr()
    x, y, z, w = (str(tmp_path / name) for name in "xyzw")
    assert main(["compare", x, y, w, "--json"]) == 0
    comparison, nothing = json.loads(capsys.readouterr().out)
    assert {figure["label"] for figure in comparison["figures"]} == {"reader", "writer"}
    assert nothing["b"]["review"] == w
    assert nothing["figures"] == []
    assert nothing["basis"] == "A and B have no complete step in common"
    assert main(["compare", x, y, w, "-v"]) == 0
    assert "Nothing in common:\n- A and B have no complete step in common\n" in capsys.readouterr().out
    # Two of one name are told apart by their files.
    labels = [step.label for step in Review.open(Path(z)).manifest.steps]
    assert sorted(labels) == ["b", "b", "c", "c"]


def test_a_report_has_what_was_told_without_samples(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = tmp_path / "alone"
    assert main(["import", str(SAMPLES / "diskspd.xml"), f"--output={alone}"]) == 0
    capsys.readouterr()
    for review, figures in ((alone, ("13,900", "345.0 us")), (saved, ("11,150", "1.068 ms", "13,900"))):
        assert main(["report", str(review), "--format=md", "--verbose"]) == 0
        text = capsys.readouterr().out
        assert main(["report", str(review), f"--output={tmp_path}/page.html"]) == 0
        capsys.readouterr()
        page = (tmp_path / "page.html").read_text()
        for figure in ("Reported without samples", *figures):
            assert text.count(figure) >= 1
            assert figure.replace(" us", " µs") in page
        assert text.count("13,900") == 1
        assert "Asked, |" not in text  # an axis without a unit
        assert "nothing to judge yet" not in text
        # A heading has something beneath it.
        assert not re.search(r"\*\*\n+(\*\*|#)", text)


def test_a_damaged_file_of_figures_is_told(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (saved / FIGURES).read_text()
    unsealed = {name: value for name, value in json.loads(text).items() if name != "sha256"}
    for content, why in (
        ('{"schema_version": 1}', "figures: is missing"),
        ("[]", "its schema version is None"),
        ("not JSON", "not JSON"),
        (text.replace("1", "2", 1), "does not agree"),
        (json.dumps(unsealed), "is missing"),
    ):
        (saved / FIGURES).write_text(content)
        for command in ("show", "list"):
            main([command, str(saved)])
            assert f"{saved / FIGURES}: damaged: " in (said := capsys.readouterr().err)
            assert why in said
    (saved / FIGURES).write_text(json.dumps({"schema_version": SCHEMA_VERSION + 1, "unheard_of": 1}))
    main(["show", str(saved)])
    assert "a newer one" in capsys.readouterr().err


def test_what_is_no_result_is_refused_and_nothing_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text("nothing of theirs")
    assert main(["import", str(tmp_path / "text"), f"--output={tmp_path}/saved"]) == 1
    assert "not a result of fio or DiskSpd" in capsys.readouterr().err
    assert not (tmp_path / "saved").exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    assert main(["import", str(SAMPLES / "fio.json"), f"--output={tmp_path}/full"]) == 1
    said = capsys.readouterr().err
    assert "the directory is not empty" in said
    assert "continue a review that was started there: iogauge review --resume" in said
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["file"]


@pytest.mark.parametrize("output", ["saved", "mine", "link", "."])
def test_ctrl_c_leaves_no_half_of_a_review_in_the_way_of_the_next_import(
    output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    for name in ("mine", "here"):
        (tmp_path / name).mkdir(mode=0o770)
    (tmp_path / "link").symlink_to("mine")
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path / "here" if output == "." else tmp_path)
    arguments = ["import", str(SAMPLES / "fio-plus.json"), f"--output={output}"]
    with monkeypatch.context() as patch:
        patch.setattr("iogauge.store.review.StepWriter.finish", interrupted)
        assert main(arguments) == 130
    # What was there before is there, and nothing else.
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "link").is_symlink()
    assert main(arguments) == 0
    assert capsys.readouterr().err.startswith("interrupted\n")


def test_what_is_said_to_be_next_works_whatever_the_review_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["import", str(SAMPLES / "fio-plus.json"), "--output", "- my review"]) == 0
    _, _, following = capsys.readouterr().err.partition("next: iogauge ")
    assert main(shlex.split(following)) == 0
    assert "Imported: reader" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("older", "depth", "flagged"), [("2.1.0", 4, True), ("2.2.1", 4, False), ("2.1.0", 1, False)]
)
def test_results_of_two_loops_of_diskspd_are_flagged(
    older: str, depth: int, flagged: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newer = (SAMPLES / "diskspd-2.2-mixed.xml").read_text()
    newer = newer.replace("<RequestCount>4<", f"<RequestCount>{depth}<")
    for name, version in (("new", "2.2.0"), ("old", older)):
        (tmp_path / f"{name}.xml").write_text(newer.replace("<Version>2.2.0", f"<Version>{version}"))
        assert main(["import", f"{tmp_path}/{name}.xml", f"--output={tmp_path}/{name}"]) == 0
    capsys.readouterr()
    assert main(["compare", f"{tmp_path}/new", f"{tmp_path}/old", "-v"]) == 0
    said = "not comparable with each other"
    assert (said in " ".join(capsys.readouterr().out.split())) is flagged
    assert main(["compare", f"{tmp_path}/new", f"{tmp_path}/old", "--json"]) == 0
    (comparison,) = json.loads(capsys.readouterr().out)
    assert (said in comparison["basis"]) is flagged
    both = [f"{tmp_path}/{name}.xml" for name in ("new", "old")]
    assert main(["import", *both, f"--output={tmp_path}/both"]) == 0
    assert (said in capsys.readouterr().err) is flagged


def test_a_directory_whose_name_is_not_utf8_is_refused_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", "missing.json", f"--output={tmp_path}/bad\udcff"]) == 1
    assert "bad\\xff: its name is not UTF-8" in capsys.readouterr().err
