"""What each command prints is at most as wide as the terminal: its answer, messages, help, errors and hints.

``brief/test_screens.py`` also counts the lines of ``run``, ``review``, ``show`` and ``compare``.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import iogauge
from iogauge import cli
from iogauge.cli.terminal.commands import every_command, load
from iogauge.store.names import COMPUTED
from tests.fast.verifying import stamped

NARROW, WIDE = 80, 200
SAMPLES = Path(__file__).parents[1] / "imports"
SHORT = ("--runtime=5ms", "--seed=1")
EVERY_FIGURE = "select * from figures"

SAVED = {
    "saved": ("review", "model:p4800x", "--suite=mixed", "--suite=commit-latency"),
    "two": ("review", "model:p4800x", "model:ram", "--suite=mixed"),
    "found": ("find", "model:p4800x", "--over=depth", "--limit=p99 < 60us", "--precision=0.2"),
    "tuned": ("ladder", "model:p4800x", "--read-only", "--blocks=2"),
}
DRIVE = str(Path(iogauge.__file__).parent)
"""A path on a drive: the current directory of a test may be in memory."""
PRINTED = {
    "list": (("list", "."), ("list", "--published")),
    "query": (("query", EVERY_FIGURE, "saved"), ("query", "select step, target, iops from figures", "saved")),
    "plan": (
        ("plan",),
        ("plan", "model:p4800x"),
        ("plan", "/nosuch/t.bin", "--size=1g", "--suite=mixed", "--as=fio", "--output=jobs"),
    ),
    "options": (("options",), ("options", "iodepth")),
    "judge": (("judge", "saved"), ("judge", "saved", "--for=wal")),
    "find": (("review", "--resume=found"),),
    "quick": (("quick", "model:p4800x", *SHORT),),
    "ladder": (("review", "--resume=tuned"),),
    "run": (("run", "--no-ceiling", "--name=x", "--filename=model:ram", "--rw=randrw", "--size=1m"),),
    "review": (("review", "--resume=two"),),
    "show": (("show", "saved"), ("show", "saved", "--step=mixed.reads-100")),
    "compare": (("compare", "saved", "published"), ("compare", "two", "--baseline=ram")),
    "report": (("report", "saved", "--output=new.html"),),
    "export": (("export", "saved", "--csv=new.csv"),),
    "import": (("import", f"{SAMPLES}/fio-plus.json", f"{SAMPLES}/diskspd.xml", "--output=new"),),
    "audit": (("audit",), ("audit", DRIVE)),
    "drive-info": (("drive-info", DRIVE),),
    "tune": (("tune", "--status"),),
    "trace fit": (("trace", "fit", "msr.trace", "--output=new.fio"),),
    "trace import": (("trace", "import", f"{SAMPLES}/msr.csv", "--output=new.trace"),),
    "trace show": (("trace", "show", "msr.trace"),),
    "replay": (("replay", "msr.trace", "model:p4800x", "--addresses=fold", "--seed=1"),),
    "verify": (("verify", "drive.img", "--after-crash=stamps.log", "-v"),),
    "collect": (("collect", "saved", "two", "--output=collected"),),
    "fleet keys": (("fleet", "keys", "keys", "--host=r1"),),
    "model list": (("model", "list"),),
    "model show": (("model", "show", "p4800x"), ("model", "show", "anandtech-linux")),
    "model compare": (("model", "compare", "optane-memory-32g"),),
    "model explain": (
        ("model", "explain", "p4800x", "--job=job.fio", "--set=machine.wake_ns=0", "--replications=2"),
    ),
    "model new": (("model", "new", "--from", "p4800x", "--output", "new.toml"),),
}
"""The commands of each, without those of ``ELSEWHERE``."""
ELSEWHERE = {
    "completion": "prints a script for a shell",
    "fleet report": "prints the path of its page",
    "fleet review": "its screen is that of fleet show",
    "fleet show": "its tests look at its lines, in tests/fast/report/fleet",
    "recover": "prints the paths of logs; its tests have them",
    "trace record": "needs root and a disk",
    "model fit": "takes minutes, and prints what model compare does",
    "model serve": "serves until it is ended",
    "watch": "fits its lines to the screen; its own tests look at them",
    "web": "serves until it is ended",
}
WRONG = (
    ("review", "model:p4800x", "--suite=nosuch"),
    ("review", "model:p4801x"),
    ("review", "mixed"),
    ("review", "model:p4800x", "--runtime=3parsecs"),
    ("run", "--name=x", "--rw=sideways", "--filename=model:ram"),
    ("run", "--name=x", "--ioengine=nosuch", "--filename=model:ram"),
    ("run", "saved"),
    ("find", "model:ram", "--limit=p99"),
    ("judge", "saved", "--for=wall"),
    ("judge", "saved", "--for=nosuch"),
    ("compare", "two", "--baseline=nosuch"),
    ("query", "saved", "select 1"),
    ("query", "select p99 from figures", "saved"),
    ("query", "select nosuch from nowhere", "saved"),
    ("show", "saved", "--step=nosuch"),
    ("show", "saved", "--fail-if=nosuch[1].p99 > 1ms"),
    ("export", "saved", "--cvs=x"),
    ("options", "nosuch"),
    ("model", "show", "nosuch"),
    ("nosuch",),
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reviews of models, made once. They are complete: to resume one prints what making it printed."""
    place = tmp_path_factory.mktemp("reviews")
    for name, arguments in SAVED.items():
        assert cli.main([*arguments, *SHORT, f"--output={place / name}"]) == 0
    assert cli.main(["trace", "import", f"{SAMPLES}/msr.csv", f"--output={place / 'msr.trace'}"]) == 0
    (place / "drive.img").write_bytes(bytes(stamped.BLOCK))
    (place / "job.fio").write_text("[reads]\nrw=randrw\nbs=4k\nsize=64m\nnumber_ios=2000\n")
    records = [stamped.write(1, 0, fua=True), stamped.written(1)]
    (place / "stamps.log").write_bytes(stamped.log(records))
    return place


@pytest.fixture
def folder(saved: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current directory, with these reviews, which no command changes."""
    monkeypatch.chdir(saved)
    before = {*saved.iterdir()}
    contents = contents_of(saved)
    yield saved
    remove_new(saved, before)
    assert contents_of(saved) == contents


def contents_of(folder: Path) -> set[tuple[Path, int, int]]:
    """Return the files of a directory, without caches, with their sizes and when they were last written to."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != COMPUTED)
    status = {path: path.stat() for path in files}
    return {(path, of.st_size, of.st_mtime_ns) for path, of in status.items()}


def remove_new(folder: Path, before: set[Path]) -> None:
    """Remove what a command wrote, so that the next does not see it."""
    for path in {*folder.iterdir()} - before:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """Return the lines of a command, those of stderr last."""
    capsys.readouterr()
    cli.main([*arguments])
    out, err = capsys.readouterr()
    return [*out.splitlines(), *err.splitlines()]


def commands() -> Iterator[str]:
    yield from (
        " ".join(words) for words in every_command() if words not in {(group,) for group in cli.GROUPS}
    )


def test_every_command_is_looked_at() -> None:
    assert {*PRINTED, *ELSEWHERE} == {*commands()}


@pytest.mark.parametrize("columns", [NARROW, WIDE])
@pytest.mark.parametrize(
    "arguments",
    [arguments for every in PRINTED.values() for arguments in every],
    ids=lambda arguments: " ".join(arguments).replace(str(SAMPLES), "")[:60],
)
def test_no_line_is_wider_than_the_terminal(
    arguments: tuple[str, ...],
    columns: int,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = printed(capsys, *arguments)
    assert lines
    assert not any(line.startswith("error: ") for line in lines)
    # Plain lines of progress are for a file; those of a terminal are tested with it. Commands and paths are copied.
    copied = ("iogauge ", str(Path(iogauge.__file__).parent))
    prose = [line for line in lines if not line.startswith("[") and not any(text in line for text in copied)]
    assert [line for line in prose if len(line) > columns] == []


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_errors_and_hints_are_wrapped_at_words(
    arguments: tuple[str, ...],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(NARROW))
    wrapped = printed(capsys, *arguments)
    assert wrapped[0].startswith("error: ")
    assert max(map(len, wrapped)) <= NARROW
    # What is no terminal gets the same words in two lines.
    monkeypatch.delenv("COLUMNS")
    plain = printed(capsys, *arguments)
    assert [line.partition(":")[0] for line in plain if line[0] != " "][-1] == "hint"
    assert " ".join(plain).split() == " ".join(wrapped).split()


@pytest.mark.parametrize("words", ["", "model", *commands()])
@pytest.mark.parametrize("columns", [NARROW, WIDE])
def test_help_is_no_wider_than_the_terminal(
    words: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = printed(capsys, *words.split(), "--help")
    assert lines[0].startswith(f"Usage: iogauge {words}".rstrip())
    assert max(map(len, lines)) <= columns


@pytest.mark.parametrize("words", [*commands()])
def test_an_example_of_help_is_never_broken(
    words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(NARROW))
    lines = printed(capsys, *words.split(), "--help")
    text = load(*words.split()).help or ""
    examples = [line for line in text.splitlines() if line.startswith("    ")]
    assert examples
    assert [line for line in examples if f"  {line}" not in lines] == []
    # A line goes on where an option or an argument begins.
    assert "'" not in {line.count("'") % 2 * "'" for line in examples}


def head(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    return printed(capsys, *arguments)[0].split()


@pytest.mark.parametrize("arguments", [("list", "."), ("list", "--published"), PRINTED["query"][0]])
def test_a_wide_terminal_has_more_columns_and_a_pipe_all(
    arguments: tuple[str, ...],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(NARROW))
    narrow = head(capsys, *arguments)
    monkeypatch.setenv("COLUMNS", str(WIDE))
    wide = head(capsys, *arguments)
    monkeypatch.delenv("COLUMNS")
    piped = head(capsys, *arguments)
    assert [name for name in piped if name in wide] == wide
    assert [name for name in wide if name in narrow] == narrow
    assert len(narrow) < len(wide) <= len(piped)


def test_a_query_says_which_columns_did_not_fit(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(NARROW))
    *_, last = printed(capsys, "query", EVERY_FIGURE, "saved")
    assert last.endswith(": --csv has all")
    monkeypatch.delenv("COLUMNS")
    assert "did not fit" not in " ".join(printed(capsys, "query", EVERY_FIGURE, "saved"))
