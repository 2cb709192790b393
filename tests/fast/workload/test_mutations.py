"""Thousands of broken job files: each quickly gives jobs or an error with a hint."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.schema import JobFile
from iogauge.workload import BY_NAME, from_arguments, parse, to_fio
from iogauge.workload.options import known

ROOT = Path(__file__).resolve().parents[3]
SLOWEST_S = 1.0
"""CPU time of one file. A regular expression that backtracks, or a huge power, takes far longer."""

WORDS = (
    *sorted(BY_NAME), *sorted(known.ALL), "[global]", "[", "]", "[x]", "include ", "${", "${HOME}", "$ncpus",
    "$pagesize", "=", ",", ":", "/", "-", "%", "(", ")", ";", "#", "\\:", "\0", "\r", "\n", "\n\n", " ", "\t", "é",
    "\u2028", "\x85", "0", "1", "4k", "99999999999999999999", "1e308", "nan", "-1", "0x", "kib", "(((((((((((",
    "(9^9^9)", "(1/0)", "1.5g", "zoned:50/50:50/50", "zipf:1.2", "4k/50:8k/50", "0-99999999", "5s-10s", "a" * 300,
    "4k," * 50, "1:" * 100, "${A" * 40,
)  # fmt: skip
ENVIRON = {"HOME": "/home", "A": "1", "TARGET": "/dev/nvme0n1"}


def seeds() -> list[str]:
    texts = [path.read_text() for path in sorted((ROOT / "examples").glob("*.fio"))]
    everything = "[all]\nioengine=io_uring\n" + "".join(
        f"{option.name}{'' if option.kind.bare is not None else '=1'}\n" for option in BY_NAME.values()
    )
    rich = (
        "[global]\nbs=8k,32k\nrate=,62500k\nsize=(8*16m)\n[a]\nrw=randrw:4\nbssplit=4k/10:64k/90,8k\nstartdelay=5-10\n"
        "random_distribution=zoned:50/5:30/15:20/80\ncpus_allowed=0-3,8\npercentile_list=50:99.9\nfilename=a:b\\:c\n"
    )
    return [*texts, everything, rich]


def arguments(text: str) -> list[str]:
    """Return the lines of a job file as a command line."""
    lines = [line for line in text.split("\n") if line and not line.startswith(";")]
    return [f"--name={line[1:-1]}" if line.startswith("[") else f"--{line}" for line in lines]


def mutated(text: str, chance: random.Random) -> str:
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text) + 1)
        match chance.randrange(7):
            case 0:
                text = text[:at] + text[at + chance.randint(1, 5) :]
            case 1:
                text = text[:at] + chance.choice(WORDS) + text[at:]
            case 2:
                text = (
                    text[:at]
                    + chr(chance.choice([chance.randrange(128), chance.randrange(0x2FFF)]))
                    + text[at:]
                )
            case 3:
                lines = text.split("\n")
                chance.shuffle(lines)
                text = "\n".join(lines)
            case 4:
                text += text[at : at + chance.randint(1, 200)]
            case 5:
                lines = text.split("\n")
                index = chance.randrange(len(lines))
                lines[index] = lines[index].partition("=")[0] + "=" + chance.choice(WORDS)
                text = "\n".join(lines)
            case 6:
                text = text[:at] + text[at : at + 10] * chance.randint(2, 30) + text[at:]
    return text


def assert_helps(error: IogaugeError, *, from_file: bool) -> None:
    assert error.hint, f"no hint in: {error}"
    assert "\n" not in str(error)
    assert len(str(error)) < 1_000
    assert str(error).startswith("mutant.fio") or not from_file, str(error)


def timed(text: str, *, from_file: bool) -> tuple[JobFile | IogaugeError, float]:
    """Return what a text is read as, and the CPU time that this took, s."""
    begin = time.thread_time()
    parsed: JobFile | IogaugeError
    try:
        if from_file:
            parsed = parse(text, source="mutant.fio", environ=ENVIRON)
        else:
            parsed = from_arguments(arguments(text), environ={})
    except IogaugeError as error:
        parsed = error
    return parsed, time.thread_time() - begin


@pytest.mark.parametrize("mutants", [1_009, pytest.param(10_007, marks=pytest.mark.slow)])
def test_mutants_give_jobs_or_errors_with_a_hint(mutants: int) -> None:
    chance = random.Random(20_170_319)
    originals = seeds()
    jobs = refused = 0
    for number in range(mutants):
        text = mutated(chance.choice(originals), chance)
        parsed, took_s = timed(text, from_file=bool(number % 5))
        if isinstance(parsed, IogaugeError):
            refused += 1
            assert_helps(parsed, from_file=bool(number % 5))
        else:
            assert isinstance(parsed, JobFile)
            jobs += 1
        # The kernel also counts time that a hypervisor took. A slow text is slow each time.
        for _ in range(2):
            if took_s >= SLOWEST_S:
                _, took_s = timed(text, from_file=bool(number % 5))
        assert took_s < SLOWEST_S, f"mutant {number} took {took_s:.1f} s:\n{text}"
    assert jobs + refused == mutants
    assert min(jobs, refused) > mutants // 50, "the mutants are too tame or too wild to test anything"


def test_jobs_of_mutants_are_written_or_refused() -> None:
    chance = random.Random(375)
    originals = seeds()
    written = 0
    for _ in range(1_009):
        try:
            job_file = parse(mutated(chance.choice(originals), chance), source="mutant.fio", environ=ENVIRON)
            text = to_fio(job_file)
        except IogaugeError:
            continue
        assert parse(text, source="written.fio", environ={}).jobs == job_file.jobs
        written += 1
    assert written
