"""Makes a directory of any number of saved reviews in minutes: ``python -m bench.cases.web.many_reviews N DIRECTORY``.

A few reviews of drive models are run. Each further one takes every step from one of those of its kind by chance, so
hardly two have the same figures, and every file is one that iogauge wrote: steps are hard links. Drives, hosts, dates,
tags and notes are drawn; they are made up. ``iogauge show`` opens each.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench import peers
from bench.settings import note
from iogauge.index.read import Source, read_figures
from iogauge.schema import Manifest
from iogauge.store import Review
from iogauge.store.review import manifest_bytes

SEED = 19
HOSTS = [f"bench-{number:02}" for number in range(1, 41)]
DRIVES = [
    f"{maker} {series}{number} {size}"
    for maker, series in (("Acme", "N"), ("Borealis", "BX"), ("Cirrus", "Q"), ("Delta", "D"))
    for number in (100, 300, 700)
    for size in ("480GB", "960GB")
]
TAGS = ("baseline", "nightly", "firmware-1.2", "firmware-1.3", "regression", "keep", "kernel-6.12", "lab-2")
FIRST = datetime(2024, 1, 1, tzinfo=UTC)
MINUTES = 2 * 365 * 24 * 60


@dataclass(frozen=True)
class Kind:
    """A kind of review: what is run for it, how often with other seeds, and its share of all."""

    name: str
    model: str
    suites: tuple[str, ...]
    runs: int
    share: float


KINDS = (
    Kind("write-pressure", "p4800x", ("write-pressure",), 3, 0.4),
    Kind("mixed", "p3700", ("mixed",), 3, 0.3),
    Kind("queue-depth", "960evo", ("queue-depth",), 2, 0.2),
    Kind("default", "p4800x", (), 2, 0.1),
)


class _Pool:
    """The reviews of one kind, and what their copies are made of."""

    def __init__(self, reviews: Sequence[Path]) -> None:
        self.reviews = [Review.open(path) for path in reviews]
        self.code = ""
        self.steps: dict[str, list[tuple[Path, str]]] = {}
        """By the id of a step: where reviews have it, and its cached figures as JSON."""
        for review in self.reviews:
            cached = json.loads((review.path / "computed.json").read_text().partition(" ")[2])
            self.code = cached["code"]
            for step in review.completed():
                self.steps.setdefault(step, []).append(
                    (review.step_path(step), json.dumps(cached["steps"].get(step, {})))
                )

    def copy(self, path: Path, chance: random.Random, number: int) -> None:
        """Write one more review of this kind to ``path``."""
        original = chance.choice(self.reviews)
        steps = path / "steps"
        steps.mkdir(parents=True)
        answers = []
        for step in original.completed():
            source, cached = chance.choice(self.steps[step])
            (steps / step).mkdir()
            for file in os.scandir(source):
                os.link(file.path, steps / step / file.name)
            answers.append(f"{json.dumps(step)}: {cached}")
        text = f'{{"code": "{self.code}", "steps": {{{", ".join(answers)}}}}}'
        (path / "computed.json").write_text(f"{hashlib.sha256(text.encode()).hexdigest()} {text}\n")
        if chance.random() < 0.3:
            tags = " ".join(f"#{tag}" for tag in chance.sample(TAGS, chance.randint(1, 3)))
            (path / "notes.md").write_text(f"Slot {chance.randint(1, 24)}. {tags}\n")
        (path / "manifest.json").write_bytes(manifest_bytes(_drawn(original.manifest, chance, number)))


def _drawn(manifest: Manifest, chance: random.Random, number: int) -> Manifest:
    begun = FIRST + timedelta(minutes=chance.randrange(MINUTES))
    targets = tuple(target.model_copy(update={"model": chance.choice(DRIVES)}) for target in manifest.targets)
    machine = manifest.machine.model_copy(update={"hostname": chance.choice(HOSTS)})
    return manifest.model_copy(
        update={
            "id": f"{manifest.id}-{number}",
            "created_at": begun.isoformat(),
            "seed": number,
            "targets": targets,
            "machine": machine,
        }
    )


def make(directory: Path, number: int, *, originals: Path) -> Iterator[Path]:
    """Make ``number`` reviews below ``directory``, 500 in a folder, and yield their paths.

    The reviews that are run are kept in ``originals``, on the same file system, for another call.
    """
    pools = {kind: _Pool(_run(kind, originals)) for kind in KINDS}
    chance = random.Random(SEED)
    kinds = chance.choices(KINDS, [kind.share for kind in KINDS], k=number)
    for place, kind in enumerate(kinds):
        path = directory / f"{place // 500:03}" / f"{kind.name}-{place:05}"
        pools[kind].copy(path, chance, place)
        yield path


def _run(kind: Kind, originals: Path) -> list[Path]:
    """Run the reviews of a kind that are not there yet, and compute their figures."""
    paths = [originals / f"{kind.name}-{run}" for run in range(kind.runs)]
    for seed, path in enumerate(paths):
        if not path.exists():
            note(f"a review of {kind.model}: {kind.name}, seed {seed}")
            suites = [word for suite in kind.suites for word in ("--suite", suite)]
            peers.printed(
                [
                    str(peers.IOGAUGE),
                    *("review", f"model:{kind.model}", *suites, "--seed", str(seed), "--output", str(path)),
                ]
            )
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(_compute, paths))
    return paths


def _compute(path: Path) -> None:
    read_figures(Source(path.name, str(path)))


if __name__ == "__main__":
    count, where = int(sys.argv[1]), Path(sys.argv[2])
    for made, _ in enumerate(make(where, count, originals=where.with_name(f"{where.name}-originals")), 1):
        if made % 1000 == 0:
            note(f"{made:,} of {count:,}")
