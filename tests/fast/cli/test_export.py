"""``export --pictures``: charts as files, chosen by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.cli import main
from tests import reviews
from tests.reviews import Drive


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("saved")
    reviews.save(folder / "flash", Drive(seconds=1, reads_a_second=40), pressures_MBps=(0, 400))
    return str(folder / "flash")


def test_charts_are_chosen_by_name_and_pattern(
    saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    charts = tmp_path / "charts"
    names = ("--charts=*-percentiles", "--charts=write-pressure")
    assert main(["export", saved, f"--pictures={charts}", *names]) == 0
    written = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert set(written) == set(charts.iterdir())
    assert {path.name for path in written if path.suffix == ".csv"} == {
        "write-pressure.csv",
        "write-pressure-percentiles.csv",
    }
    pictures = sorted(path.stem for path in written if path.suffix == ".svg")
    assert pictures == sorted(path.stem for path in written if path.suffix == ".png")
    assert {"write-pressure-mean", "write-pressure-percentiles-step-1"} <= set(pictures)


def test_a_name_that_no_chart_has_lists_the_names(
    saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", saved, f"--pictures={tmp_path}/charts", "--charts=write-presure"]) == 2
    message = capsys.readouterr().err
    assert "no chart is named write-presure" in message
    assert (
        "did you mean --charts write-pressure? charts: write-pressure, write-pressure-requested, " in message
    )
    assert not (tmp_path / "charts").exists()


@pytest.mark.parametrize("option", ["--charts=mixed", "--judge-by=own.py"])
def test_options_of_pictures_need_their_directory(
    saved: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", saved, "--csv=tables", option]) == 2
    assert "--pictures DIRECTORY" in capsys.readouterr().err


def test_tables_and_data_of_charts_do_not_replace_each_other(
    saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = (f"--csv={tmp_path}/same", f"--pictures={tmp_path}/same", "--charts=write-pressure")
    assert main(["export", saved, *both]) == 2
    assert "name two directories" in capsys.readouterr().err
    assert not (tmp_path / "same").exists()
