"""Where random numbers begin: ``--seed``, randseed and randrepeat, in runs, in DiskSpd's command lines, in reviews."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from iogauge import cli
from iogauge.cli.terminal import status
from iogauge.store.review import Review
from iogauge.workload.regions import REPEATABLE_SEED, seed_for
from tests.suite_runs import cut_down

JOB = (
    "--name=x", "--filename=model:ram@ideal", "--rw=randread", "--bs=4k", "--size=1m", "--number_ios=16",
    "--no-ceiling",
)  # fmt: skip
DISKSPD = "-d1 -W0 -b4k -r -L -g100i"
PLAN = """
name = "few"
[[step]]
at = 1
options = { rw = "randread", bs = "4k", number_ios = 100 }
"""

_LOGS = count()


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def stream(*arguments: str) -> list[int]:
    """The offsets that a run reads, in order."""
    log = Path(f"{next(_LOGS)}.parquet")
    assert cli.main(["run", *arguments, f"--request-log={log}"]) == status.OK
    return pq.read_table(log)["offset_bytes"].to_pylist()


def test_two_seeds_give_two_streams_and_one_gives_one() -> None:
    assert stream(*JOB, "--seed=1") == stream(*JOB, "--seed=1") != stream(*JOB, "--seed=2")


def test_without_a_seed_randrepeat_repeats() -> None:
    first = stream(*JOB)
    assert first == stream(*JOB, "--randrepeat=1") == stream(*JOB, f"--seed={REPEATABLE_SEED}")
    assert first != stream(*JOB, "--seed=1")
    assert stream(*JOB, "--randrepeat=0") != stream(*JOB, "--randrepeat=0")


def test_a_seed_is_used_where_randrepeat_is_given_too() -> None:
    repeated = stream(*JOB, "--randrepeat=1", "--seed=1")
    assert repeated == stream(*JOB, "--seed=1") == stream(*JOB, "--randrepeat=0", "--seed=1")


def test_loops_repeat_each_other_under_a_seed() -> None:
    options = [option for option in JOB if "number_ios" not in option]
    loops = stream(*options, "--loops=2", "--seed=1")
    assert loops[:256] == loops[256:]
    assert len(loops) == 512


def test_randseed_is_not_changed_by_a_seed() -> None:
    assert stream(*JOB, "--randseed=5") == stream(*JOB, "--randseed=5", "--seed=1")


@pytest.mark.parametrize("option", ["randrepeat=1", "randrepeat=0", "randseed=5"])
def test_the_recorded_seed_repeats_the_run(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    first = stream(*JOB, f"--{option}", "--output-format=json")
    seed = json.loads(capsys.readouterr().out)["iogauge"]["seed"]
    assert stream(*JOB, f"--{option}", f"--seed={seed}") == first


def test_diskspds_own_seed_is_kept_and_its_default_gives_way() -> None:
    def of(line: str, *options: str) -> list[int]:
        return stream("--no-ceiling", f"--diskspd={line} model:ram@ideal", *options)

    assert of(DISKSPD) == of(DISKSPD) != of(DISKSPD, "--seed=1")
    assert of(f"{DISKSPD} -z7") == of(f"{DISKSPD} -z7", "--seed=1")
    assert of(f"{DISKSPD} -z") != of(f"{DISKSPD} -z")
    assert of(f"{DISKSPD} -z", "--seed=1") == of(f"{DISKSPD} -z", "--seed=1")


def test_steps_of_a_review_take_seeds_from_the_reviews(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_down(monkeypatch)
    Path("few.toml").write_text(PLAN)
    seeds = set()
    for seed in (1, 2):
        options = (
            "--suite=few.toml",
            "--repeats=2",
            "--runtime=10ms",
            f"--seed={seed}",
            f"--output=saved{seed}",
        )
        assert cli.main(["review", "model:p4800x", *options]) == status.OK
        review = Review.open(Path(f"saved{seed}"))
        for step in review.manifest.steps:
            plan = review.record(step.id).plan
            assert plan.seed == step.seed
            (stage,) = plan.stages
            assert stage.workers[0].seed == seed_for(step.seed, "worker", 0, 0)
            seeds.add(stage.workers[0].seed)
    assert len(seeds) == 4
