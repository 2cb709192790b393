"""The command as a whole: quick to help, errors as two lines, exit statuses, never a traceback."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from iogauge import __version__, cli
from iogauge.cli.terminal import commands, status
from iogauge.errors import IogaugeError

HEAVY = ("numpy", "pyarrow", "rich", "iogauge.schema", "iogauge.workload")


def command(*arguments: str, **fields) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "iogauge", *arguments], check=False, capture_output=True, text=True, **fields
    )


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch):
    """Let ``iogauge options`` raise what a test wants."""

    def set_up(error: BaseException) -> None:
        def options() -> None:
            raise error

        monkeypatch.setattr(
            commands.importlib, "import_module", lambda name: SimpleNamespace(options=options)
        )

    return set_up


def test_help_costs_less_than_three_tenths_of_a_second() -> None:
    """Of a CPU: other work on the machine is not what is tested. ``bench startup`` has the time on the clock."""
    costs = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert command("--help").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    assert min(costs) < 0.3


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["no-such-command"], ["run", "--help"], ["model"]]
)
def test_nothing_heavy_is_imported_for_a_word_of_help(arguments: list[str]) -> None:
    code = (
        "import sys; from iogauge.cli import main; main(sys.argv[1:]); "
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines()[-1] == "[]"


def test_a_run_imports_only_what_it_needs() -> None:
    """A run of five seconds takes less than six: scipy alone would be a second, pyarrow a tenth."""
    code = (
        "import sys; from iogauge.cli import main; main(sys.argv[1:]); "
        "print([name for name in ('scipy', 'pyarrow', 'duckdb', 'rich', 'jinja2') if name in sys.modules])"
    )
    job = ["--name=x", "--ioengine=null", "--size=1g", "--number_ios=10"]
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "--no-ceiling", *job], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_without_arguments_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == status.OK
    out = capsys.readouterr().out
    for name in cli.COMMANDS:
        assert f"  {name} " in out


@pytest.mark.parametrize("group", cli.GROUPS)
def test_a_group_without_arguments_shows_its_help(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([group]) == status.OK
    out = capsys.readouterr().out
    assert out.startswith(f"Usage: iogauge {group} [OPTIONS] COMMAND [ARGS]...")
    names = [words[1] for words in commands.every_command() if words[0] == group and len(words) > 1]
    assert names
    for name in names:
        assert f"  {name} " in out


def test_a_command_of_a_group_has_the_help_of_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["model", "list", "--help"]) == status.OK
    out = capsys.readouterr().out
    assert out.startswith("Usage: iogauge model list [OPTIONS]")
    assert "List the drives and machines that come with iogauge." in out


@pytest.mark.parametrize("words", [("run",), ("model", "list"), ("show",)])
def test_help_of_a_command(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["help", *words]) == status.OK
    helped = capsys.readouterr().out
    assert cli.main([*words, "--help"]) == status.OK
    assert helped == capsys.readouterr().out
    assert helped.startswith(f"Usage: iogauge {' '.join(words)} [OPTIONS]")


def test_help_of_nothing_is_the_list_of_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["help"]) == status.OK
    helped = capsys.readouterr().out
    assert cli.main([]) == status.OK
    assert helped == capsys.readouterr().out
    assert cli.main(["help", "rnu"]) == status.USAGE
    assert "Did you mean 'run'?" in capsys.readouterr().err


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == status.OK
    assert capsys.readouterr().out == f"iogauge {__version__}\n"


def test_every_command_has_its_file() -> None:
    folder = Path(cli.__file__).parent
    # With an underscore for a dash, and where Python has the word itself; a folder, where it has several files.
    missing = [
        words
        for *group, command in commands.every_command()
        for words in [(*group, command.replace("-", "_"))]
        if not any(
            folder.joinpath(*group, cli.FOLDERS.get(command, "") if not group else "", file).exists()
            for file in (f"{words[-1]}.py", f"{words[-1]}_.py", f"{words[-1]}/__init__.py")
        )
    ]
    assert missing == []


def test_an_unknown_command_is_a_usage_error_with_a_guess(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rnu"]) == status.USAGE
    assert capsys.readouterr().err == (
        "error: no such command 'rnu'. Did you mean 'run'?\nhint: see 'iogauge --help'\n"
    )


def test_an_unknown_command_of_a_group_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["model", "shwo"]) == status.USAGE
    assert capsys.readouterr().err == (
        "error: no such command 'shwo'. Did you mean 'show'?\nhint: see 'iogauge model --help'\n"
    )


def test_a_wrong_value_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "--seed=-1", "job.fio"]) == status.USAGE
    err = capsys.readouterr().err
    assert err == (
        "error: invalid value for '--seed': must be at least 0\n"
        "hint: --seed NUMBER (0 or more): Seed of all random choices, except in jobs with randseed\n"
    )


@pytest.mark.parametrize(
    ("error", "code", "err"),
    [
        (IogaugeError("no drive", hint="plug it in"), status.ERROR, "error: no drive\nhint: plug it in\n"),
        (status.UsageError("no"), status.USAGE, "error: no\n"),
        (KeyboardInterrupt(), status.INTERRUPTED, "interrupted\n"),
        (BrokenPipeError(), status.BROKEN_PIPE, ""),
    ],
)
def test_errors_become_lines_and_a_status(failing, capfd, error, code, err) -> None:
    failing(error)
    assert cli.main(["options"]) == code
    assert capfd.readouterr().err == err


class Panic(BaseException):
    """As a panic of the Rust core arrives: not an Exception."""


@pytest.mark.parametrize("error", [ZeroDivisionError("by zero"), Panic("core\nsecond line")])
def test_the_unexpected_is_one_line_and_a_saved_traceback(
    failing, capsys, monkeypatch, tmp_path, error
) -> None:
    monkeypatch.delenv("IOGAUGE_TRACEBACK", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    failing(error)
    assert cli.main(["options"]) == status.ERROR
    lines = capsys.readouterr().err.splitlines()
    (log,) = tmp_path.iterdir()
    assert lines[0] == f"error: unexpected {type(error).__name__}: {str(error).splitlines()[0]}"
    assert lines[1] == f"hint: this is a defect of iogauge; please report it with {log}"
    assert len(lines) == 2
    assert "Traceback" in log.read_text()


def test_the_traceback_is_shown_where_that_is_asked_for(failing, capsys, monkeypatch) -> None:
    monkeypatch.setenv("IOGAUGE_TRACEBACK", "1")
    failing(ZeroDivisionError("by zero"))
    assert cli.main(["options"]) == status.ERROR
    assert "Traceback" in capsys.readouterr().err


def test_nowhere_to_save_a_traceback_is_no_second_error(failing, capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.delenv("IOGAUGE_TRACEBACK", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    failing(ZeroDivisionError("by zero"))
    assert cli.main(["options"]) == status.ERROR
    assert capsys.readouterr().err.splitlines()[1] == "hint: set IOGAUGE_TRACEBACK=1 to see where"


def test_a_reader_that_goes_away_is_met_with_silence() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as broken:  # noqa: PTH123 (a descriptor, not a path)
        done = subprocess.run(
            [sys.executable, "-m", "iogauge", "options"],
            check=False,
            stdout=broken,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert (done.returncode, done.stderr) == (status.BROKEN_PIPE, "")
