"""``fleet show`` and ``fleet report`` of a saved fleet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from iogauge.cli import main
from tests.fast.cli.fleet import saved_fleet

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_fleet.saved(tmp_path_factory.mktemp("fleet") / "saved", hosts=6)


def show(saved: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    capsys.readouterr()
    assert main(["fleet", "show", str(saved), *options]) == 0
    return capsys.readouterr().out


def test_the_answer_and_the_merged_figures_fit_one_screen(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = show(saved, capsys).splitlines()
    text = " ".join(lines)
    assert text.startswith("None of 5 drives is slow beside its peers. 1 host is missing: r2 (lost: it did")
    assert len(lines) <= 22
    assert lines[-1] == "-v shows everything"
    assert any(line.split()[:3] == ["mixed.reads-100", "read", "5"] and "r2" in line for line in lines)


def test_verbose_shows_every_group_host_and_event(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(show(saved, capsys, "--verbose").split())
    assert "zone b mixed.reads-100 read 2" in text
    assert "+1.20 ms ±20 us" in text
    assert "02:03:20 r2 is lost: it did not answer for 5 s" in text


def test_json_has_the_same(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(show(saved, capsys, "--json"))
    assert [host["outcome"] for host in data["hosts"]].count("lost") == 1
    assert len(data["drives"]) == 5
    read = next(group for group in data["groups"] if group["step"] == "mixed.reads-100")
    assert read["by"] == "fleet"
    by_host = [
        group["requests"]
        for group in data["groups"]
        if group["by"] == "host" and group["step"] == read["step"]
    ]
    assert sum(by_host) == read["requests"] > 0


def test_the_page_is_written_into_the_fleet_by_default(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fleet", "report", str(saved)]) == 0
    assert capsys.readouterr().out == f"{saved / 'fleet.html'}\n"
    assert "A fleet of 6 hosts" in (saved / "fleet.html").read_text("utf-8")


def test_markdown_is_printed(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", "report", str(saved), "--format=md"]) == 0
    assert capsys.readouterr().out.startswith("## A fleet of 6 hosts\n")


def test_a_directory_without_a_fleet_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", "show", str(tmp_path)]) == 1
    assert "no fleet.json here" in capsys.readouterr().err
