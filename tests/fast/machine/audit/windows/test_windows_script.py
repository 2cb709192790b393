"""The script for Windows, by an independent parser of PowerShell: it only reads, and it reads what the checks need."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest
import tree_sitter_powershell
from tree_sitter import Language, Node, Parser

from iogauge.machine.audit.windows import CHECKS, audit_script
from iogauge.machine.audit.windows.readings import quoted

SCRIPT = audit_script()
PARSER = Parser(Language(tree_sitter_powershell.language()))

READS = {
    "Get-CimInstance", "Get-MpComputerStatus", "Get-PhysicalDisk", "Get-PnpDeviceProperty", "Get-ScheduledTask",
    "Get-StorageAdvancedProperty",
}  # fmt: skip
"""The cmdlets that ask Windows."""
HANDLES = {"ConvertTo-Json", "ForEach-Object", "Sort-Object", "Where-Object"}
"""The cmdlets that handle what it answered."""
CALLS = {
    "$registry.OpenSubKey", "$opened.GetValue", "$opened.Close", "$user.IsInRole",
    "[Microsoft.Win32.RegistryKey]::OpenBaseKey", "[Security.Principal.WindowsIdentity]::GetCurrent",
    "[System.Collections.Generic.KeyNotFoundException]::new", "[DateTime]::UtcNow.ToString", "[regex]::Replace",
    "$ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath", "[System.Text.Encoding]::ASCII.GetBytes",
    "[Console]::Error.WriteLine",
}  # fmt: skip
"""The methods that read or convert."""
WRITES = {"[System.IO.File]::Open", "$stream.Write", "$stream.Close"}
"""The methods that write -OutFile."""
ELEMENTS = {"$fact['values']", "$fact['missing']", "$fact['problem']"}


def nodes(script: str) -> Iterator[Node]:
    waiting = [PARSER.parse(script.encode()).root_node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.children


def texts(*types: str, script: str = SCRIPT) -> list[str]:
    return [(node.text or b"").decode() for node in nodes(script) if node.type in types]


def broken(script: str) -> bool:
    return any(node.is_error or node.is_missing for node in nodes(script))


def stray(script: str) -> set[str]:
    """Return everything that a script runs, calls or assigns to, and that only a script that changes nothing may."""
    functions = set(texts("function_name", script=script))
    commands = set(texts("command_name", script=script)) - functions - READS - HANDLES - {"powercfg.exe"}
    run = set(texts("command_name_expr", script=script)) - {"$Reading", "powercfg.exe"}
    calls = (
        {text.partition("(")[0] for text in texts("invokation_expression", script=script)} - CALLS - WRITES
    )
    targets = {
        text
        for text in texts("left_assignment_expression", script=script)
        if not re.fullmatch(r"(\[string\[\]\])?\$\w+", text)
    }
    return commands | run | calls | (targets - ELEMENTS)


def test_it_is_ascii_and_can_be_parsed() -> None:
    assert SCRIPT.isascii()
    assert not broken(SCRIPT)
    assert broken(SCRIPT.replace("$facts = @(", "$facts = @{(", 1))
    assert broken(SCRIPT.replace("{ $drive = $drives[0] }", "{ $drive = $drives[0 }", 1))
    assert max(map(len, SCRIPT.splitlines())) <= 200


def test_it_runs_nothing_that_changes_anything() -> None:
    assert stray(SCRIPT) == set()
    powercfg = [text for text in texts("command") if "powercfg.exe" in text]
    assert len(powercfg) == 2
    for text in powercfg:
        assert re.match(r"& powercfg\.exe (\$Command SCHEME_CURRENT|/getactivescheme)", text)
    ways = {text.split()[1] for text in texts("command") if text.startswith("Get-PowerNumbers")}
    assert ways == {"'/query'", "'/qh'"}
    assert "'CreateNew'" in next(text for text in texts("invokation_expression") if "File]::Open" in text)
    names = {text.partition("-")[0] for text in (*texts("function_name"), *READS)}
    assert names == {"Get", "Read"}


@pytest.mark.parametrize(
    "line",
    [
        "Set-ItemProperty HKLM:\\x y 1",
        "Stop-Service WSearch",
        "sc.exe config WSearch start= disabled",
        "& $program",
        "[Microsoft.Win32.Registry]::SetValue('a', 'b', 1)",
        "$opened.SetValue('a', 1)",
        "(Get-CimInstance Win32_ComputerSystem).AutomaticManagedPagefile = $false",
        "$service.Delete()",
        "Invoke-Expression $text",
    ],
)
def test_a_change_would_be_detected(line: str) -> None:
    assert stray(f"{SCRIPT}{line}\n")


def test_it_reads_what_the_checks_need_and_nothing_else() -> None:
    ids = Counter(re.findall(r"^    Read-Fact '([a-z0-9_.]+)' \{ .+ \}", SCRIPT, re.MULTILINE))
    assert ids == Counter(check.id for check in CHECKS)
    for check in CHECKS:
        assert f"Read-Fact '{check.id}' {{ {check.reading.command} }}" in SCRIPT
    functions = Counter(texts("function_name"))
    assert set(functions.values()) == {1}
    assert set(functions) <= set(texts("command_name")), "a function that nothing calls"


def test_every_guid_is_a_guid_and_read_once() -> None:
    settings_ = [check for check in CHECKS if check.reading.command.startswith("Read-PowerSetting")]
    places = [tuple(re.findall(r"'([0-9a-f-]+)'", check.reading.command)) for check in settings_]
    assert len(places) > 25
    assert len(set(places)) == len(places)
    for check, place in zip(settings_, places, strict=True):
        assert len(place) == 2, check.id
        for part in place:
            assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", part), check.id
        if check.judge and "{" not in check.change and "setacvalueindex" in check.change:
            assert " ".join(place) in check.change


@pytest.mark.parametrize("text", ["it's", "line\nbreak", "caf\u00e9"])
def test_a_text_cannot_leave_its_quotes(text: str) -> None:
    assert quoted("a $b `c") == "'a $b `c'"
    with pytest.raises(ValueError, match=re.escape(text.split("\n")[0])):
        quoted(text)
