"""The modelled figures beside a verdict are those of the models as they are now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import iogauge
from bench.references import MODELS, rows, uses
from iogauge import catalog
from iogauge.catalog.profiles import load_profile
from iogauge.catalog.references import modelled_figures
from iogauge.cli import main
from iogauge.verdicts.fitness import metric_of


def test_the_file_is_of_these_versions_of_the_models() -> None:
    """Where this fails, make the file anew: python -m bench.references."""
    assert {(figure.model, figure.version) for figure in modelled_figures()} == {
        (model, catalog.drive(model).version) for model in MODELS
    }


def test_each_criterion_has_a_figure_of_each_model() -> None:
    places = {
        (criterion.suite, criterion.series, criterion.at, metric_of(criterion))
        for use in uses()
        for criterion in load_profile(use).criterion
    }
    made = [(figure.suite, figure.series, figure.at, figure.metric) for figure in modelled_figures()]
    assert sorted(made) == sorted([*places] * len(MODELS))


@pytest.mark.parametrize(("model", "use"), [("p4800x-375g", "etcd"), ("disk-7200", "backup")])
def test_the_models_give_these_figures_again(model: str, use: str) -> None:
    again = list(rows([model], [use]))
    assert again
    assert set(again) <= set(modelled_figures())


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reviews") / "saved"
    iogauge.review("model:p3700", use="etcd", runtime="200ms", seed=1, output=path)
    return path


def test_one_review_has_the_modelled_drives_for_scale(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["judge", str(saved)])
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    flat = " ".join(text.split())
    assert flat.count(" modelled P4800X 375 GB ") == 3  # the best comes first
    assert "a 7200 rpm hard disk" in flat
    assert "P3700 800 GB 2" not in flat  # not a reference for itself
    assert "o" in next(line for line in text.splitlines() if "*" in line).split("  ")[-2]
    main(["judge", str(saved), "--json"])
    (verdict,) = json.loads(capsys.readouterr().out)["verdicts"]
    for criterion in verdict["criteria"]:
        assert len(criterion["references"]) == len(MODELS) - 1
        assert {reference["kind"] for reference in criterion["references"]} == {"modelled"}
        assert all(reference["source"].startswith("model:") for reference in criterion["references"])
    main(["judge", str(saved), "--md"])
    assert capsys.readouterr().out.count("| modelled: ") == 3


def test_a_model_is_no_argument_of_judge(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", str(saved), "model:p4800x", "--for", "etcd"]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error == "error: model:p4800x: is a drive model, not a saved review"
    assert hint.endswith("iogauge review model:p4800x --for etcd")
