"""Makes ``docs/fio_examples.md``: which of fio's example job files fio and iogauge load.

``python -m bench.fio_examples CHECKOUT`` reads the ``examples/*.fio`` of a checkout of fio and writes the page anew.
Nothing runs: most files name devices or servers of their author. A file is *loaded* if ``fio --parse-only``, or
iogauge's reader, takes all of it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.peers import ROOT
from iogauge.errors import IogaugeError
from iogauge.workload import load

PAGE = ROOT / "docs" / "fio_examples.md"
VARIABLES = {"FIO_DIR": "/tmp", "FIO_BS": "4k", "FIO_RW": "randread", "FIO_IODEPTH": "8"}
"""Environment variables that the files name."""


@dataclass(frozen=True)
class Outcome:
    """One example file. A reason is empty if the program loads the file."""

    name: str
    fio: str
    iogauge: str


def outcomes(folder: Path) -> Iterator[Outcome]:
    """Load every example of the folder with both programs."""
    for path in sorted(folder.glob("*.fio")):
        yield Outcome(name=path.name, fio=fio_reason(path), iogauge=iogauge_reason(path))


def fio_reason(path: Path) -> str:
    """Return why fio refuses a file; empty if it loads it."""
    done = subprocess.run(
        ["fio", "--parse-only", str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], **VARIABLES},
    )
    if done.returncode == 0:
        return ""
    lines = [line.removeprefix("fio: ") for line in done.stderr.splitlines() if line.strip()]
    return lines[0] if lines else f"status {done.returncode}"


def iogauge_reason(path: Path) -> str:
    """Return why iogauge refuses a file; empty if it loads it."""
    try:
        load(path, environ=VARIABLES)
    except IogaugeError as error:
        return re.sub(r"^.*?\.fio:\d+: (\[.*?\] )?", "", str(error))
    return ""


def page(examples: list[Outcome], version: str) -> str:
    """Return the page: a count, then a table of what is not loaded by both."""
    both = [example.name for example in examples if not example.fio and not example.iogauge]
    by_fio = sum(not example.fio for example in examples)
    by_iogauge = sum(not example.iogauge for example in examples)
    rows = [
        f"| {example.name} | {cell(example.fio)} | {cell(example.iogauge)} |"
        for example in examples
        if example.name not in both
    ]
    return "\n".join(
        [
            "# fio's examples",
            "",
            f"Of the {len(examples)} job files in fio's `examples/`, {version} loads {by_fio} and iogauge",
            f"{by_iogauge}; both load {len(both)}. `python -m bench.fio_examples CHECKOUT` makes this page.",
            "",
            f"Loaded by both: {', '.join(name.removesuffix('.fio') for name in both)}.",
            "",
            "| not loaded by both | fio | iogauge |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def cell(reason: str) -> str:
    """Return a cell of the table."""
    return reason.replace("|", "\\|").replace("<", "&lt;") or "loads"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m bench.fio_examples CHECKOUT_OF_FIO")
    fio_version = subprocess.run(
        ["fio", "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    PAGE.write_text(page([*outcomes(Path(sys.argv[1]) / "examples")], fio_version))
