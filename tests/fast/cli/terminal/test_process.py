"""A command's process: interrupted at any moment, started without streams, printing where nothing can be printed."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from iogauge.cli.terminal import process

NULL = ("--no-ceiling", "--name=x", "--ioengine=null", "--size=1g", "--rw=randread", "--time_based")

KILLED_AT = """
import os, sys

class Killer:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["KILLED_AT"]:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), int(os.environ["KILLED_BY"]))

sys.meta_path.insert(0, Killer())
from iogauge.cli import main
sys.exit(main())
"""
"""The command, sending itself a signal as it looks for a module: wherever in its imports a Ctrl-C may fall."""


def started(*arguments: str, code: str = "", **environ: str) -> subprocess.Popen[str]:
    """Start the command."""
    return subprocess.Popen(
        [sys.executable, *(["-c", code] if code else ["-m", "iogauge"]), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environ,
    )


MODULES = (
    "enum",
    "iogauge.cli.terminal.process",
    "iogauge.cli.terminal.commands",
    "typer",
    "pydantic",
    "numpy",
    "iogauge.execution",
    "iogauge.schema.hdr_histogram",
)


@pytest.mark.parametrize("module", [*MODULES, "iogauge.cli.terminal.progress"])
def test_ctrl_c_during_any_import_is_one_line(module: str) -> None:
    child = started("run", *NULL, "--runtime=60", code=KILLED_AT, KILLED_AT=module, KILLED_BY="2")
    out, err = child.communicate(timeout=600)
    assert (child.returncode, out, err) == (130, "", "interrupted\n")


@pytest.mark.parametrize("module", ["typer", "iogauge.schema", "iogauge.cli.terminal.progress"])
def test_so_is_sigterm(module: str) -> None:
    child = started("run", *NULL, "--runtime=60", code=KILLED_AT, KILLED_AT=module, KILLED_BY="15")
    out, err = child.communicate(timeout=600)
    assert (child.returncode, out, err) == (143, "", "terminated\n")


@pytest.mark.parametrize(("number", "word"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
def test_a_run_that_is_stopped_prints_what_it_measured(number: signal.Signals, word: str) -> None:
    child = started("run", *NULL, "--runtime=600", "--eta-interval=1")
    assert child.stderr is not None
    assert child.stderr.readline().startswith("null, about")
    assert "x: read" in child.stderr.readline()
    child.send_signal(number)
    out, err = child.communicate(timeout=600)
    assert child.returncode == 128 + number
    assert out.startswith("x: randread, 4 KiB, null")
    assert err.endswith(f"{word}: the results up to then are reported\n")
    assert "Traceback" not in err


def test_what_the_parent_ignores_stays_ignored() -> None:
    """As under nohup, or in the background of a shell without job control."""
    ignoring = f"import signal; signal.signal(2, signal.SIG_IGN){KILLED_AT}"
    child = started("--version", code=ignoring, KILLED_AT="typer", KILLED_BY="2")
    out, err = child.communicate(timeout=600)
    assert child.returncode == 0, err
    assert out.startswith("iogauge ")


def command(redirection: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a shell does that sends its streams elsewhere."""
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -m iogauge "$@" {redirection}', sys.executable, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_results_that_stdout_does_not_take_go_to_stderr() -> None:
    done = command(">/dev/full", "run", *NULL, "--runtime=50ms")
    assert done.returncode == 1
    assert "x: randread, 4 KiB, null" in done.stderr
    assert "error: stdout: No space left on device\nhint: send the output to another place\n" in done.stderr


def test_reports_that_stdout_does_not_take_stop_and_the_run_goes_on() -> None:
    job = ["--name=x", "--filename=model:ram@ideal", "--rate_iops=100", "--runtime=3", "--time_based"]
    done = command(">/dev/full", "run", *job, "--status-interval=1", "--output-format=json")
    assert done.returncode == 1
    assert done.stderr.count("no more results until the end: stdout: No space left on device\n") == 1
    assert [int(ios) for ios in re.findall(r'"total_ios": ([1-9]\d*)', done.stderr)] == [100, 300]
    assert "error: stdout: No space left on device\nhint: " in done.stderr


def test_a_stderr_that_takes_nothing_disturbs_nothing() -> None:
    done = command("2>/dev/full", "run", *NULL, "--runtime=50ms")
    assert done.returncode == 0
    assert done.stdout.startswith("x: randread")


@pytest.mark.parametrize("arguments", [["options"], ["--help"], ["run", "--help"], ["--version"]])
def test_help_that_cannot_be_printed_is_no_defect(arguments: list[str]) -> None:
    done = command(">/dev/full", *arguments)
    assert done.returncode == 1
    assert "No space left on device\nhint: " in done.stderr
    assert "defect" not in done.stderr


def test_a_character_that_stdout_cannot_write_costs_no_table(tmp_path: Path) -> None:
    drive = tmp_path / "odd-ÿ±.bin"
    drive.write_bytes(bytes(1 << 20))
    # In UTF-8 the name's own bytes come out, so that a script can use them.
    for encoding, shown in (("ascii", b"??"), ("utf-8", "ÿ±".encode())):
        done = subprocess.run(
            [sys.executable, "-m", "iogauge", "plan", drive, "--suite=spec"],
            check=False,
            capture_output=True,
            env=os.environ | {"PYTHONIOENCODING": encoding},
        )
        assert done.returncode == 0, done.stderr
        assert b"4 KiB random reads, 8 x 4" in done.stdout
        assert b"/odd-" + shown + b".bin" in done.stdout


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_are_never_a_target(closed: str, tmp_path: Path) -> None:
    """A file opened first would get their number, and be written what is meant for them."""
    drive = tmp_path / "drive.bin"
    drive.write_bytes(bytes(1 << 20))
    done = command(
        closed, "run", "--no-ceiling", "--name=x", f"--filename={drive}", "--rw=read", "--number_ios=8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert drive.read_bytes() == bytes(1 << 20)


@pytest.fixture
def begun() -> Iterator[None]:
    """The signals as a command has them that began, in this process."""
    before = {number: signal.getsignal(number) for number in process.ENDING}
    process._take(process._interrupt)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    process._signals.last = signal.SIGINT


@pytest.mark.usefixtures("begun")
def test_results_come_before_the_interruption() -> None:
    printed = []

    def report() -> None:
        with process.results_first():
            os.kill(os.getpid(), signal.SIGTERM)
            printed.append("results")

    with pytest.raises(KeyboardInterrupt):
        report()
    assert printed == ["results"]
    assert (process.word(), process.status()) == ("terminated", 143)


def test_outside_of_a_process_of_its_own_signals_are_left_alone() -> None:
    before = [signal.getsignal(number) for number in process.ENDING]
    process.begin()
    assert [signal.getsignal(number) for number in process.ENDING] == before


def test_as_many_files_may_be_opened_as_the_limit_allows() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, before[1]), before[1]))
        process._open_many()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
