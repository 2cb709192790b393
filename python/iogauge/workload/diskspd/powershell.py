"""Writes the PowerShell script that runs steps in order with DiskSpd, and saves the XML of each process.

The stages of a step run one after the other, and each concurrent load of a stage is a process. A step of one process
writes ``STEP.xml``; otherwise the first process writes ``STEP+1.xml``. The script first creates the files of the steps,
with DiskSpd's -c. DiskSpd cannot purge: the script warns when a purge is due, and continues. ``scripts`` describes
state groups, failures and the consent to destroy data. This module returns texts: it runs nothing and writes no file.

Source: DiskSpd 2.2 (-Rxml), PowerShell's manual (Start-Process, quoting).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from iogauge.errors import IogaugeError
from iogauge.schema import JobFile
from iogauge.workload.diskspd.arguments import Command
from iogauge.workload.diskspd.commands import Process, Stages, is_drive, stages
from iogauge.workload.scripts import ScriptFiles, Step, parsed_steps, require_any, state_groups

_QUOTES = re.compile("['\u2018\u2019\u201a\u201b]")
"""The characters that PowerShell treats as a single quote."""
_PART = re.compile(r"^(NOTES|TARGET|TARGETS|FILES|RUNS)\n", re.MULTILINE)


def diskspd_script(steps: Iterable[Step]) -> ScriptFiles:
    """Return ``run.ps1``, the PowerShell script that runs the steps with DiskSpd.

    A drive has another name on Windows. If all steps drive one target, the script's ``-Target`` replaces it; for a path
    of Linux this parameter is mandatory. Raises ``IogaugeError`` if DiskSpd can run no step, or if an id cannot name a
    file.

    >>> text = "[a]\\nfilename=t.dat\\nrw=read\\nruntime=1\\ntime_based\\n"
    >>> diskspd_script([Step("one", text), Step("two", text + "fsync=1\\n")]).impossible["two"].hint
    'remove it, or use fio'
    """
    planned: list[tuple[Step, Stages]] = []
    impossible: dict[str, IogaugeError] = {}
    for step, jobs in parsed_steps(steps):
        try:
            planned.append((step, stages(jobs)))
        except IogaugeError as error:
            impossible[step.id] = error
    require_any(planned, impossible)
    commands = [process.command for _, step_stages in planned for stage in step_stages for process in stage]
    targets = list(dict.fromkeys(target for command in commands for target in command.targets))
    only = targets[0] if len(targets) == 1 else None
    notes = {step.id: tuple(dict.fromkeys(_notes(step, step_stages))) for step, step_stages in planned}
    parts = {
        "NOTES": "".join(f"# {line}\n" for line in _note_lines(notes, impossible)),
        "TARGET": _parameter(only),
        "TARGETS": "".join(f"{line}\n" for line in _targets(commands, only)),
        "FILES": "".join(f"{line}\n" for line in _files(commands, only)),
        "RUNS": "".join(f"{line}\n" for line in _runs(planned, only)),
    }
    text = _PART.sub(lambda part: parts[part[1]], _POWERSHELL)
    return ScriptFiles(
        files={"run.ps1": text},
        impossible=impossible,
        notes={step_id: step_notes for step_id, step_notes in notes.items() if step_notes},
    )


def _parameter(only: str | None) -> str:
    """Return the line of the parameter ``-Target``; empty without a single target."""
    if only is None:
        return ""
    if only.startswith("/"):  # a path of Linux, which means nothing on Windows
        return "    [Parameter(Mandatory = $true)][string]$Target,\n"
    return f"    [string]$Target = {_single(only)},\n"


def results(step_id: str, jobs: JobFile) -> tuple[tuple[tuple[str, Process], ...], ...]:
    """Return the file name of each process's result, stage by stage.

    Raises ``IogaugeError`` if DiskSpd cannot run the jobs.
    """
    return _named(step_id, stages(jobs))


def _named(step_id: str, step_stages: Stages) -> tuple[tuple[tuple[str, Process], ...], ...]:
    many = sum(map(len, step_stages)) > 1
    # No id of a step has a '+', so the names of different steps cannot be equal.
    numbers = itertools.count(1)
    return tuple(
        tuple((f"{step_id}+{next(numbers)}.xml" if many else f"{step_id}.xml", process) for process in stage)
        for stage in step_stages
    )


def _notes(step: Step, step_stages: Stages) -> Iterator[str]:
    """Yield how DiskSpd's run of a step differs from iogauge's."""
    if step.purge:
        yield f"does not purge {', '.join(step.purge)} before the step: purge it yourself"
    yield from (note for stage in step_stages for process in stage for note in process.notes)


def _note_lines(notes: dict[str, tuple[str, ...]], impossible: dict[str, IogaugeError]) -> Iterator[str]:
    """Yield a comment for every note, with the ids of its steps, and for every step that is left out."""
    ids_by_note: dict[str, list[str]] = {}
    for step_id, step_notes in notes.items():
        for note in step_notes:
            ids_by_note.setdefault(note, []).append(step_id)
    for note, ids in ids_by_note.items():
        yield f"DiskSpd {_line(note)}: {', '.join(ids)}"
    for error in impossible.values():
        yield f"Left out: {_line(str(error))}"


def _line(text: str) -> str:
    """Return a text as one line, so that it stays in its comment."""
    return " ".join(text.split())


def _targets(commands: Iterable[Command], only: str | None) -> Iterator[str]:
    """Yield a line for each target; it says whether the commands destroy the target's content."""
    lost: dict[str, bool] = {}
    for command in commands:
        for target in command.targets:
            lost[target] = lost.get(target, False) or command.write_percent > 0
    for target, loses in lost.items():
        yield f"    @{{ Path = {_path(target, only)}; Lost = ${str(loses).lower()} }}"


def _path(target: str, only: str | None) -> str:
    return "$Target" if target == only else _single(target)


def _files(commands: Iterable[Command], only: str | None) -> Iterator[str]:
    """Yield a line for each file, with the largest size that a command needs."""
    sizes: dict[str, int] = {}
    for command in commands:
        for target in command.targets:
            if not is_drive(target) and command.create_bytes:
                sizes[target] = max(sizes.get(target, 0), command.create_bytes)
    for target, size_bytes in sizes.items():
        yield f"    @{{ Path = {_path(target, only)}; Bytes = {size_bytes} }}"


def _runs(planned: Sequence[tuple[Step, Stages]], only: str | None) -> Iterator[str]:
    """Yield a line for each process; those of one stage have the same number in ``Together``."""
    together = 0
    groups = state_groups(step for step, _ in planned)
    for step, step_stages in planned:
        for number, stage in enumerate(_named(step.id, step_stages)):
            together += 1
            for result, process in stage:
                fields = {
                    "Step": _single(step.id),
                    "Result": _single(result),
                    "Group": _single(groups[step.id][0].id),
                    "Follows": f"${str(step.follows).lower()}",
                    "Together": str(together),
                    "Delay": str(process.delay_s),
                    "Arguments": f"@({_words(process.command, step, only)})",
                }
                if step.purge and number == 0:
                    fields["Purge"] = _single(", ".join(step.purge))
                if process.loops:
                    command = process.command
                    fields |= {"Loops": str(process.loops), "Begin": str(command.base_bytes)}
                    fields |= {"End": str(command.end_bytes), "Block": str(command.block_bytes)}
                yield "    @{ " + "; ".join(f"{name} = {value}" for name, value in fields.items()) + " }"


def _words(command: Command, step: Step, only: str | None) -> str:
    # The script creates files before all steps; otherwise two processes could create one file at the same time.
    interval_ms = max(step.interval_ns // 10**6, 1)
    words = replace(command, create_bytes=0, interval_ms=interval_ms).arguments(xml=True)
    if only is not None:
        return ", ".join([*map(_single, words[: -len(command.targets)]), "$Target"])
    return ", ".join(map(_single, words))


def _single(text: str) -> str:
    """Return a text in single quotes for PowerShell, which replaces nothing between them; quotes inside are doubled.

    >>> print(_single("it's"))
    'it''s'
    """
    return "'" + _QUOTES.sub(lambda quote: quote[0] * 2, text) + "'"


_POWERSHELL = """\
# Runs every step with DiskSpd, in order, and saves the XML of each process. Run it again to continue: steps that have a
# result are skipped. Failed steps are listed at the end. Steps that write to a target destroy its content. Targets that
# exist before the first call need -Destroy. destroy.allowed lists the targets that may be destroyed: those, and the
# files that did not exist.
NOTES
param(
TARGET
    [string]$DiskSpd = 'diskspd.exe',
    [string]$Output = '',
    [switch]$Destroy
)
$ErrorActionPreference = 'Stop'
if (-not $Output) { $Output = $PSScriptRoot }
$program = Get-Command -Name $DiskSpd -CommandType Application -ErrorAction SilentlyContinue | Select-Object -First 1
if (-not $program) {
    Write-Error 'diskspd.exe was not found: put it in PATH, or give its path with -DiskSpd'
    exit 1
}
$targets = @(
TARGETS
)
$files = @(
FILES
)
$runs = @(
RUNS
)
function Get-Bytes([string]$Path) {
    # Returns the bytes that a result counts, and $null if the result is missing or incomplete.
    if (-not (Test-Path -LiteralPath $Path)) { return $null }
    try {
        $span = ([xml](Get-Content -LiteralPath $Path -Raw)).Results.TimeSpan
        if ($null -eq $span.TestTimeSeconds) { return $null }
        $sum = [long]0
        foreach ($thread in @($span.Thread)) { foreach ($part in @($thread.Target)) { $sum += [long]$part.BytesCount } }
        return $sum
    }
    catch { return $null }
}
function Start-DiskSpd($Words, [string]$Path) {
    # Start-Process does not quote arguments.
    $quoted = $Words | ForEach-Object { if ($_ -match '\\s') { '"' + $_ + '"' } else { $_ } }
    $process = Start-Process -FilePath $program.Source -ArgumentList $quoted -RedirectStandardOutput $Path `
        -NoNewWindow -PassThru
    $null = $process.Handle  # keeps the handle, without which the exit code is lost
    return $process
}
function Wait-DiskSpd($Process, [string]$Path, [string]$Name) {
    $Process.WaitForExit()
    $bytes = Get-Bytes $Path
    if ($Process.ExitCode -ne 0 -or $null -eq $bytes) {
        throw ($Name + ': DiskSpd failed; its output is in ' + $Path)
    }
    return $bytes
}
function Test-Exists([string]$Path) {
    # Test-Path does not know drives, so every drive counts as existing.
    return $Path.StartsWith('#') -or $Path.StartsWith('\\\\.\\') -or $Path -match '^[A-Za-z]:$' `
        -or (Test-Path -LiteralPath $Path)
}
function Test-Large($File) {
    $item = Get-Item -LiteralPath $File.Path -ErrorAction SilentlyContinue
    return $item -and $item.Length -ge $File.Bytes
}
function Reset-Group([string]$Name) {
    # Removes results of a state group whose steps have to run again. Each step needs the state that those before it
    # left, so if one has no result, all run again. But steps with Follows were planned from results of the group: if
    # only the last of them have no result, these continue the group.
    $all = @($runs | Where-Object { $_.Group -eq $Name })
    $gap = $false
    $again = $false
    $stale = @()
    foreach ($id in @($all | ForEach-Object { $_.Step } | Select-Object -Unique)) {
        $parts = @($all | Where-Object { $_.Step -eq $id })
        $missing = @($parts | Where-Object { $null -eq (Get-Bytes (Join-Path $Output $_.Result)) })
        if ($missing.Count -eq 0) {
            if ($gap) { $again = $true }
            continue
        }
        $gap = $true
        if (-not $parts[0].Follows) { $again = $true }
        $stale += $parts
    }
    if ($again) { $stale = $all }
    foreach ($run in $stale) {
        $path = Join-Path $Output $run.Result
        if (Test-Path -LiteralPath $path -PathType Leaf) {
            Write-Host ($run.Result + ': runs again, because a step of its state group has no result')
            Remove-Item -LiteralPath $path
        }
    }
}
function Invoke-Stage($Stage) {
    $step = $Stage[0]
    foreach ($run in $Stage) {
        $result = Join-Path $Output $run.Result
        if (Test-Path -LiteralPath $result -PathType Container) { throw ($result + ': is a directory') }
    }
    if ($step.Purge) { Write-Warning ($step.Step + ': needs a purge of ' + $step.Purge + ', which DiskSpd cannot do') }
    if ($step.Delay) { Start-Sleep -Seconds $step.Delay }
    if ($step.Loops) {
        $part = (Join-Path $Output $step.Result) + '.part'
        for ($loop = 0; $loop -lt $step.Loops; $loop++) {
            $at = [long]$step.Begin
            while ($at + $step.Block -le $step.End) {
                $words = @("-B$at") + @($step.Arguments | Where-Object { $_ -cnotlike '-B*' })
                $bytes = Wait-DiskSpd (Start-DiskSpd $words $part) $part $step.Step
                if ($bytes -le 0) { throw ($step.Step + ': a pass moved no data') }
                $at += $bytes
            }
        }
    }
    else {
        # If one process fails, all processes of the stage run again: their results must be of the same time.
        $started = @($Stage | ForEach-Object {
            $part = (Join-Path $Output $_.Result) + '.part'
            @{ Process = (Start-DiskSpd $_.Arguments $part); Part = $part }
        })
        # Wait for all before the first failure is reported, so that none runs beside the next step.
        foreach ($run in $started) { $run.Process.WaitForExit() }
        foreach ($run in $started) { $null = Wait-DiskSpd $run.Process $run.Part $step.Step }
    }
    foreach ($run in $Stage) {
        $result = Join-Path $Output $run.Result
        Move-Item -LiteralPath ($result + '.part') -Destination $result -Force
    }
}
$consent = Join-Path $Output 'destroy.allowed'
$allowed = @(if (Test-Path -LiteralPath $consent) { Get-Content -LiteralPath $consent -Encoding UTF8 })
$new = @()
$refused = @()
foreach ($item in $targets) {
    if ($allowed -contains $item.Path) { continue }
    # DiskSpd creates a file again that is too small.
    $small = @($files | Where-Object { $_.Path -eq $item.Path -and -not (Test-Large $_) })
    if (-not (Test-Exists $item.Path)) { $new += $item.Path }
    elseif (-not $item.Lost -and $small.Count -eq 0) { continue }
    elseif ($Destroy) { $new += $item.Path }
    else { $refused += $item.Path }
}
if ($refused.Count) {
    foreach ($path in $refused) {
        [Console]::Error.WriteLine($path + `
            ': exists, and these steps destroy its content; add -Destroy to allow that')
    }
    exit 2
}
if ($new.Count) { Add-Content -LiteralPath $consent -Value $new -Encoding UTF8 }
foreach ($file in $files) {
    if (Test-Large $file) { continue }
    Write-Host ($file.Path + ': is created')
    $part = Join-Path $Output 'made.part'
    $words = @('-c' + $file.Bytes; '-b64k'; '-d1'; '-W0'; '-o1'; '-t1'; '-w0'; '-Rxml'; $file.Path)
    $null = Wait-DiskSpd (Start-DiskSpd $words $part) $part $file.Path
    Remove-Item -LiteralPath $part
}
$checked = @()
$failed = @()
$ended = @()
foreach ($number in ($runs | ForEach-Object { $_.Together } | Select-Object -Unique)) {
    $stage = @($runs | Where-Object { $_.Together -eq $number })
    $step = $stage[0]
    if ($checked -notcontains $step.Group) {
        $checked += $step.Group
        Reset-Group $step.Group
    }
    if ($ended -contains $step.Group) {
        if ($failed -notcontains $step.Step) {
            Write-Warning ($step.Step + ': skipped, because an earlier step of its state group failed')
        }
        continue
    }
    $missing = @($stage | Where-Object { $null -eq (Get-Bytes (Join-Path $Output $_.Result)) })
    if ($missing.Count -eq 0) {
        Write-Host ($step.Step + ': done before')
        continue
    }
    Write-Host $step.Step
    try { Invoke-Stage $stage }
    catch {
        Write-Warning $_.Exception.Message
        $failed += $step.Step
        $ended += $step.Group
    }
}
if ($failed.Count) {
    [Console]::Error.WriteLine('failed: ' + ($failed -join ', '))
    exit 1
}
"""
