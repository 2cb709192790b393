"""``iogauge compare``: tables, Markdown and JSON say the same; names with nothing in common are an error."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from iogauge.cli import main
from tests import reviews


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two made-up drives, one pressed harder; and a review of a model by a suite of which much was published."""
    place = tmp_path_factory.mktemp("reviews")
    reviews.save(place / "flash", pressures_MBps=(0, 100, 300, 500))
    fast = reviews.Drive(model="Fast", base_us=10, slope=0.05, limit_MBps=2000)
    reviews.save(place / "fast", fast, pressures_MBps=(0, 200, 300, 900), seed=2)
    arguments = ["review", "model:p4800x", "model:p3700", "--suite=mixed", "--runtime=10ms", "--seed=1"]
    assert main([*arguments, f"--output={place}/models"]) == 0
    return place


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(["compare", *arguments]) == 0
    return capsys.readouterr().out


def test_a_table_and_sentences(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, f"{saved}/fast", f"{saved}/flash", "-v")
    assert out.splitlines()[0] == "A is Fast, B is Flash 9000"
    assert out.index("\n- reads of Fast stay ") < out.index("\nstep ")
    assert "200 MB/s (between steps)" in out
    assert "(one run each)" in out
    assert "note: one run each" in out


def test_json_and_markdown_say_the_same(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = f"{saved}/fast", f"{saved}/flash"
    (comparison,) = json.loads(shown(capsys, *both, "--json"))
    text, markdown = shown(capsys, *both, "-v"), shown(capsys, *both, "--format=md", "--all")
    for sentence in comparison["findings"]:
        assert f"- {sentence}".split() in [entry.split() for entry in re.split(r"\n(?=\S)", text)]
        assert f"\n- {sentence}.\n" in markdown
    assert markdown.startswith("## ")
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in rows}) == 1
    assert len(rows) == 2 + len(comparison["figures"])
    places = {figure["at"]: figure["between_steps"] for figure in comparison["figures"]}
    assert places == {0: False, 100: True, 200: True, 300: False, 500: True}
    assert all(
        figure["ratio"]["value"] > 1 for figure in comparison["figures"] if figure["metric"] == "mean_ns"
    )


def test_the_targets_of_one_review(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (comparison,) = json.loads(shown(capsys, f"{saved}/models", "--json"))
    assert "P4800X" in comparison["a"]["name"]
    assert "P3700" in comparison["b"]["name"]
    assert comparison["a"]["review"] == comparison["b"]["review"]
    assert {figure["at"] for figure in comparison["figures"]} == set(range(0, 101, 10))


@pytest.mark.parametrize("name", ["model:p3700", "P3700"])
def test_a_target_is_the_baseline(name: str, saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (usual,) = json.loads(shown(capsys, f"{saved}/models", "--json"))
    (turned,) = json.loads(shown(capsys, f"{saved}/models", f"--baseline={name}", "--json"))
    assert (turned["a"], turned["b"]) == (usual["b"], usual["a"])
    before, after = (
        {(f["at"], f["metric"]): f["ratio"]["value"] for f in one["figures"]} for one in (usual, turned)
    )
    assert before.keys() == after.keys()
    assert all(after[key] == pytest.approx(1 / before[key]) for key in before)


def test_a_review_is_the_baseline(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = f"{saved}/fast", f"{saved}/flash"
    (comparison,) = json.loads(shown(capsys, *names, f"--baseline={saved}/flash", "--json"))
    assert comparison == json.loads(shown(capsys, *reversed(names), "--json"))[0]
    page = saved / "turned.md"
    shown(capsys, *names, f"--baseline={saved}/flash", f"--output={page}")
    assert page.read_text().startswith("## A is Flash 9000, B is Fast\n")


@pytest.mark.parametrize(("name", "why"), [("nothing", "names no side"), ("model:p", "fits 2 sides")])
def test_a_baseline_is_one_side(name: str, why: str, saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", f"{saved}/models", "--baseline", name]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert f"--baseline {name} {why}" in error
    assert "model:p4800x, model:p3700" in hint


def test_a_review_is_compared_with_published_figures(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    comparisons = json.loads(shown(capsys, f"{saved}/models", "published", "--json"))
    published = [comparison for comparison in comparisons if comparison["b"]["name"] == "published"]
    assert ["P4800X" in comparison["a"]["name"] for comparison in published] == [True, False]
    # The two models of the review are compared as well.
    assert [comparison["suite"] for comparison in comparisons if comparison not in published] == ["mixed"]
    (rate,) = [
        figure
        for figure in published[0]["figures"]
        if figure["drive"] == "Intel Optane SSD DC P4800X 375GB (anandtech-linux)"
        and (figure["metric"], figure["where"]) == ("iops", "Mixed reads and writes: 100 %")
    ]
    assert rate["published"] == 584_800
    assert rate["ratio"]["value"] == pytest.approx(rate["measured"] / 584_800)
    assert 0.9 < rate["ratio"]["value"] < 1.1
    assert comparisons == json.loads(shown(capsys, "published", f"{saved}/models", "--json"))


def test_the_nearest_published_figure_of_a_load_comes_first(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = shown(capsys, f"{saved}/models", "published", "-v")
    part = out[out.index("P4800X 375 GB, model compared with published figures") :]
    assert part.splitlines()[2].startswith("- ")
    assert " is nearest to P4800X 375 GB (model), among " in " ".join(part.split())
    load = part[part.index("reads, 4 threads at depth 4 (") :].partition("\n\n")[0]
    rates = [line for line in load.splitlines() if "  IOPS  " in line]
    values = [float(re.split(r"  +", line)[4]) for line in rates]
    assert values == sorted(values, key=lambda value: abs(math.log(value)))
    markdown = shown(capsys, f"{saved}/models", "published", "--format=md")
    assert "compared with published figures" in markdown


def test_published_drives_are_chosen_by_name(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = (f"{saved}/models", "published:9100 max")
    comparisons = json.loads(shown(capsys, *names, "--suite=mixed", "--json"))
    published = [comparison for comparison in comparisons if comparison["b"]["name"] == "published"]
    drives = {
        figure["drive"].partition(" (")[0] for comparison in published for figure in comparison["figures"]
    }
    assert drives == {"Micron 9100 MAX 2.4TB"}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("published",), "no saved review is named"),
        (("fast",), "fast: only one side is named"),
        (("fast", "fast"), "fast: this review is named more than once"),
        (("flash", "fast", "./fast"), "fast: this review is named more than once"),
        (("fast", "models"), "no two sides"),
        (("fast", "published"), "fast: published has no figures for the load of any of its steps"),
        (("fast", "flash", "--suite=mixed"), "none of these reviews has the suite 'mixed'"),
        (("fast", "nothing"), "no manifest.json"),
        (("models", "published:nobody's"), "no published drive has"),
        (("fast", "flash", "--margin=0"), "--margin 0"),
        (("fast", "flash", "--margin=much"), "--margin much"),
    ],
)
def test_what_cannot_be_compared(
    names: tuple[str, ...],
    message: str,
    saved: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(saved)
    status = main(["compare", *names])
    assert status == 2 if "more than once" in message else status in (1, 2)
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err.splitlines()[0]
    assert err.splitlines()[1].startswith("hint: ")


def test_a_damaged_step_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        reviews.save(tmp_path / name, pressures_MBps=(0, 100))
    (tmp_path / "b" / "steps" / "at-0100" / "record.json").write_text("{}")
    assert main(["compare", f"{tmp_path}/a", f"{tmp_path}/b"]) == 1
    assert "record.json" in capsys.readouterr().err


def test_an_incomplete_review_is_compared_as_far_as_it_got(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reviews.save(tmp_path / "a", pressures_MBps=(0, 100))
    reviews.save(tmp_path / "b", pressures_MBps=(0, 100), missing=(100,))
    (comparison,) = json.loads(shown(capsys, f"{tmp_path}/a", f"{tmp_path}/b", "--json"))
    assert {figure["at"] for figure in comparison["figures"]} == {0}
    assert comparison["left_out"] == 1


def test_the_suffix_of_the_file_decides_the_format(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    review = f"{saved}/models"
    for name, opening in (("c.html", "<!doctype html>"), ("c.md", "#"), ("c.txt", "")):
        shown(capsys, review, f"--output={tmp_path / name}")
        assert (tmp_path / name).read_text().lower().startswith(opening), name
    assert shown(capsys, review, "-v") == (tmp_path / "c.txt").read_text()
    assert main(["compare", review, f"--output={tmp_path}/d.html", "--format=md"]) == 2
    assert "--format md contradicts the name" in capsys.readouterr().err
    assert not (tmp_path / "d.html").exists()
