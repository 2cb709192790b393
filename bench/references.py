"""Makes ``catalog/references.csv``: what drive models reach at the positions of the profiles.

``python -m bench.references`` reviews the models, minutes of CPU time, and writes the file anew. A test makes a few of
its rows again and compares them exactly.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path

import iogauge
from iogauge import catalog
from iogauge.catalog.profiles import Criterion, load_profile, profile_names
from iogauge.catalog.references import FILE, ModelledFigure
from iogauge.verdicts.fitness import JudgedCriterion, metric_of

MODELS = (
    *("p4800x-375g", "9100max-2400g", "p3700-800g", "960evo-500g"),
    *("mx300-750g", "optane-memory-32g", "disk-7200"),
)
SEED = 1


def rows(models: Sequence[str], use: Sequence[str]) -> Iterator[ModelledFigure]:
    """Review models for some profiles, and yield the figures of their criteria, each once."""
    with tempfile.TemporaryDirectory() as folder:
        targets = [f"model:{model}" for model in models]
        saved = iogauge.review(targets, use=use, seed=SEED, output=Path(folder) / "saved")
        verdicts = [*iogauge.judge(saved, use=use)]
    by_place = {
        (fitness.path, judged.criterion.suite, judged.criterion.series, judged.criterion.at, metric): judged
        for fitness in verdicts
        for judged in fitness.criteria
        for metric in [metric_of(judged.criterion)]
    }
    for (path, *_), judged in by_place.items():
        if judged.figure is not None:
            yield _row(path.removeprefix("model:"), judged.criterion, judged)


def _row(model: str, criterion: Criterion, judged: JudgedCriterion) -> ModelledFigure:
    figure = judged.figure
    assert figure is not None
    return ModelledFigure(
        model=model,
        version=catalog.drive(model).version,
        suite=criterion.suite,
        series=criterion.series,
        at=criterion.at,
        metric=metric_of(criterion),
        value=figure.value,
        low=figure.low,
        high=figure.high,
        supported=figure.supported,
        long_enough=figure.long_enough,
    )


def uses() -> list[str]:
    """Return the profiles whose criteria the file has."""
    return [load_profile(name).name for name in profile_names()]


def main() -> None:
    """Write the file."""
    made = [row for model in MODELS for row in rows([model], uses())]
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(ModelledFigure)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(asdict, made))


if __name__ == "__main__":
    main()
