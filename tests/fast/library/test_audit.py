"""``iogauge.audit`` and the command: the answer first, in 80 columns, with the command that changes each setting."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import iogauge
from iogauge.cli import main
from iogauge.library.audit import AuditResult
from iogauge.machine.audit import CHECKS, audit, windows
from iogauge.machine.audit.reference import page
from tests.audit_trees import NAMES, build

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(params=NAMES)
def result(request: pytest.FixtureRequest, tmp_path: Path) -> AuditResult:
    return AuditResult(audit(build(request.param, tmp_path).subject, target="/dev/drive"))


def test_the_answer_comes_first(result: AuditResult) -> None:
    differing = result.of("differs")
    lines = result.to_text().splitlines()
    assert lines[0].startswith(
        f"{len(differing)} settings on the path to /dev/drive differ from what low latency"
    )
    assert [fact.title for fact in differing] == [
        fact.title for fact in differing if any(line.startswith(f"{fact.title}: ") for line in lines)
    ]
    assert "--all" not in result.to_text(every=True)
    assert all(fact.title in result.to_text(every=True) for fact in result if fact.verdict != "unknown")


def test_only_commands_are_wider_than_a_terminal(result: AuditResult) -> None:
    commands = {fact.change for fact in result if fact.change}
    wide = [line for line in result.to_text(every=True).splitlines() if len(line) > 80]
    assert {line.strip() for line in wide} <= commands


def test_a_result_is_a_collection_and_a_table(result: AuditResult) -> None:
    assert result["cpu.governor"].group == "cpu"
    with pytest.raises(iogauge.UnknownNameError, match="has no fact") as caught:
        result["cpu.governer"]
    assert caught.value.hint == "did you mean cpu.governor?"
    table = result.to_arrow()
    assert table.num_rows == len(result) == len(CHECKS)
    assert sum(verdict == "differs" for verdict in table["verdict"].to_pylist()) == len(result.of("differs"))
    assert json.loads(json.dumps(result.to_dict()))["facts"][0]["id"] == result.audit.facts[0].id
    assert "wanted" in result._repr_html_()


def test_the_command_prints_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["audit", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["facts"]
    assert [fact["id"] for fact in facts] == [check.id for check in CHECKS]
    assert {fact["verdict"] for fact in facts if fact["group"] == "nvme"} == {"not applicable"}
    assert main(["audit"]) == 0
    assert "what low latency wants" in capsys.readouterr().out
    assert main(["audit", "model:p4800x"]) == 2
    assert "a drive model has no machine to audit" in capsys.readouterr().err
    assert main(["audit", str(tmp_path / "nothing")]) == 1
    assert "hint:" in capsys.readouterr().err


def test_the_page_is_that_of_the_checks() -> None:
    path = ROOT / "docs/audit.md"
    assert path.read_text() == page(), "write iogauge.machine.audit.reference.page() to docs/audit.md"
    assert {check.group for check in (*CHECKS, *windows.CHECKS)} == {
        line.split("`")[1].partition(".")[0]
        for line in page().splitlines()
        if "(`" in line and line.startswith("| ")
    }


def test_an_imported_audit_is_printed_as_any_other(capsys: pytest.CaptureFixture[str]) -> None:
    path = ROOT / "tests/fast/machine/audit/windows/server.json"
    result = iogauge.audit(import_file=path)
    assert result.to_text().startswith("9 settings on the path to disk 1 differ from what low latency")
    assert main(["audit", "--import", str(path)]) == 0
    assert capsys.readouterr().out == result.to_text().replace("all=True", "--all")
    assert main(["audit", "--import", str(path), "--all"]) == 0
    assert capsys.readouterr().out == result.to_text(every=True)
    assert main(["audit", "--import", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == result.to_dict()


def test_wrong_imports_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(ROOT / "tests/fast/machine/audit/windows/server.json")
    assert main(["audit", "/dev/null", "--import", path]) == 2
    assert "leave out the target" in capsys.readouterr().err
    (tmp_path / "cut.json").write_text('{"format": "iogauge windows')
    assert main(["audit", "--import", str(tmp_path / "cut.json")]) == 2
    assert "-OutFile" in capsys.readouterr().err


def test_the_script_is_printed_or_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = iogauge.windows_audit_script()
    assert main(["audit", "--windows-script"]) == 0
    assert capsys.readouterr().out == script
    output = tmp_path / "audit.ps1"
    assert main(["audit", "--windows-script", "--output", str(output)]) == 0
    assert capsys.readouterr().out == f"{output}\n"
    assert output.read_text(encoding="ascii") == script
    output.write_text("mine")
    assert main(["audit", "--windows-script", "--output", str(output)]) == 1
    assert "not written by iogauge" in capsys.readouterr().err
    assert output.read_text() == "mine"
    for wrong in (
        ["--windows-script", "/dev/sda"],
        ["--windows-script", "--json"],
        ["--output", str(output)],
    ):
        assert main(["audit", *wrong]) == 2
        assert "hint:" in capsys.readouterr().err
