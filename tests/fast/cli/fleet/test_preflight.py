"""What is said and asked before a fleet begins."""

from __future__ import annotations

import io
import sys
from dataclasses import replace

import pytest
import typer

from iogauge.cli.fleet.preflight import before
from iogauge.errors import IogaugeError
from iogauge.fleet.control.preflight import Preflight
from iogauge.report.fleet.view import Difference

KERNELS = Difference(fact="kernel", values=(("6.1", ("a", "b")), ("6.8", ("c",))))
NOTABLE = Preflight(
    hosts=("a", "b", "c"),
    facts={},
    refused=(("c", IogaugeError("/dev/sda is mounted", hint="unmount it")),),
    differences=(KERNELS,),
    writes=(("a", "/dev/nvme0n1"), ("b", "/dev/nvme0n1")),
)
ALIKE = Preflight(hosts=("a", "b"), facts={}, refused=(), differences=(), writes=())
SAID = """\
3 hosts: a, b, c
they differ in:
  kernel: 6.1 (2 of 3 hosts); 6.8 (c)
c refuses: /dev/sda is mounted
hint: unmount it
this writes to /dev/nvme0n1 of a, b
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def at_terminal(monkeypatch: pytest.MonkeyPatch, answer: str) -> Terminal:
    """Let stdin and stderr be terminals; return what is printed there."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    return stream


def test_yes_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = at_terminal(monkeypatch, "y\n")
    assert before(NOTABLE)
    assert stderr.getvalue() == f"{SAID}continue? [y/N] "


def test_anything_else_begins_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = at_terminal(monkeypatch, "\n")
    with pytest.raises(typer.Exit) as ended:
        before(NOTABLE)
    assert ended.value.exit_code == 1
    assert stderr.getvalue().endswith("not started\nhint: --yes skips the question\n")


@pytest.mark.parametrize(("checked", "ask"), [(NOTABLE, False), (ALIKE, True)])
def test_without_need_nobody_is_asked(checked: Preflight, ask: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = at_terminal(monkeypatch, "n\n")
    assert before(checked, ask=ask)
    assert "continue?" not in stderr.getvalue()


def test_without_a_terminal_a_fleet_begins_unless_a_host_refuses(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert before(replace(NOTABLE, refused=()))
    assert "continue?" not in capsys.readouterr().err
    with pytest.raises(typer.Exit) as ended:
        before(NOTABLE)
    assert ended.value.exit_code == 1
    assert capsys.readouterr().err == (
        f"{SAID}not started, since not all hosts can begin\nhint: --yes begins without those that refuse\n"
    )
    assert before(NOTABLE, ask=False)
