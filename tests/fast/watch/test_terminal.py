"""``iogauge watch`` on a real pseudo-terminal: what it draws, its keys, and that it puts the terminal back."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from iogauge.cli import main
from iogauge.cli.watch import chosen
from iogauge.cli.watch.terminal import ENTER, LEAVE
from iogauge.errors import IogaugeError
from iogauge.live import finding, places
from iogauge.machine.tuning import owner
from tests.fast.live import feeds

pytestmark = pytest.mark.timeout(600)

IOGAUGE = [sys.executable, "-m", "iogauge"]


@pytest.fixture(autouse=True)
def _runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("iogauge.live.finding.directories", lambda: places.directories()[:1])


@pytest.fixture
def measured() -> Iterator[subprocess.Popen[str]]:
    """A process that measures until it is interrupted."""
    process = feeds.measuring()
    yield process
    process.kill()
    process.wait()


@pytest.fixture(autouse=True)
def no_command_is_left() -> Iterator[None]:
    """Kill what a test that failed has left, with the processes that it began."""
    yield
    for process in Emulator.started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    Emulator.started.clear()


COLOURS = re.compile(r"\x1b\[[0-9;]*[mJK]")
HOME = "\x1b[H"
"""What each drawing begins with."""


class Emulator:
    """A terminal with a command on it; remembers all that the command wrote."""

    started: ClassVar[list[subprocess.Popen[bytes]]] = []

    def __init__(self, command: list[str], *, columns: int = 80, lines: int = 24, **environment: str) -> None:
        self.end, other = pty.openpty()
        self.other = other
        self.resize(columns, lines)
        self.before = termios.tcgetattr(other)
        environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environment}
        self.process = subprocess.Popen(
            command, stdin=other, stdout=other, stderr=other, env=environment, start_new_session=True
        )
        self.started.append(self.process)
        self.text = ""
        self.screens: list[list[str]] = []
        """The screens that were drawn to their end, without colours."""
        self._drawn = 0
        """How much of the text is in them."""
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._process_end = os.pidfd_open(self.process.pid)

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def wait_for(self, text: str) -> None:
        """Read until a text comes."""
        begin = len(self.text)
        while text not in self.text[begin:]:
            begin = max(begin, len(self.text) - len(text))
            assert self._read(), self.text

    def wait_for_screen(self, lines: int) -> None:
        """Read until a screen of so many lines is drawn to its end."""
        begin = len(self.screens)
        while all(len(screen) != lines for screen in self.screens[begin:]):
            begin = len(self.screens)
            assert self._read(), self.text

    def _read(self) -> bool:
        """Wait for what the command writes, and take it; return whether anything came: nothing does after its end."""
        readable = select.select([self.end, self._process_end], [], [])[0]
        if self.end not in readable and not select.select([self.end], [], [], 0)[0]:
            return False
        self.text += self._decode(os.read(self.end, 1 << 16))
        # A screen has ended when the next one begins, or the command leaves.
        begin = self.text.find(HOME, self._drawn)
        while begin >= 0:
            ends = [at for mark in (HOME, LEAVE) if (at := self.text.find(mark, begin + len(HOME))) >= 0]
            if not ends:
                break
            self.screens.append(COLOURS.sub("", self.text[begin + len(HOME) : min(ends)]).split("\r\n"))
            self._drawn = min(ends)
            begin = self.text.find(HOME, self._drawn)
        return True

    def press(self, keys: str) -> None:
        os.write(self.end, keys.encode())

    def ended(self) -> int:
        """Wait for the end of the command; return its exit status."""
        while self._read():
            pass
        return self.process.wait()

    @property
    def left(self) -> list[str]:
        """What stays in the scrollback."""
        return self.text.partition(LEAVE)[2].splitlines()

    def is_as_before(self) -> bool:
        return termios.tcgetattr(self.other) == self.before


@pytest.mark.slow
def test_it_shows_pauses_switches_and_leaves(measured: subprocess.Popen[str]) -> None:
    terminal = Emulator([*IOGAUGE, "watch", str(measured.pid)], COLUMNS="60", LINES="20")
    terminal.wait_for("[1 reader]")
    terminal.press("\t")
    terminal.wait_for("[2 writer]")
    terminal.press(" ")
    terminal.wait_for("continue the display")
    terminal.press("?")
    terminal.wait_for("Any key goes back")
    terminal.press("x")
    terminal.wait_for("continue the display")  # keys that come together with it would go back, too
    terminal.resize(100, 12)
    terminal.press(" ")
    terminal.wait_for_screen(12)
    terminal.press("q")
    assert terminal.ended() == 0
    assert terminal.is_as_before()
    assert terminal.left[-1] == f"the measurement goes on: 'iogauge watch {measured.pid}' shows it again"
    assert terminal.left[0].startswith("run of /tmp/drive")
    assert len(terminal.screens[0]) == 24
    assert len(terminal.screens[-1]) == 12
    assert measured.poll() is None


@pytest.mark.slow
def test_it_ends_a_measurement_only_after_yes(measured: subprocess.Popen[str]) -> None:
    terminal = Emulator([*IOGAUGE, "watch", str(measured.pid)])
    terminal.wait_for("space: pause")
    for answer, seen in (("n", "space: pause"), ("y", LEAVE)):
        terminal.press("e")
        terminal.wait_for("end this measurement?")
        assert measured.poll() is None
        terminal.press(answer)
        terminal.wait_for(seen)
    assert terminal.ended() == 0
    assert measured.wait() != 0
    assert terminal.left[0].startswith("run of /tmp/drive: interrupted after ")
    assert terminal.is_as_before()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_puts_the_terminal_back(
    measured: subprocess.Popen[str], number: signal.Signals, status: int
) -> None:
    terminal = Emulator([*IOGAUGE, "watch", str(measured.pid)])
    terminal.wait_for("space: pause")
    terminal.process.send_signal(number)
    assert terminal.ended() == status
    assert LEAVE in terminal.text
    assert terminal.is_as_before()
    assert measured.poll() is None


@pytest.mark.slow
def test_ctrl_z_puts_the_terminal_back_until_it_goes_on(measured: subprocess.Popen[str]) -> None:
    terminal = Emulator([*IOGAUGE, "watch", str(measured.pid)])
    terminal.wait_for("space: pause")
    terminal.process.send_signal(signal.SIGTSTP)
    terminal.wait_for(LEAVE)
    _, status = os.waitpid(terminal.process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    assert terminal.is_as_before()
    terminal.process.send_signal(signal.SIGCONT)
    terminal.wait_for("space: pause")
    terminal.press("q")
    assert terminal.ended() == 0


@pytest.mark.slow
def test_a_killed_measurement_is_said_to_be_gone(measured: subprocess.Popen[str]) -> None:
    terminal = Emulator([*IOGAUGE, "watch", str(measured.pid)])
    terminal.wait_for("space: pause")
    measured.kill()
    measured.wait()
    assert terminal.ended() == 0
    assert terminal.left[0] == "run of /tmp/drive: its process has ended without reporting an outcome"


@pytest.mark.slow
def test_without_colours_it_says_the_same(measured: subprocess.Popen[str]) -> None:
    terminal = Emulator([*IOGAUGE, "watch", str(measured.pid)], NO_COLOR="1")
    terminal.wait_for("space: pause")
    terminal.press("q")
    terminal.ended()
    assert not re.search(r"\x1b\[[0-9;]*(3[0-7]|4[0-7]|38|48)[;m]", terminal.text)
    assert any("&" in line for line in terminal.screens[-1])


@pytest.mark.slow
def test_a_dumb_terminal_gets_lines(measured: subprocess.Popen[str]) -> None:
    terminal = Emulator([*IOGAUGE, "watch", str(measured.pid)], TERM="dumb")
    terminal.wait_for("run of /tmp/drive")
    measured.send_signal(signal.SIGINT)
    assert terminal.ended() == 0
    assert "\x1b" not in terminal.text
    assert "run of /tmp/drive: interrupted after" in terminal.text


def run_with_watch(*, runtime: str) -> Emulator:
    """Run a job on a model, with the screen."""
    job = ["--name=x", "--filename=model:p4800x", "--rw=randread", "--bs=4k", "--time_based=1"]
    return Emulator([*IOGAUGE, "run", "--watch", *job, f"--runtime={runtime}"])


@pytest.mark.slow
def test_a_run_shows_its_own_screen_and_then_its_results() -> None:
    terminal = run_with_watch(runtime="20")
    assert terminal.ended() == 0
    assert terminal.is_as_before()
    assert any("read" in line for screen in terminal.screens for line in screen)
    left = "\n".join(terminal.left)
    assert left.startswith("run of model:p4800x: done in ")
    assert left.index("run of model:p4800x: done in ") < left.index("reads a second")


@pytest.mark.slow
def test_a_run_that_cannot_begin_takes_no_screen(tmp_path: Path) -> None:
    command = ["run", "--watch", "--name=x", f"--filename={tmp_path}/missing", "--rw=read"]
    terminal = Emulator([*IOGAUGE, *command])
    assert terminal.ended() == 1
    assert ENTER not in terminal.text
    assert "no such file" in " ".join(terminal.text.split())  # it may be on two lines


@pytest.mark.slow
def test_ctrl_c_ends_the_run_and_the_screen_shows_how() -> None:
    terminal = run_with_watch(runtime="100000")
    terminal.wait_for("space: pause")
    os.killpg(terminal.process.pid, signal.SIGINT)  # as the terminal does
    assert terminal.ended() == 130
    assert terminal.left[0].startswith("run of model:p4800x: interrupted after ")
    assert terminal.is_as_before()


@pytest.mark.slow
def test_a_run_goes_on_and_ends_after_ctrl_z() -> None:
    terminal = run_with_watch(runtime="100000")
    terminal.wait_for("space: pause")
    pid = terminal.process.pid
    (screen,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    os.killpg(pid, signal.SIGTSTP)
    terminal.wait_for(LEAVE)
    while owner.state_of(int(screen)) != "T":
        assert terminal.process.poll() is None
        time.sleep(0.01)
    os.killpg(pid, signal.SIGCONT)
    terminal.wait_for("space: pause")
    os.killpg(terminal.process.pid, signal.SIGINT)
    assert terminal.ended() == 130
    assert terminal.is_as_before()


@pytest.mark.slow
def test_leaving_the_screen_does_not_end_the_run() -> None:
    terminal = run_with_watch(runtime="100000")
    terminal.wait_for("space: pause")
    terminal.press("q")
    terminal.wait_for("the measurement goes on: ")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.ended() == 130
    assert "reads a second" in "\n".join(terminal.left)


def test_what_is_meant_must_be_clear(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with feeds.feed(places.make_directory()):
        (info,) = finding.feeds()
    review = tmp_path / "saved"
    review.mkdir()
    named: dict[str, Any] = {**vars(info), "pid": 7, "review": review}
    other = type(info)(**named)
    assert chosen([info], None) is info
    assert chosen([info, other], "7") is other
    assert chosen([info, other], str(review)) is other
    for infos, which, message in (
        ([], None, "no measurement of this user is running"),
        ([info, other], None, f"2 measurements are running: {info.pid} \\(run of drive\\); 7 "),
        ([info], str(review), "no process is running this review"),
        ([info], "12", "neither the directory of a running review nor the process ID"),
    ):
        with pytest.raises(IogaugeError, match=message) as raised:
            chosen(infos, which)
        assert raised.value.hint


def test_without_a_measurement_there_is_nothing_to_watch(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "nice", lambda _: None)  # of the process that tests
    assert main(["watch"]) == 1
    assert "no measurement of this user is running" in capsys.readouterr().err


def test_two_things_do_not_share_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    job = ["--name=x", "--filename=model:p4800x", "--rw=read"]
    assert main(["run", "--watch", "--status-interval=1s", *job]) == 2
    assert "--watch and --status-interval would both print" in capsys.readouterr().err
