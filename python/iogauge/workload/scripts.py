"""Steps as files that another program runs: fio's by a shell script, DiskSpd's by a PowerShell script.

Either script runs the steps in order and keeps one result a step, named like it. It can be run again: a step whose
result is there and whole is skipped, and a result becomes whole at once, by being renamed. What is named comes from
job files, so everything is quoted. Nothing is run or written here.

Source: fio's manual (--output), DiskSpd 2.2 (-Rxml), POSIX and PowerShell for their quoting.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

from iogauge.errors import IogaugeError
from iogauge.schema import JobFile
from iogauge.workload import parse
from iogauge.workload.diskspd import Command
from iogauge.workload.diskspd_commands import commands
from iogauge.workload.kinds import MODEL
from iogauge.workload.options import BY_NAME

Step = tuple[str, str]
"""A step's id, which names its files, and its job file."""

_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_FLAG = re.compile(r"^([a-z_]+)$", re.MULTILINE)
_QUOTES = re.compile("['\u2018\u2019\u201a\u201b]")
"""All that PowerShell takes for a single quote."""


def fio_files(steps: Iterable[Step]) -> dict[str, str]:
    """Return the files with which fio runs the steps, by name: a job file each, and ``run.sh``.

    Percentiles of lat are asked for besides, which are what iogauge judges, and flags are written out. Raises
    ``IogaugeError`` where a step cannot be run by fio, or its id cannot name a file.

    >>> sorted(fio_files([("one", "[a]\\nfilename=t.dat\\nrw=read\\n")]))
    ['one.fio', 'run.sh']
    """
    files: dict[str, str] = {}
    ids = []
    for step_id, text, jobs in _read(steps):
        for job in jobs.jobs:
            if any(name.startswith(MODEL) for name in job.filenames):
                raise IogaugeError(
                    f"{step_id}: [{job.name}] drives a model, which fio cannot",
                    hint="plan for a file or a device, or serve the model: iogauge model serve",
                )
        files[f"{step_id}.fio"] = f"[global]\nlat_percentiles=1\n\n{_FLAG.sub(_said, text).rstrip()}\n"
        ids.append(step_id)
    files["run.sh"] = _SHELL.replace("STEPS", " ".join(map(shlex.quote, ids)))
    return files


def diskspd_script(steps: Iterable[Step]) -> dict[str, str]:
    """Return the PowerShell script with which DiskSpd runs the steps, by its name.

    Where all steps drive one target, the script's ``-Target`` puts another in its place, since a drive has another
    name on Windows; where its path is one of Linux, it has to. Raises ``IogaugeError`` where DiskSpd cannot run a
    step, or its id cannot name a file.
    """
    planned: list[tuple[str, Command]] = []
    for step_id, _, jobs in _read(steps):
        stages = commands(jobs)
        if len(stages) > 1:
            raise IogaugeError(
                f"{step_id}: has stages one after the other, and DiskSpd runs one command a step",
                hint="plan each stage as a step of its own",
            )
        planned.append((step_id, stages[0]))
    targets = list(dict.fromkeys(target for _, command in planned for target in command.targets))
    lines = [
        f"    @{{ Id = {_single(step_id)}; Arguments = @({_words(each, targets)}) }}"
        for step_id, each in planned
    ]
    chosen = ""
    if len(targets) == 1:
        # A path of Linux is none there: it has to be said.
        chosen = "    [Parameter(Mandatory = $true)][string]$Target,\n"
        if not targets[0].startswith("/"):
            chosen = f"    [string]$Target = {_single(targets[0])},\n"
    return {"run.ps1": _POWERSHELL.replace("TARGET\n", chosen).replace("STEPS", "\n".join(lines))}


def _read(steps: Iterable[Step]) -> Iterable[tuple[str, str, JobFile]]:
    seen: set[str] = set()
    for step_id, text in steps:
        if not _ID.fullmatch(step_id) or step_id.lower() in seen:
            raise IogaugeError(
                f"the step {step_id!r} cannot name a file of its own",
                hint="use letters, digits, '_', '.' and '-', and no name twice",
            )
        seen.add(step_id.lower())
        yield step_id, text, parse(text, source=step_id)
    if not seen:
        raise IogaugeError("there is no step to run", hint="plan a suite whose steps are known")


def _said(flag: re.Match[str]) -> str:
    """Write a bare flag out: fio's JSON leaves out options without a value."""
    option = BY_NAME.get(flag[1])
    return f"{flag[1]}=1" if option and option.kind.bare is True else flag[0]


def _words(command: Command, targets: Sequence[str]) -> str:
    words = command.arguments(xml=True)
    if len(targets) == 1:
        return ", ".join([*map(_single, words[: -len(command.targets)]), "$Target"])
    return ", ".join(map(_single, words))


def _single(text: str) -> str:
    """Quote for PowerShell: nothing is replaced between single quotes, which are doubled.

    >>> print(_single("it's"))
    'it''s'
    """
    return "'" + _QUOTES.sub(lambda quote: quote[0] * 2, text) + "'"


_SHELL = """\
#!/bin/sh
# Runs every step with fio, in order, and keeps STEP.json (json+) of each. Run it again to go on.
# A step that writes destroys what its target holds: fio does not ask.
set -eu
cd -- "$(dirname -- "$0")"
if ! command -v fio >/dev/null 2>&1; then
    echo "fio was not found: install it, or put it in PATH" >&2
    exit 127
fi
for step in STEPS; do
    if [ -s "$step.json" ]; then
        echo "$step: done before" >&2
        continue
    fi
    echo "$step" >&2
    fio --output-format=json+ --output="$step.json.part" "$step.fio"
    mv -- "$step.json.part" "$step.json"
done
"""

_POWERSHELL = """\
# Runs every step with DiskSpd, in order, and keeps STEP.xml of each. Run it again to go on.
# A step that writes destroys what its target holds: DiskSpd does not ask.
param(
TARGET
    [string]$DiskSpd = 'diskspd.exe',
    [string]$Output = ''
)
$ErrorActionPreference = 'Stop'
if (-not $Output) { $Output = $PSScriptRoot }
$program = Get-Command -Name $DiskSpd -CommandType Application -ErrorAction SilentlyContinue | Select-Object -First 1
if (-not $program) {
    Write-Error 'diskspd.exe was not found: put it in the path, or name it by -DiskSpd'
    exit 1
}
$steps = @(
STEPS
)
function Test-Whole([string]$Path) {
    if (-not (Test-Path -LiteralPath $Path)) { return $false }
    try { return $null -ne ([xml](Get-Content -LiteralPath $Path -Raw)).Results.TimeSpan.TestTimeSeconds }
    catch { return $false }
}
foreach ($step in $steps) {
    $result = Join-Path $Output ($step.Id + '.xml')
    if (Test-Whole $result) {
        Write-Host ($step.Id + ': done before')
        continue
    }
    Write-Host $step.Id
    $arguments = $step.Arguments
    & $program.Source @arguments | Out-File -LiteralPath ($result + '.part') -Encoding utf8
    if ($LASTEXITCODE -ne 0 -or -not (Test-Whole ($result + '.part'))) {
        Write-Error ($step.Id + ': DiskSpd failed; what it said is in ' + $result + '.part')
        exit 1
    }
    Move-Item -LiteralPath ($result + '.part') -Destination $result -Force
}
"""
