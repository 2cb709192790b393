"""What comes with iogauge: the job options, the published figures; the commands print the same."""

from __future__ import annotations

import json

import pytest

import iogauge
from iogauge.cli import main


def test_options_are_those_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    every = iogauge.options()
    assert main(["options"]) == 0
    out = "".join(capsys.readouterr().out.split())  # a long syntax is wrapped
    assert all(f"{option.name}={''.join(option.syntax.split())}" in out for option in every)
    depth = next(option for option in iogauge.options("iodepth") if option.name == "iodepth")
    assert depth.default == "1"
    with pytest.raises(iogauge.UsageError, match="no option mentions teleport") as caught:
        iogauge.options("teleport")
    assert caught.value.hint == "see iogauge.options()"
    assert main(["options", "teleport"]) == 2
    assert "hint: see iogauge options\n" in capsys.readouterr().err


def test_published_figures_are_those_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    figures = iogauge.published("P4800X")
    assert main(["show", "published:p4800x"]) == 0
    assert capsys.readouterr().out == str(figures)
    assert main(["show", "published:p4800x", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == figures.to_dict()
    assert set(figures.drives) < set(iogauge.published().drives)
    assert set(figures.to_arrow()["drive"].to_pylist()) == set(figures.drives)
    assert figures.drives[0] in figures._repr_html_()
    with pytest.raises(iogauge.IogaugeError, match="no published drive has 'nothing'") as caught:
        iogauge.published("nothing")
    assert caught.value.hint == "iogauge.published() has them"


@pytest.mark.parametrize(
    ("name", "call"), [("published", "published()"), ("published:p4800x", "published('p4800x')")]
)
def test_published_figures_are_no_saved_review(name: str, call: str) -> None:
    with pytest.raises(iogauge.UsageError, match="neither suites nor steps") as caught:
        iogauge.open_review(name)
    assert f"iogauge.{call} has its figures" in str(caught.value.hint)
    assert f"iogauge.compare('REVIEW', '{name}')" in str(caught.value.hint)
