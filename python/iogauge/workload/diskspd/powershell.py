"""Writes steps as a PowerShell script that runs them in order with DiskSpd, and keeps the XML of each process.

A step has a process for each of its concurrent loads, and its stages follow each other. A single process writes
``STEP.xml``; of several the first writes ``STEP+1.xml``. The script first creates the files that steps use, with
DiskSpd's -c. DiskSpd cannot purge: the script says when a purge is due, and continues. ``scripts`` describes how steps
share a drive's state, how failures are handled, and how consent to destroy data is given. This module runs and writes
nothing itself.

Source: DiskSpd 2.2 (-Rxml), PowerShell's manual (Start-Process, quoting).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from iogauge.errors import IogaugeError
from iogauge.schema import JobFile
from iogauge.workload.diskspd.arguments import Command
from iogauge.workload.diskspd.commands import Process, is_drive, stages
from iogauge.workload.scripts import Step, Written, grouped, read, some

_QUOTES = re.compile("['\u2018\u2019\u201a\u201b]")
"""Every character that PowerShell takes for a single quote."""
_PART = re.compile(r"^(NOTES|TARGET|TARGETS|FILES|RUNS)\n", re.MULTILINE)


def diskspd_script(steps: Iterable[Step]) -> Written:
    """Return the PowerShell script with which DiskSpd runs the steps, by its name.

    Where all steps drive one target, the script's ``-Target`` puts another in its place, since a drive has another
    name on Windows; where its path is one of Linux, it has to. Raises ``IogaugeError`` where DiskSpd can run no step
    at all, or an id cannot name a file.

    >>> text = "[a]\\nfilename=t.dat\\nrw=read\\nruntime=1\\ntime_based\\n"
    >>> diskspd_script([Step("one", text), Step("two", text + "fsync=1\\n")]).unsaid["two"].hint
    'leave it out, or use fio'
    """
    planned: list[tuple[Step, tuple[tuple[Process, ...], ...]]] = []
    unsaid: dict[str, IogaugeError] = {}
    for step, jobs in read(steps):
        try:
            planned.append((step, stages(jobs)))
        except IogaugeError as error:
            unsaid[step.id] = error
    some(planned, unsaid)
    commands = [process.command for _, step_stages in planned for stage in step_stages for process in stage]
    targets = list(dict.fromkeys(target for command in commands for target in command.targets))
    only = targets[0] if len(targets) == 1 else None
    chosen = ""
    if only is not None:
        # A path of Linux is none there: it has to be said.
        chosen = "    [Parameter(Mandatory = $true)][string]$Target,\n"
        if not only.startswith("/"):
            chosen = f"    [string]$Target = {_single(only)},\n"
    notes = {
        step.id: tuple(
            dict.fromkeys(
                [
                    *_purged(step),
                    *(note for stage in step_stages for process in stage for note in process.notes),
                ]
            )
        )
        for step, step_stages in planned
    }
    parts = {
        "NOTES": "".join(f"# {line}\n" for line in _said(notes, unsaid)),
        "TARGET": chosen,
        "TARGETS": "".join(f"{line}\n" for line in _targets(commands, only)),
        "FILES": "".join(f"{line}\n" for line in _files(commands, only)),
        "RUNS": "".join(f"{line}\n" for line in _runs(planned, only)),
    }
    text = _PART.sub(lambda part: parts[part[1]], _POWERSHELL)
    return Written(
        files={"run.ps1": text}, unsaid=unsaid, notes={name: said for name, said in notes.items() if said}
    )


def results(step_id: str, jobs: JobFile) -> tuple[tuple[tuple[str, Process], ...], ...]:
    """Return the name of each process's result, stage by stage. Raises ``IogaugeError`` where it cannot be said."""
    return _named(step_id, stages(jobs))


def _named(
    step_id: str, step_stages: tuple[tuple[Process, ...], ...]
) -> tuple[tuple[tuple[str, Process], ...], ...]:
    many = sum(map(len, step_stages)) > 1
    # No step's name has a '+', so that none is taken for another's.
    numbers = iter(range(1, sum(map(len, step_stages)) + 1))
    return tuple(
        tuple((f"{step_id}+{next(numbers)}.xml" if many else f"{step_id}.xml", process) for process in stage)
        for stage in step_stages
    )


def _purged(step: Step) -> Iterator[str]:
    if step.purge:
        yield f"does not purge {', '.join(step.purge)} before: that is left to whoever runs it"


def _said(notes: dict[str, tuple[str, ...]], unsaid: dict[str, IogaugeError]) -> Iterator[str]:
    """Yield every difference and every omission once, with the steps that it concerns."""
    about: dict[str, list[str]] = {}
    for step_id, said in notes.items():
        for note in said:
            about.setdefault(note, []).append(step_id)
    for note, ids in about.items():
        yield f"DiskSpd {_line(note)}: {', '.join(ids)}"
    for error in unsaid.values():
        yield f"Left out: {_line(str(error))}"


def _line(text: str) -> str:
    """Return a text that cannot end a comment."""
    return " ".join(text.split())


def _targets(commands: Iterable[Command], only: str | None) -> Iterator[str]:
    """Yield each target that commands drive, with whether what it holds is lost."""
    lost: dict[str, bool] = {}
    for command in commands:
        for target in command.targets:
            lost[target] = lost.get(target, False) or command.write_percent > 0
    for target, loses in lost.items():
        yield f"    @{{ Path = {_path(target, only)}; Lost = ${str(loses).lower()} }}"


def _path(target: str, only: str | None) -> str:
    return "$Target" if target == only else _single(target)


def _files(commands: Iterable[Command], only: str | None) -> Iterator[str]:
    """Yield each file that commands drive, with the size that all of them need."""
    sizes: dict[str, int] = {}
    for command in commands:
        for target in command.targets:
            if not is_drive(target) and command.create_bytes:
                sizes[target] = max(sizes.get(target, 0), command.create_bytes)
    for target, size_bytes in sizes.items():
        yield f"    @{{ Path = {_path(target, only)}; Bytes = {size_bytes} }}"


def _runs(planned: Sequence[tuple[Step, tuple[tuple[Process, ...], ...]]], only: str | None) -> Iterator[str]:
    together = 0
    groups = grouped(step for step, _ in planned)
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
    # Files are made before all steps: two processes would make one at the same time.
    interval_ms = max(step.interval_ns // 10**6, 1)
    words = replace(command, create_bytes=0, interval_ms=interval_ms).arguments(xml=True)
    if only is not None:
        return ", ".join([*map(_single, words[: -len(command.targets)]), "$Target"])
    return ", ".join(map(_single, words))


def _single(text: str) -> str:
    """Quote for PowerShell: nothing is replaced between single quotes, which are doubled.

    >>> print(_single("it's"))
    'it''s'
    """
    return "'" + _QUOTES.sub(lambda quote: quote[0] * 2, text) + "'"


_POWERSHELL = """\
# Runs every step with DiskSpd, in order, and keeps the XML of each process. Run it again to go on.
# One that fails is named at the end. Steps that write destroy what their targets hold. What was there before the first
# call is only destroyed after a call with -Destroy, which is kept in destroy.allowed, as is what was not there.
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
    Write-Error 'diskspd.exe was not found: put it in the path, or name it by -DiskSpd'
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
    # What a whole result says that was moved; nothing, where it is not whole.
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
    # Start-Process quotes nothing by itself.
    $quoted = $Words | ForEach-Object { if ($_ -match '\\s') { '"' + $_ + '"' } else { $_ } }
    $process = Start-Process -FilePath $program.Source -ArgumentList $quoted -RedirectStandardOutput $Path `
        -NoNewWindow -PassThru
    $null = $process.Handle  # without it there is no exit code later
    return $process
}
function Wait-DiskSpd($Process, [string]$Path, [string]$Name) {
    $Process.WaitForExit()
    $bytes = Get-Bytes $Path
    if ($Process.ExitCode -ne 0 -or $null -eq $bytes) {
        throw ($Name + ': DiskSpd failed; what it said is in ' + $Path)
    }
    return $bytes
}
function Test-There([string]$Path) {
    # A drive is there, whether it has a path or not.
    return $Path.StartsWith('#') -or $Path.StartsWith('\\\\.\\') -or $Path -match '^[A-Za-z]:$' `
        -or (Test-Path -LiteralPath $Path)
}
function Test-Large($File) {
    $there = Get-Item -LiteralPath $File.Path -ErrorAction SilentlyContinue
    return $there -and $there.Length -ge $File.Bytes
}
function Reset-Group([string]$Name) {
    # Steps of which each needs the state that those before it left. Where one is missing they all begin again, unless
    # it is the next of those that follow from what was measured.
    $all = @($runs | Where-Object { $_.Group -eq $Name })
    $gap = $false
    $again = $false
    $begun = @()
    foreach ($id in @($all | ForEach-Object { $_.Step } | Select-Object -Unique)) {
        $parts = @($all | Where-Object { $_.Step -eq $id })
        $missing = @($parts | Where-Object { $null -eq (Get-Bytes (Join-Path $Output $_.Result)) })
        if ($missing.Count -eq 0) {
            if ($gap) { $again = $true }
            continue
        }
        $gap = $true
        if (-not $parts[0].Follows) { $again = $true }
        $begun += $parts
    }
    if ($again) { $begun = $all }
    foreach ($each in $begun) {
        $path = Join-Path $Output $each.Result
        if (Test-Path -LiteralPath $path -PathType Leaf) {
            Write-Host ($each.Result + ': is run again, since what shares its drive''s state has no result')
            Remove-Item -LiteralPath $path
        }
    }
}
function Invoke-Stage($These) {
    $step = $These[0]
    foreach ($each in $These) {
        $result = Join-Path $Output $each.Result
        if (Test-Path -LiteralPath $result -PathType Container) { throw ($result + ': is a directory') }
    }
    if ($step.Purge) { Write-Warning ($step.Step + ': is to begin with a purge of ' + $step.Purge + '; none was made') }
    if ($step.Delay) { Start-Sleep -Seconds $step.Delay }
    if ($step.Loops) {
        $part = (Join-Path $Output $step.Result) + '.part'
        for ($loop = 0; $loop -lt $step.Loops; $loop++) {
            $at = [long]$step.Begin
            while ($at + $step.Block -le $step.End) {
                $words = @("-B$at") + @($step.Arguments | Where-Object { $_ -cnotlike '-B*' })
                $bytes = Wait-DiskSpd (Start-DiskSpd $words $part) $part $step.Step
                if ($bytes -le 0) { throw ($step.Step + ': nothing was moved in a pass') }
                $at += $bytes
            }
        }
    }
    else {
        # What runs at the same time is measured at the same time, or again.
        $under = @($These | ForEach-Object {
            $part = (Join-Path $Output $_.Result) + '.part'
            @{ Process = (Start-DiskSpd $_.Arguments $part); Part = $part }
        })
        # None is left running beside the next step where another failed.
        foreach ($each in $under) { $each.Process.WaitForExit() }
        foreach ($each in $under) { $null = Wait-DiskSpd $each.Process $each.Part $step.Step }
    }
    foreach ($each in $These) {
        $result = Join-Path $Output $each.Result
        Move-Item -LiteralPath ($result + '.part') -Destination $result -Force
    }
}
$kept = Join-Path $Output 'destroy.allowed'
$allowed = @(if (Test-Path -LiteralPath $kept) { Get-Content -LiteralPath $kept -Encoding UTF8 })
$new = @()
$refused = @()
foreach ($each in $targets) {
    if ($allowed -contains $each.Path) { continue }
    # A file that is too small is made anew.
    $small = @($files | Where-Object { $_.Path -eq $each.Path -and -not (Test-Large $_) })
    if (-not (Test-There $each.Path)) { $new += $each.Path }
    elseif (-not $each.Lost -and $small.Count -eq 0) { continue }
    elseif ($Destroy) { $new += $each.Path }
    else { $refused += $each.Path }
}
if ($refused.Count) {
    foreach ($path in $refused) {
        [Console]::Error.WriteLine($path + `
            ': is there, and these steps destroy what it holds: add -Destroy where that may be lost')
    }
    exit 2
}
if ($new.Count) { Add-Content -LiteralPath $kept -Value $new -Encoding UTF8 }
foreach ($file in $files) {
    if (Test-Large $file) { continue }
    Write-Host ($file.Path + ': is made')
    $said = Join-Path $Output 'made.part'
    $words = @('-c' + $file.Bytes; '-b64k'; '-d1'; '-W0'; '-o1'; '-t1'; '-w0'; '-Rxml'; $file.Path)
    $null = Wait-DiskSpd (Start-DiskSpd $words $said) $said $file.Path
    Remove-Item -LiteralPath $said
}
$looked = @()
$failed = @()
$ended = @()
foreach ($number in ($runs | ForEach-Object { $_.Together } | Select-Object -Unique)) {
    $these = @($runs | Where-Object { $_.Together -eq $number })
    $step = $these[0]
    if ($looked -notcontains $step.Group) {
        $looked += $step.Group
        Reset-Group $step.Group
    }
    if ($ended -contains $step.Group) {
        if ($failed -notcontains $step.Step) {
            Write-Warning ($step.Step + ': is left out, since a step whose state it needs failed')
        }
        continue
    }
    $missing = @($these | Where-Object { $null -eq (Get-Bytes (Join-Path $Output $_.Result)) })
    if ($missing.Count -eq 0) {
        Write-Host ($step.Step + ': done before')
        continue
    }
    Write-Host $step.Step
    try { Invoke-Stage $these }
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
