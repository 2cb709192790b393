"""``iogauge model serve --fault``: what is refused with a remedy, and what a served drive says of its faults."""

from __future__ import annotations

import json
import signal
import socket
import struct
from pathlib import Path

import pytest

import iogauge
from iogauge.cli import main
from iogauge.execution.serve import FaultKind
from iogauge.library.models.faults import fault
from tests.fast.verifying import stamped
from tests.served import served

UNDISTURBED = "--dilate=1000000"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--fault=lost"], "one of lost-flush, torn-write"),
        (["--fault=late:often"], "'often' is not one of its keys"),
        (["--fault=late:p"], "write p=VALUE"),
        (["--fault=late:p=2"], "must be from 0 to 1"),
        (["--fault=late:p=nan"], "must be from 0 to 1"),
        (["--fault=late:p=much"], "must be a number from 0 to 1"),
        (["--fault=late:every=0"], "a whole number from 1 on"),
        (["--fault=late:at=3/x"], "a whole number from 1 on"),
        (["--fault=late:p=0.1,every=3"], "says twice when it happens"),
        (["--fault=late:most=1,most=2"], "says most twice"),
        (["--fault=late:delay=soon"], "delay 'soon'"),
        (["--fault=late:unit=512"], "'unit' is not one of its keys"),
        (["--fault=lost-flush:offset=1m"], "'offset' is not one of its keys"),
        (["--fault=torn-write:unit=1000"], "a power of two from 512 on"),
        (["--fault=reordering:across-flush=1"], "write across-flush"),
        (["--write-cache=0"], "write-cache 0"),
        (["--power-cut=soon"], "power-cut soon"),
        (["--power-cut=0"], "not the number of a request, a time, or signal"),
        (["--power-cut=5:keep=some"], "must be one of none, all, random"),
        (["--power-cut=5:unit=1"], "a power of two from 512 on"),
        (["--fault-log=faults"], "there are no faults"),
    ],
)
def test_a_wrong_fault_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["model", "serve", "p4800x", "--socket=x", *arguments]) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert "hint: " in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("kind", FaultKind)
def test_every_kind_needs_no_more_than_its_name(kind: FaultKind) -> None:
    assert fault(kind.value).when == {"every": 1}


def test_a_stranger_is_not_overwritten_by_the_log(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    dear = tmp_path / "dear"
    dear.write_text("dear")
    arguments = ["--socket", str(tmp_path / "s"), "--fault=late", "--fault-log", str(dear)]
    assert main(["model", "serve", "p4800x", UNDISTURBED, *arguments]) == 1
    assert "was not written by iogauge" in capsys.readouterr().err
    assert dear.read_text() == "dear"


def answered(client: socket.socket, command: int, offset: int, data: bytes = b"") -> None:
    """Make a request and wait for its answer; a write sends data."""
    request = struct.pack(">IHHQQI", 0x25609513, 0, command, 7, offset, len(data))
    client.sendall(request + data)
    magic, error, cookie = struct.unpack(">IIQ", client.recv(16, socket.MSG_WAITALL))
    assert (magic, error, cookie) == (0x67446698, 0, 7)


def connected(path: Path) -> socket.socket:
    """A client of the export, past the negotiation."""
    client = socket.socket(socket.AF_UNIX)
    client.connect(str(path))
    assert client.recv(18, socket.MSG_WAITALL)[:8] == b"NBDMAGIC"
    client.sendall(struct.pack(">I", 3) + struct.pack(">QII", 0x49484156454F5054, 1, 0))
    assert len(client.recv(10, socket.MSG_WAITALL)) == 10
    return client


def test_faults_are_noted_and_a_signal_cuts_the_power(tmp_path: Path) -> None:
    path, log, store = tmp_path / "socket", tmp_path / "faults", tmp_path / "store"
    arguments = ("--dilate=10000", "--size=1m", "--fault=lost-flush:at=2", "--power-cut=signal:keep=none")
    with served("p4800x", "--socket", path, *arguments, "--fault-log", log, "--store", store) as serving:
        assert serving.opening["faults"] == "lost-flush; 67.11 MB of writes are volatile until a flush"
        assert serving.opening["cut"] == "the power fails on SIGUSR1"
        with connected(path) as client:
            answered(client, 1, 0, bytes([1]) * 512)
            answered(client, 3, 0)
            answered(client, 1, 512, bytes([2]) * 512)
            serving.process.send_signal(signal.SIGUSR1)
            assert client.recv(1) == b""
        with connected(path) as client:
            answered(client, 3, 0)
    assert serving.status == 0
    assert serving.closing["faults"] == "1, and 1 power cut"
    assert store.read_bytes() == bytes(1 << 20)
    noted = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(fault["kind"], fault["request"]) for fault in noted] == [("lost-flush", 2), ("power-cut", 3)]
    assert noted[1]["length_bytes"] == 1024


@pytest.mark.parametrize("lost", [True, False])
def test_what_a_lost_flush_costs_is_told_by_the_stamps(tmp_path: Path, lost: bool) -> None:
    path, store, log = tmp_path / "socket", tmp_path / "store", tmp_path / "stamps.log"
    blocks = (stamped.block(0, 1), stamped.block(stamped.BLOCK, 2))
    records = [
        *(stamped.write(1, 0), stamped.written(1), stamped.flush(1), stamped.flushed(1)),
        *(stamped.write(2, stamped.BLOCK), stamped.written(2)),
    ]
    log.write_bytes(stamped.log(records))
    fault = f"--fault=lost-flush:at={2 if lost else 3}"
    arguments = ("--dilate=10000", "--size=1m", fault, "--power-cut=4:keep=none", "--store", store)
    with served("p4800x", "--socket", path, *arguments) as serving, connected(path) as client:
        answered(client, 1, 0, blocks[0])
        answered(client, 3, 0)
        answered(client, 1, stamped.BLOCK, blocks[1])
        client.sendall(struct.pack(">IHHQQI", 0x25609513, 0, 3, 7, 0, 0))
        assert client.recv(1) == b""
    assert serving.status == 0
    verification = iogauge.verify(str(store), after_crash=log)
    counts = {kind: count for kind, count in verification.counts.items() if count}
    assert counts == ({"lost": 1, "older": 1} if lost else {"older": 1, "newest": 1})
