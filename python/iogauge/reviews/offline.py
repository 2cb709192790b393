"""Exports a review's steps for fio or DiskSpd, to run on a machine without iogauge, and imports their results.

``export_steps`` writes a directory: the steps as files of the other program, a script that runs them, and the plan
(``plan.json``, a review's manifest). The script saves its results in the same directory. ``import_results`` runs the
review as ``runner`` runs any other, except that it reads the result of a step instead of running it. So the same code
refines searches and plans the steps that follow from measured ones. Steps without a result are then written into the
directory, and the same script runs them.

The script ends after a state group that may need more rounds. The steps after it are exported once the group is
complete, so that nothing else touches the drive between two of its rounds. This module runs nothing and looks at no
target; only the results describe the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from iogauge import workload
from iogauge.errors import IogaugeError
from iogauge.reviews.import_results import UNKNOWN, UNKNOWN_MACHINE, measured_by
from iogauge.reviews.offline_results import OfflineRun, Program, read_offline_run, result_paths
from iogauge.reviews.ordering import in_order
from iogauge.reviews.runner import run_review
from iogauge.schema import (
    Ceiling,
    Interval,
    JobFile,
    Manifest,
    RunPlan,
    RunRecord,
    StepPlan,
    SuitePlan,
    TargetFacts,
)
from iogauge.store import Review
from iogauge.store.durable import explained
from iogauge.store.names import MANIFEST
from iogauge.store.outputs import Claims, Existing
from iogauge.store.review import load_manifest, manifest_bytes
from iogauge.suites.suite import Suite
from iogauge.text.option import either, option
from iogauge.workload.diskspd.powershell import diskspd_script
from iogauge.workload.scripts import ScriptFiles, Step, fio_files

PLAN = "plan.json"
SCRIPTS: dict[Program, str] = {"fio": "run.sh", "diskspd": "run.ps1"}
CONSENT: dict[Program, str] = {"fio": "--destroy", "diskspd": "-Destroy"}
"""The option by which the user allows a script to destroy the content of its targets."""


@dataclass(frozen=True, kw_only=True)
class ImportedReview:
    """The review of an exported directory: what was imported, and what is still missing."""

    review: Review
    program: Program
    imported: int
    """How many steps were imported, searches included."""
    missing: tuple[str, ...]
    """Ids of the steps that the script still has to run."""
    held: int
    """How many steps are exported later, once the state groups before them are complete."""
    depend: tuple[str, ...]
    """Ids of steps whose results count only once the steps before them have results."""
    impossible: dict[str, IogaugeError]
    """Why the program cannot run a step, by its id."""
    damaged: tuple[IogaugeError, ...]
    """The errors of damaged results."""
    warnings: tuple[str, ...]
    """The limits of the figures, without repetition."""


def export_steps(
    directory: Path, manifest: Manifest, program: Program, suites: Callable[[str], Suite]
) -> tuple[ScriptFiles, int]:
    """Write the known steps of a review as files of another program, with the plan.

    Returns the files, and the number of known steps that are held back until others are complete. ``suites`` returns a
    suite by its name.

    Raises IogaugeError if the directory cannot be written or holds another plan, or if the program can run no step.
    """
    if (directory / PLAN).exists():
        raise IogaugeError(
            f"{directory}: has a plan already, and perhaps results",
            hint="choose another directory, or remove that one",
        )
    unknown = {
        "targets": tuple(_known(target) for target in manifest.targets),
        "machine": UNKNOWN_MACHINE,
        "ceiling": None,
        "versions": manifest.versions | {program: UNKNOWN},
    }
    manifest = manifest.model_copy(update=unknown)
    due = _due(directory, manifest, program, suites)
    written = _write(directory, manifest, program, due, existing=Existing.OWN)
    return written, _known_steps(manifest) - len(due)


def exporter() -> str:
    """Return what writes a plan's directory, as the user calls it."""
    return either(command="'iogauge plan --as'", library="Plan.write()")


def exported_plan(directory: Path) -> tuple[Manifest, Program]:
    """Return the plan of an exported directory, and the program it is for. Raises IogaugeError if it has none."""
    if not (directory / PLAN).is_file():
        raise IogaugeError(
            f"{directory}: has no {PLAN}, so {exporter()} did not write it",
            hint="name results of fio or DiskSpd, or a directory that it wrote",
        )
    manifest = load_manifest(directory / PLAN)
    programs = [program for program, script in SCRIPTS.items() if (directory / script).is_file()]
    if not programs:
        raise IogaugeError(
            f"{directory}: has no script ({' or '.join(SCRIPTS.values())})",
            hint=f"copy back all files that {exporter()} wrote",
        )
    return manifest, programs[0]


def import_results(
    directory: Path,
    output: Path,
    suites: Callable[[str], Suite],
    *,
    say: Callable[[str], None] = lambda _: None,
) -> ImportedReview:
    """Save the results of an exported directory as a review, and export the steps that follow from them.

    ``output`` is created, or holds an earlier import of the same plan, which is continued. ``suites`` returns a suite
    by its name. ``say`` is called for every changed file that is replaced.

    Raises IogaugeError if the directory holds no plan, if ``output`` holds something else, or if a suite cannot plan
    its steps from its search.
    """
    manifest, program = exported_plan(directory)
    review = Review.open(output) if (output / MANIFEST).is_file() else Review.create(output, manifest)
    if review.manifest.id != manifest.id:
        raise IogaugeError(
            f"{output}: is not the review that is planned in {directory}",
            hint=f"choose another {option('output')}",
        )
    results = _Results(directory, program, review)
    with review.lock():
        _search(review, results)
        run_review(review, suites, execute=results, watcher=_Unwatched(), purge=_purged)
        _mark(review, results)
    due = _due(directory, review.manifest, program, suites)
    impossible: dict[str, IogaugeError] = {}
    missing: list[str] = []
    depend: list[str] = []
    for _, step in due:
        if review.has(step.id):
            continue
        try:
            paths = _results_of(directory, step, program)
        except IogaugeError as error:
            impossible[step.id] = error
            continue
        (depend if all(path.is_file() for path in paths) else missing).append(step.id)
    if missing:
        # Files that were copied there and back look foreign, but the plan shows that they are iogauge's.
        _write(directory, review.manifest, program, due, existing=Existing.REPLACE, say=say)
    return ImportedReview(
        review=review,
        program=program,
        imported=sum(review.has(step.id) for plan in review.manifest.plans for step in _all(plan)),
        missing=tuple(missing),
        held=_known_steps(review.manifest) - len(due),
        depend=tuple(step_id for step_id in depend if step_id not in results.damaged),
        impossible=impossible,
        damaged=tuple(results.damaged.values()),
        warnings=tuple(results.warnings),
    )


def _due(
    directory: Path, manifest: Manifest, program: Program, suites: Callable[[str], Suite]
) -> list[tuple[SuitePlan, StepPlan]]:
    """Return the steps in order, up to an incomplete state group from which more steps may follow."""
    due: list[tuple[SuitePlan, StepPlan]] = []
    for plan, steps in in_order(manifest):
        due += ((plan, step) for step in steps)
        goes_on = type(suites(plan.suite)).more is not Suite.more
        shares_state = len({step.state_group for step in steps}) < len(steps)
        if goes_on and shares_state and any(_waits(directory, step, program) for step in steps):
            break
    return due


def _known_steps(manifest: Manifest) -> int:
    return sum(len(steps) for _, steps in in_order(manifest))


def _waits(directory: Path, step: StepPlan, program: Program) -> bool:
    """Return whether the program can run a step and has not run it yet."""
    try:
        paths = _results_of(directory, step, program)
    except IogaugeError:
        return False
    return not all(path.is_file() for path in paths)


def _results_of(directory: Path, step: StepPlan, program: Program) -> tuple[Path, ...]:
    """Return the paths of a step's results. Raises IogaugeError if the program cannot run the step."""
    return result_paths(directory, step.id, workload.jobs_of(step), program)


def _write(
    directory: Path,
    manifest: Manifest,
    program: Program,
    due: Sequence[tuple[SuitePlan, StepPlan]],
    *,
    existing: Existing,
    say: Callable[[str], None] = lambda _: None,
) -> ScriptFiles:
    steps = [
        Step(
            step.id,
            step.job_file,
            step.interval_ns,
            plan.targets if step.purge else (),
            step.state_group,
            step.follows,
        )
        for plan, step in due
    ]
    written = (fio_files if program == "fio" else diskspd_script)(steps)
    claims = Claims(saved_targets=[target.path for target in manifest.targets], say=say)
    claims.make_directory(directory)
    # The plan comes last: a directory with a plan is complete.
    files = {name: text.encode() for name, text in written.files.items()} | {PLAN: manifest_bytes(manifest)}
    outputs = {
        name: claims.file(directory / name, existing=existing)
        for name, content in files.items()
        if not _holds(directory / name, content)
    }
    for name, output in outputs.items():
        output.write(files[name], mode=0o755 if name.endswith(".sh") else 0o644)
    return written


def _holds(path: Path, content: bytes) -> bool:
    """Return whether a file has this content. If so, it is iogauge's, even if it was copied."""
    with explained("read", path):
        return path.is_file() and path.read_bytes() == content


def _known(target: TargetFacts) -> TargetFacts:
    """Return the facts that the plan depends on, without those of this machine: another machine runs the steps."""
    return TargetFacts(
        path=target.path,
        kind=target.kind,
        size_bytes=target.size_bytes,
        logical_block_bytes=target.logical_block_bytes,
        physical_block_bytes=target.physical_block_bytes,
    )


@dataclass
class _Results:
    """Reads a step's result from another program instead of running the step. See ``runner.Execute``."""

    directory: Path
    program: Program
    review: Review
    version: str = ""
    damaged: dict[str, IogaugeError] = field(default_factory=dict)
    warnings: dict[str, None] = field(default_factory=dict)
    of_step: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The warnings of every step, by id."""

    def __call__(
        self,
        job_file: JobFile,
        *,
        destroy: Collection[str],
        seed: int,
        interval_ns: int,
        on_interval: Callable[[Interval], None],
        on_message: Callable[[str], None],
        on_start: Callable[[RunPlan, tuple[TargetFacts, ...]], None],
        ceiling: Ceiling | None,
        drive_samples: bool,
    ) -> RunRecord:
        """Return the record of the step of this job file. Raises IogaugeError if it has no result yet."""
        del destroy, interval_ns, on_message, on_start, ceiling, drive_samples
        step_id = job_file.source
        paths = result_paths(self.directory, step_id, job_file, self.program)
        try:
            offline_run = read_offline_run(paths, job_file, self.program, seed=seed)
            self._check_order(step_id, paths[0], offline_run)
        except IogaugeError as error:
            if all(path.is_file() for path in paths):
                self.damaged[step_id] = error
            raise
        for interval in offline_run.intervals:
            on_interval(interval)
        self.version = offline_run.version
        self.warnings |= dict.fromkeys(offline_run.warnings)
        self.of_step[step_id] = offline_run.warnings
        return offline_run.record

    def _check_order(self, step_id: str, path: Path, offline_run: OfflineRun) -> None:
        """Refuse a result that is older than the result of the step before it in its state group."""
        steps = {step.id: step for step in self.review.manifest.steps}
        if step_id not in steps or offline_run.started_at is None:
            return
        group = [step for step in steps.values() if step.state_group == steps[step_id].state_group]
        before = [step.id for step in group[: group.index(steps[step_id])] if self.review.has(step.id)]
        if not before:
            return
        began = datetime.fromisoformat(self.review.record(before[-1]).started_at)
        if datetime.fromisoformat(offline_run.started_at) < began:
            first = _results_of(self.directory, group[0], self.program)[0]
            raise IogaugeError(
                f"{path}: ran before {before[-1]}, but needs the drive in the state that this step leaves",
                hint=f"remove {first}, and run the script: it runs all steps again that share this state",
            )


def _search(review: Review, results: _Results) -> None:
    """Save the searches of plans whose steps are known: a suite may use both to plan the steps that follow."""
    for plan in review.manifest.plans:
        if (step := plan.search) is None or not plan.steps or review.has(step.id):
            continue
        with review.begin(step.id) as writer:
            try:
                record = results(
                    workload.jobs_of(step),
                    destroy=(),
                    seed=step.seed,
                    interval_ns=step.interval_ns,
                    on_interval=writer.interval,
                    on_message=_Unwatched().message,
                    on_start=lambda _plan, _targets: None,
                    ceiling=None,
                    drive_samples=False,
                )
            except IogaugeError:
                continue  # no result: run_review reports what that means
            writer.finish(record)


def _mark(review: Review, results: _Results) -> None:
    """Add to the notes of every plan the program that measured it, and the warnings of its steps."""
    if not results.of_step:
        return
    manifest = review.manifest
    plans = tuple(_marked(plan, results) for plan in manifest.plans)
    versions = manifest.versions | {results.program: results.version}
    review.save_manifest(manifest.model_copy(update={"plans": plans, "versions": versions}))


def _marked(plan: SuitePlan, results: _Results) -> SuitePlan:
    ids = [step.id for step in _all(plan) if step.id in results.of_step]
    if not ids:
        return plan
    warnings = dict.fromkeys(text for step_id in ids for text in results.of_step[step_id])
    if results.program == "diskspd" and any(step.purge for step in plan.steps if step.id in ids):
        warnings["DiskSpd does not purge: whether the target was purged before is not known"] = None
    notes = dict.fromkeys(
        (*plan.notes, measured_by(results.program, results.version), *map(_sentence, warnings))
    )
    return plan.model_copy(update={"notes": tuple(notes)})


def _all(plan: SuitePlan) -> tuple[StepPlan, ...]:
    return (*([plan.search] if plan.search else []), *plan.steps)


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _purged(path: str, *, destroy: Collection[str], on_message: Callable[[str], None]) -> None:
    """Do nothing: the script purged the target, or asked its user to."""
    del path, destroy, on_message


class _Unwatched:
    """Shows no progress: reading takes no time. See ``runner.Watcher``."""

    def step(
        self,
        label: str,
        *,
        expected_s: float | None,
        ahead: int,
        ahead_s: float,
        search: bool = False,
        more: bool = False,
    ) -> None:
        """Ignore that a step begins."""

    def started(self, plan: RunPlan) -> None:
        """Ignore that workers begin."""

    def interval(self, interval: Interval) -> None:
        """Ignore an interval."""

    def ended(self, plan: SuitePlan, record: RunRecord) -> None:
        """Ignore a step's result."""

    def message(self, text: str) -> None:
        """Ignore a message."""


def reasons(impossible: dict[str, IogaugeError]) -> list[tuple[str, str | None, Sequence[str]]]:
    """Return each reason why steps cannot run, with its hint and the ids of its steps."""
    ids_by_reason: dict[tuple[str, str | None], list[str]] = {}
    for step_id, error in impossible.items():
        ids_by_reason.setdefault((str(error).removeprefix(f"{step_id}: "), error.hint), []).append(step_id)
    return [(reason, hint, ids) for (reason, hint), ids in ids_by_reason.items()]
