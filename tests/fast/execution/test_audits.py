"""A run on a real target is audited before its workers start; models and the null engine have no machine to audit."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge import execution, workload
from iogauge.machine import watch
from iogauge.machine.audit import MACHINE, audits_of
from iogauge.schema import Audit, RunRecord


def run(text: str, **options: object) -> RunRecord:
    return execution.execute(workload.parse(text, source="test"), **options)


def job(target: Path) -> str:
    return f"[job]\nioengine=psync\nrw=randread\nbs=4k\nsize=64k\nfilename={target}\n"


def test_a_file_is_audited_before_the_workers_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def audited(*arguments: object) -> tuple[Audit, ...]:
        order.append("audit")
        return audits_of(*arguments)

    monkeypatch.setattr(watch, "audits_of", audited)
    record = run(
        job(tmp_path / "drive.bin"),
        on_start=lambda _plan, _targets: order.append("start"),
        on_interval=lambda _: order.append("interval"),
    )
    assert order[:2] == ["audit", "start"]
    assert order.count("audit") == 1
    machine, *drives = record.audits
    assert machine.target is None
    assert [fact.id for fact in machine.facts] == [check.id for check in MACHINE]
    assert [audit.target for audit in drives] in ([], [str(tmp_path / "drive.bin")])
    assert record.audit_changes == ()
    assert RunRecord.model_validate_json(record.model_dump_json()) == record


@pytest.mark.parametrize(
    "text",
    [
        "[job]\nioengine=null\nrw=randread\nsize=1m\nnumber_ios=9\n",
        "[job]\nrw=randread\nnumber_ios=9\nfilename=model\\:p4800x\n",
    ],
)
def test_what_is_not_real_is_not_audited(text: str) -> None:
    record = run(text)
    assert record.audits == ()
    assert record.interrupts == ()
