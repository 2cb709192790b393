"""``fleet review``: its options reach the library as they are meant, and what it ends with is the exit status."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import iogauge.fleet
from iogauge.cli import main
from iogauge.errors import IogaugeError
from iogauge.fleet import shown
from iogauge.library.errors import Interrupted
from tests.fast.report.fleet.made_up import fleet, healthy


class Library:
    """Stands for the library's ``review``: keeps what it is called with."""

    def __init__(self) -> None:
        self.arguments: dict[str, Any] = {}
        self.error: BaseException | None = None

    def __call__(self, **arguments: Any) -> object:
        self.arguments = arguments
        if self.error is not None:
            raise self.error
        return object()


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    made = Library()
    monkeypatch.setattr(iogauge.fleet, "review", made, raising=False)
    monkeypatch.setattr(shown, "view_of", lambda *_, **__: healthy())
    return made


def test_options_reach_the_library(library: Library) -> None:
    words = [
        "--suite=mixed",
        "--pace=full",
        "--seed=7",
        "--mode=staggered",
        "--stagger=30s",
        "--shared",
        "--reads-go-on",
    ]
    words += ["--hosts=hosts.toml", "--keys=keys", "--destroy=r1:S1", "--destroy=r2:S2", "--output=new"]
    assert main(["fleet", "review", "/dev/nvme0n1", *words]) == 0
    wanted = {
        "targets": ["/dev/nvme0n1"],
        "suites": ["mixed"],
        "pace": "full",
        "seed": 7,
        "mode": "staggered",
        "stagger": "30s",
        "shared": True,
        "reads_go_on": True,
        "hosts": Path("hosts.toml"),
        "keys": Path("keys"),
        "destroy": ["r1:S1", "r2:S2"],
        "output": Path("new"),
        "local": None,
        "scheduler": None,
    }
    assert {name: library.arguments[name] for name in wanted} == wanted
    assert "resume" not in library.arguments


def test_resume_takes_no_option_of_the_plan(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", "review", "--resume=saved", "--hosts=hosts.toml"]) == 0
    assert library.arguments["resume"] == Path("saved")
    assert "pace" not in library.arguments
    assert main(["fleet", "review", "--resume=saved", "--pace=full", "--mode=together"]) == 2
    assert "--pace, --mode cannot be given with it" in capsys.readouterr().err


def test_a_missing_host_is_an_error_with_the_way_to_complete(
    library: Library, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shown, "view_of", lambda *_, **__: fleet())
    assert main(["fleet", "review", "model:ram", "--local=10"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("1 host is slow: r4")
    assert out.endswith("everything: iogauge fleet show saved -v\nnext: iogauge fleet report saved\n")
    assert err == "hint: try what is missing again: iogauge fleet review --resume saved\n"


def test_an_interrupt_says_how_to_go_on(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    library.error = Interrupted("2 of 3 hosts are done", path=Path("my fleet"))
    assert main(["fleet", "review", "model:ram", "--local=3"]) == 130
    assert capsys.readouterr().err.splitlines() == [
        "interrupted: 2 of 3 hosts are done",
        "hint: iogauge fleet review --resume 'my fleet'",
    ]


@pytest.mark.parametrize("interrupted", [True, False])
def test_the_way_to_resume_names_the_hosts_again(
    library: Library, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], interrupted: bool
) -> None:
    monkeypatch.setattr(shown, "view_of", lambda *_, **__: fleet())
    if interrupted:
        library.error = Interrupted("2 of 3 hosts are done", path=Path("saved"))
    main(["fleet", "review", "model:ram", "--scheduler=tls://x:1", "--keys=my keys"])
    hint = "iogauge fleet review --resume saved --scheduler tls://x:1 --keys 'my keys'\n"
    assert capsys.readouterr().err.endswith(hint)


def test_an_error_of_the_library_is_text(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    library.error = IogaugeError("r1: no ssh connection", hint="check it")
    assert main(["fleet", "review", "model:ram", "--hosts=x.toml"]) == 1
    assert capsys.readouterr().err == "error: r1: no ssh connection\nhint: check it\n"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["model:ram"], "no hosts are named"),
        (["model:ram", "--local=2", "--scheduler=tls://x:1"], "exclude each other"),
        (["model:ram", "--local=0"], "--local"),
    ],
)
def test_hosts_are_named_once(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", "review", *words]) == 2
    assert error in capsys.readouterr().err
