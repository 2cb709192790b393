"""Where latencies cannot be traced: an error with its remedy, before anything runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from iogauge import execution
from iogauge.cli import main
from iogauge.errors import IogaugeError
from iogauge.execution import tracing
from iogauge.execution.tracing import Tracing
from iogauge.machine.trace import Tracer
from iogauge.machine.trace.tracefs import mounted
from iogauge.schema import EngineKind, Job, RunPlan
from tests import builders, report_records


def test_only_root_may_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(IogaugeError, match="only root") as error:
        mounted((tmp_path,))
    assert error.value.hint == "run it as root"
    monkeypatch.setattr(tracing, "mounted", lambda: mounted((tmp_path,)))
    with pytest.raises(IogaugeError) as error:
        tracing.require_tracing()
    assert error.value.hint == "run it as root, or leave out trace_latency"


def test_a_machine_without_tracefs_is_told_how_to_mount_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(IogaugeError, match="not mounted") as error:
        mounted((tmp_path,))
    assert error.value.hint is not None
    assert f"mount -t tracefs tracefs {tmp_path}" in error.value.hint
    (tmp_path / "instances").mkdir()
    assert mounted((tmp_path,)) == tmp_path


def test_a_device_that_is_gone_has_no_requests() -> None:
    with pytest.raises(IogaugeError, match="no block device"):
        Tracer("no-such-device", lambda _: None)


def plan() -> RunPlan:
    return report_records.record([Job(name="r")], [{}]).plan


def test_commands_that_pass_the_block_layer_have_no_requests() -> None:
    commands = report_records.record(
        [Job(name="r"), Job(name="c", ioengine=EngineKind.IO_URING_CMD)], [{}, {}]
    ).plan
    with pytest.raises(IogaugeError, match="io_uring_cmd do not enter the block layer"):
        Tracing(commands, [builders.target("/dev/nvme0n1", device="nvme0n1")])


def test_two_devices_are_one_too_many() -> None:
    targets = [builders.target(f"/tmp/{name}", device=name) for name in ("sda", "sdb")]
    with pytest.raises(IogaugeError, match="one device at a time") as error:
        Tracing(plan(), targets)
    assert "sda, sdb" in str(error.value)


def test_a_file_without_a_device_has_no_requests() -> None:
    with pytest.raises(IogaugeError, match="no block device below"):
        Tracing(plan(), [builders.target("/tmp/x", device=None)])


@pytest.mark.parametrize("command", ["run", "review"])
def test_what_cannot_be_traced_is_refused_before_the_generator_is_measured(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> None:
        raise IogaugeError("tracefs is not mounted")

    monkeypatch.setattr(execution, "require_tracing", refuse)
    monkeypatch.chdir(tmp_path)
    if command == "run":
        monkeypatch.setattr(execution, "measure_ceiling", pytest.fail)
        job = ["--name=r", "--filename=x", "--rw=randread", "--bs=4k", "--size=64k", "--number_ios=1"]
        assert main(["run", *job, "--trace-latency"]) == 1
    else:
        monkeypatch.setattr(execution, "execute", pytest.fail)
        monkeypatch.setattr(execution, "measure_ceiling", lambda *_: None)
        job = ["x", "--size=64k", "--suite=mixed", "--pace=quick", "--runtime=1s"]
        assert main(["review", *job, "--trace-latency"]) == 1
    assert capsys.readouterr().err.rstrip().endswith("error: tracefs is not mounted")


def test_a_drive_model_has_no_block_layer(capsys: pytest.CaptureFixture[str]) -> None:
    job = ["--name=r", "--filename=model:p4800x", "--rw=randread", "--bs=4k", "--runtime=1"]
    assert main(["run", *job, "--trace-latency"]) == 1
    shown = capsys.readouterr()
    assert "no block layer" in shown.err
    assert "--trace-latency" in shown.err
    assert not shown.out
