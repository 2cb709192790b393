"""Runs fio's own tests of its `t/` folder with iogauge in the place of fio, and prints what came of each.

``python -m bench.fio_tests CHECKOUT [fio]`` takes a checkout of fio, of which nothing enters this repository. With a
program after it, the tests run that instead: so a test that fails for fio as well can be told apart. They work in a
temporary folder, for a quarter of an hour, and need neither root nor a device. Scripts that the checkout does not have
are left out: `verify.py` and `verify_state_save.py` came after fio 3.33.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

IOGAUGE = f"{Path(sys.executable).with_name('iogauge')} run --no-ceiling"
QUIET = 'said=$({command} "$@" 2>&1 1>&3) 3>&1; status=$?; [ $status = 0 ] || echo "$said" >&2; exit $status'
"""iogauge's notes of a run that succeeds go to stderr, which some scripts want empty."""
PATIENCE_S = 1800
"""How long one script may take."""
JOBS = [number for number in range(1, 27) if number not in (6, 9, 10)]
"""The job files of `run-fio-tests.py` that run. 6 needs 4 GB of space, 9 takes a minute, and fio-3.33 hangs on 10."""
OUTCOME = re.compile(r"(?m)^(?!\d+ test).*\b(?:PASSED|FAILED)\b.*$")
"""A line about one test, not about their number."""


def scripts(checkout: Path, program: Path, folder: Path) -> Iterator[list[str]]:
    """Yield the command of each script that concerns options of iogauge's."""
    tests = checkout / "t"
    common = ["-f", str(program)]
    jobs = ["-r", str(checkout), "-a", str(folder / "jobs"), "-k", "-o", *map(str, JOBS)]
    yield [str(tests / "run-fio-tests.py"), *common, *jobs]
    yield [
        str(tests / "latency_percentiles.py"),
        *common,
        "-a",
        str(folder / "latency"),
        "-s",
        *map(str, range(15, 23)),
    ]
    yield [str(tests / "log_compression.py"), *common]
    yield [str(tests / "readonly.py"), *common]
    # The script writes filesize=65536), which fio reads as 65536.
    strided = folder / "strided.py"
    text = (tests / strided.name).read_text()
    strided.write_text(text.replace("={size})'", "={size}'"))
    yield [str(strided), *(common if "fiotestlib" in text else common[1:])]
    # The first part of the script reads fio's debug messages.
    steady = folder / "steadystate_tests.py"
    steady.write_text((tests / steady.name).read_text().replace("for test in parsing:", "for test in []:"))
    yield [str(steady), str(program)]
    for name in ("verify.py", "verify_state_save.py"):
        yield [str(tests / name), *common, "-a", str(folder / name.removesuffix(".py"))]
    yield [
        str(tests / "jsonplus2csv_test.py"),
        *common,
        "-s",
        str(checkout / "tools" / "fio_jsonplus_clat2csv"),
    ]


def write_program(path: Path, command: str) -> None:
    """Write an executable file that passes its arguments to a command: the scripts take a file, not a command."""
    path.write_text(f"#!/bin/sh\n{QUIET.replace('{command}', command)}\n")
    path.chmod(0o755)


def stop(folder: Path) -> None:
    """Kill all that works in a folder: the jobs of fio are sessions of their own."""
    for cwd in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            if cwd.resolve().is_relative_to(folder):
                os.kill(int(cwd.parent.name), signal.SIGKILL)


def outcomes(command: list[str], folder: Path, tests: Path) -> tuple[int, list[str]]:
    """Run a script, with the modules of ``tests``. Return its status and the lines about each of its tests."""
    with subprocess.Popen(
        [sys.executable, "-u", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(tests)},
    ) as script:
        try:
            said, _ = script.communicate(timeout=PATIENCE_S)
            status = script.returncode
        except subprocess.TimeoutExpired:
            stop(folder)
            said, _ = script.communicate()
            said, status = f"{said}\nTest FAILED: stopped after {PATIENCE_S} s", 124
    return status, OUTCOME.findall(said) or said.splitlines()[-3:]


def main(checkout: Path, command: str = IOGAUGE) -> None:
    """Run every script and print its outcomes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_program(folder / "fio", command)
        for script in scripts(checkout.resolve(), folder / "fio", folder):
            if not Path(script[0]).exists():
                continue
            status, lines = outcomes(script, folder, checkout.resolve() / "t")
            others = [line.strip() for line in lines if "PASSED" not in line]
            print(
                f"{Path(script[0]).name}: status {status}, {len(lines) - len(others)} passed",
                *(f"    {line}" for line in others),
                sep="\n",
                flush=True,
            )


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python -m bench.fio_tests CHECKOUT_OF_FIO [PROGRAM]")
    main(Path(sys.argv[1]), *sys.argv[2:])
