"""Machines as text: the parts of /sys and /proc that an audit reads, and the verdict that each check must reach.

A line is ``path = value``, ``path -> target`` (a link), or ``path/ =`` (an empty directory). ``{0-3}`` in a path stands
for numbers, and ``{}`` in its value for the same. ``[differs] cpu.governor`` is a verdict. Values are as Linux prints
them, with newlines and tabs as in Python, or bytes as ``hex 0a0b``. ``let D = text`` replaces every ``$D`` after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from iogauge.machine.audit.subject import Subject
from iogauge.target.users.sysfs import BlockDevice, Host

TREES = Path(__file__).parent / "fast" / "machine" / "audit" / "trees"
NAMES = sorted(path.stem for path in TREES.glob("*.txt"))


@dataclass(frozen=True)
class Tree:
    """A machine that was built in a directory."""

    subject: Subject
    verdicts: dict[str, str]
    """The verdict of every check, by its id."""


def build(name: str, folder: Path) -> Tree:
    """Build a machine below ``folder``."""
    facts: dict[str, str] = {}
    verdicts: dict[str, str] = {}
    names: dict[str, str] = {}
    for line in (TREES / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        for name_, text in names.items():
            line = line.replace(f"${name_}/", f"{text}/")  # noqa: PLW2901
        if not line or line.startswith("#"):
            continue
        if match := re.fullmatch(r"let (\w+) = (.*)", line):
            names[match[1]] = match[2]
        elif match := re.fullmatch(r"\[(.*)\] (.*)", line):
            verdicts |= dict.fromkeys(match[2].split(), match[1])
        elif match := re.fullmatch(r"(\w+): (.*)", line):
            facts[match[1]] = match[2]
        else:
            for path, sign, value in _written(line):
                if path.endswith("/"):
                    (folder / path).mkdir(parents=True)
                else:
                    write(folder / path, value, link=sign == "->")
    host = Host(sys=folder / "sys", proc=folder / "proc")
    drive = BlockDevice.by_name(facts["drive"], host)
    assert drive is not None, f"{name}: no drive {facts['drive']}"
    silence = "permission denied: run as root"
    return Tree(Subject(host, drive, silence=silence, cpus=frozenset(numbers(facts["cpus"]))), verdicts)


def write(path: Path, value: str, *, link: bool = False) -> None:
    """Write one file of a tree."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if link:
        path.symlink_to(value)
    elif value.startswith("hex "):
        path.write_bytes(bytes.fromhex(value.removeprefix("hex ")))
    else:
        path.write_text(value.replace("\\n", "\n").replace("\\t", "\t") + "\n", encoding="utf-8")


def numbers(text: str) -> list[int]:
    """Return the numbers of ``0-3,8``."""
    spans = [part.partition("-") for part in text.split(",")]
    return [number for low, _, high in spans for number in range(int(low), int(high or low) + 1)]


def _written(line: str) -> Iterator[tuple[str, str, str]]:
    match = re.fullmatch(r"(\S+) (=|->) ?(.*)", line)
    assert match is not None, line
    path, sign, value = match.groups()
    span = re.search(r"\{([\d,-]+)\}", path)
    for number in numbers(span[1]) if span else [None]:
        yield (
            (path if span is None else path.replace(span[0], str(number))),
            sign,
            value.replace("{}", str(number)),
        )


@pytest.fixture(params=NAMES)
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Tree:
    """Build each machine in turn."""
    return build(request.param, tmp_path)
