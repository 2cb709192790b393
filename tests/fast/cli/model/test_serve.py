"""``iogauge model serve``: what it refuses, with a remedy, and how it begins and ends."""

from __future__ import annotations

import signal
import socket
from pathlib import Path
from urllib.parse import unquote

import pytest

from iogauge.cli import main
from tests.served import served

UNDISTURBED = "--dilate=1000000"
"""Nothing is read here; a read would take seconds, of which a late wake-up is never the fifth that is refused."""


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    """Serve in vain; return the exit status and what was said."""
    status = main(["model", "serve", *map(str, arguments)])
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert "hint: " in shown.err
    return status, shown.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["p4800x"],
        ["p4800x", "--socket", "x", "--tcp", "127.0.0.1:0"],
        ["p4800x", "--socket", "x", "--dilate", "0"],
        ["p4800x", "--socket", "x", "--dilate", "4294967296"],
        ["p4800x", "--socket", "x", "--size", "much"],
        ["p4800x", "--socket", "x", "--size", "0"],
        ["p4800x", "--socket", "x", "--memory", "-1"],
        ["p4800x", "--socket", "x", "--seed", "-1"],
        ["p4800x", "--socket", "x", "--store", "y", "--memory", "1g"],
        ["p4800x", "--socket", "x", "--allow-remote"],
        ["p4800x", "--tcp", "10809"],
        ["p4800x", "--tcp", ":10809"],
        ["p4800x", "--tcp", "127.0.0.1:port"],
        ["p4800x", "--tcp", "127.0.0.1:65536"],
        ["p4800x@ideal", "--socket", "x"],
        ["model:p4800x@ideal", "--socket", "x"],
        ["--socket", "x"],
    ],
)
def test_a_wrong_command_line_is_refused(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    status, _ = refused(capsys, *arguments)
    assert status == 2


def test_a_model_that_is_not_there_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    status, said = refused(capsys, "p4801x", "--socket", "x")
    assert status == 2
    assert "p4801x" in said


def test_other_machines_are_let_in_only_where_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    status, said = refused(capsys, "p4800x", "--tcp", "0.0.0.0:0")
    assert status == 1
    assert "127.0.0.1" in said
    assert "allow remote clients" in said


@pytest.mark.parametrize("size", ["1000", "1t"])
def test_a_size_that_the_drive_does_not_have_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, size: str
) -> None:
    status, said = refused(capsys, "p4800x", "--socket", tmp_path / "socket", "--size", size)
    assert status == 1
    assert "a size of 375083606016 bytes or less" in said


def test_a_program_that_would_see_too_much_is_told_how_far_to_dilate(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, said = refused(capsys, "ram", "--socket", tmp_path / "socket", "--dilate", "1")
    assert status == 1
    assert "a dilation of " in said
    assert list(tmp_path.iterdir()) == []


def test_what_lies_in_the_way_is_left_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    dear = tmp_path / "dear"
    dear.write_text("dear".ljust(512))
    assert refused(capsys, "p4800x", "--socket", dear)[0] == 1
    options = ("p4800x", UNDISTURBED, "--socket", tmp_path / "socket", "--store")
    for size in ("1m", "512"):
        assert refused(capsys, *options, dear, f"--size={size}")[0] == 1
    assert dear.read_text() == "dear".ljust(512)
    # A file that was made for a server that does not begin goes with it.
    assert refused(capsys, *options, tmp_path / "store", "--size=1000")[0] == 1
    assert list(tmp_path.iterdir()) == [dear]


@pytest.mark.parametrize("place", ["missing/socket", "x" * 200])
def test_a_socket_that_cannot_be_made_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, place: str
) -> None:
    assert refused(capsys, "p4800x", "--socket", tmp_path / place)[0] == 1


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_takes_a_stale_sockets_place_and_leaves_nothing_behind(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, end: signal.Signals
) -> None:
    path = tmp_path / "a socket?"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    with served("p4800x", "--socket", path, UNDISTURBED, "--size=1g", "--read-only", end=end) as serving:
        assert serving.uri.startswith("nbd+unix:///p4800x?socket=/")
        assert unquote(serving.uri).endswith(str(path))
        assert "read-only" in serving.opening["export"]
        assert "%:" in serving.opening["bias"]
        assert all(serving.uri in serving.opening[program] for program in ("fio", "look"))
        # Where one listens, no other does.
        assert "another server listens" in refused(capsys, "p4800x", "--socket", path)[1]
    assert serving.status == 0
    assert serving.closing["served"] == "0 requests (0 B read, 0 B written) of 1 connection"
    assert not path.exists()


def test_a_free_port_is_told(tmp_path: Path) -> None:
    with served("p4800x", "--tcp=127.0.0.1:0", UNDISTURBED) as serving:
        address = serving.uri.removeprefix("nbd://").removesuffix("/p4800x")
        host, _, port = address.rpartition(":")
        with socket.create_connection((host, int(port))) as client:
            assert client.recv(8, socket.MSG_WAITALL) == b"NBDMAGIC"
    assert serving.status == 0
