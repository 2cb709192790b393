"""Carries a review to a machine on which iogauge does not run: its steps there, as another program's files, and back.

What is carried is a directory: the steps as fio's or DiskSpd's files, the script that runs them, and the plan that
they are of (``plan.json``, a review's manifest). The script leaves results beside them. Bringing them back conducts
the review as ``conduct`` does any other, with one difference: a step is not run, its result is read. So a search is
refined and what follows from measured steps is planned by the same code, and what then has no result is written into
the directory, to be run by the same script.

A state group that may go on in rounds ends what the script has: whatever comes after it in the review is written once
the group is whole, so that nothing else is done to the drive between two of its rounds. Nothing is run here, and no
target is looked at: of what was measured, and on which machine, only what the results tell is known.

Source: ``conduct`` for what it means that a step is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from iogauge import workload
from iogauge.errors import IogaugeError
from iogauge.reviews.import_results import UNKNOWN, UNKNOWN_MACHINE, measured_by
from iogauge.reviews.offline_results import Carried, Program, read_carried, result_paths
from iogauge.reviews.ordering import in_order
from iogauge.reviews.runner import conduct
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
from iogauge.workload.diskspd.powershell import diskspd_script
from iogauge.workload.scripts import Step, Written, fio_files

PLAN = "plan.json"
SCRIPTS: dict[Program, str] = {"fio": "run.sh", "diskspd": "run.ps1"}
CONSENT: dict[Program, str] = {"fio": "--destroy", "diskspd": "-Destroy"}
"""What a script is called with where what its targets hold may be lost."""


@dataclass(frozen=True, kw_only=True)
class Brought:
    """What a directory had, and what it has not yet."""

    review: Review
    program: Program
    imported: int
    """Steps that are there, searches included."""
    missing: tuple[str, ...]
    """Ids of steps to be run there: the script has them."""
    held: int
    """Steps that are written once those are whole whose drive state goes on."""
    depend: tuple[str, ...]
    """Those with a result that counts only once steps before them have theirs."""
    unsaid: dict[str, IogaugeError]
    """Those that the program cannot run."""
    damaged: tuple[IogaugeError, ...]
    """What is wrong with results that are there."""
    said: tuple[str, ...]
    """What makes figures mean less than they seem to, each once."""


def take(
    directory: Path, manifest: Manifest, program: Program, suites: Callable[[str], Suite]
) -> tuple[Written, int]:
    """Write a review's steps, as far as they are known, as another program's files, with the plan.

    Returns what was written, and how many of the known steps are held back until others are whole. ``suites`` gives a
    suite by its name.

    Raises IogaugeError where the directory cannot be written, holds another plan, or the program can run no step.
    """
    if (directory / PLAN).exists():
        raise IogaugeError(
            f"{directory}: holds a plan already, and perhaps results of it",
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


def carried(directory: Path) -> tuple[Manifest, Program]:
    """Return the plan of a directory, and whose files it holds. Raises IogaugeError where it has none."""
    if not (directory / PLAN).is_file():
        raise IogaugeError(
            f"{directory}: holds no {PLAN}: no directory that 'iogauge plan --as' wrote",
            hint="name results of fio or DiskSpd, or such a directory",
        )
    manifest = load_manifest(directory / PLAN)
    found = [program for program, script in SCRIPTS.items() if (directory / script).is_file()]
    if not found:
        raise IogaugeError(
            f"{directory}: holds neither of {', '.join(SCRIPTS.values())}",
            hint="copy back all of what 'iogauge plan --as' wrote",
        )
    return manifest, found[0]


def bring(
    directory: Path,
    output: Path,
    suites: Callable[[str], Suite],
    *,
    say: Callable[[str], None] = lambda _: None,
) -> Brought:
    """Save what a directory has results of as a review, and write what follows from them into the directory.

    ``output`` is made, or holds an earlier import of the same plan, which goes on. ``suites`` gives a suite by its
    name. ``say`` hears which files that somebody changed are replaced.

    Raises IogaugeError where the directory holds no plan, ``output`` something else, or a search found nothing that
    its suite can go on with.
    """
    manifest, program = carried(directory)
    review = Review.open(output) if (output / MANIFEST).is_file() else Review.create(output, manifest)
    if review.manifest.id != manifest.id:
        raise IogaugeError(
            f"{output}: is another review than the one planned in {directory}", hint="choose another --output"
        )
    results = _Results(directory, program, review)
    with review.lock():
        _search(review, results)
        conduct(review, suites, execute=results, watcher=_Unwatched(), purge=_purged)
        _mark(review, results)
    due = _due(directory, review.manifest, program, suites)
    unsaid: dict[str, IogaugeError] = {}
    missing: list[str] = []
    depend: list[str] = []
    for _, step in due:
        if review.has(step.id):
            continue
        try:
            paths = _results_of(directory, step, program)
        except IogaugeError as error:
            unsaid[step.id] = error
            continue
        (depend if all(path.is_file() for path in paths) else missing).append(step.id)
    if missing:
        # Its plan says whose files they are, which may have been copied there and back.
        _write(directory, review.manifest, program, due, existing=Existing.REPLACE, say=say)
    return Brought(
        review=review,
        program=program,
        imported=sum(review.has(step.id) for plan in review.manifest.plans for step in _all(plan)),
        missing=tuple(missing),
        held=_known_steps(review.manifest) - len(due),
        depend=tuple(step_id for step_id in depend if step_id not in results.damaged),
        unsaid=unsaid,
        damaged=tuple(results.damaged.values()),
        said=tuple(results.said),
    )


def _due(
    directory: Path, manifest: Manifest, program: Program, suites: Callable[[str], Suite]
) -> list[tuple[SuitePlan, StepPlan]]:
    """Return the steps in order, up to a state group that may go on after what is still to be run of it."""
    found: list[tuple[SuitePlan, StepPlan]] = []
    for plan, steps in in_order(manifest):
        found += ((plan, step) for step in steps)
        goes_on = type(suites(plan.suite)).more is not Suite.more
        shares_state = len({step.state_group for step in steps}) < len(steps)
        if goes_on and shares_state and any(_waits(directory, step, program) for step in steps):
            break
    return found


def _known_steps(manifest: Manifest) -> int:
    return sum(len(steps) for _, steps in in_order(manifest))


def _waits(directory: Path, step: StepPlan, program: Program) -> bool:
    """Whether a step is still to be run: the program can, and has not."""
    try:
        paths = _results_of(directory, step, program)
    except IogaugeError:
        return False
    return not all(path.is_file() for path in paths)


def _results_of(directory: Path, step: StepPlan, program: Program) -> tuple[Path, ...]:
    """Return where a step's results lie. Raises IogaugeError where the program cannot run it."""
    return result_paths(directory, step.id, workload.jobs_of(step), program)


def _write(
    directory: Path,
    manifest: Manifest,
    program: Program,
    due: Sequence[tuple[SuitePlan, StepPlan]],
    *,
    existing: Existing,
    say: Callable[[str], None] = lambda _: None,
) -> Written:
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
    # The plan last: a directory with a plan has all that it takes.
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
    """Whether a file has this content already: what was copied there and back is no stranger's, though it looks so."""
    with explained("read", path):
        return path.is_file() and path.read_bytes() == content


def _known(target: TargetFacts) -> TargetFacts:
    """Return what a plan rests on; what else this machine has under that name says nothing of another's."""
    return TargetFacts(
        path=target.path,
        kind=target.kind,
        size_bytes=target.size_bytes,
        logical_block_bytes=target.logical_block_bytes,
        physical_block_bytes=target.physical_block_bytes,
    )


@dataclass
class _Results:
    """Stands for running a step: reads what another program left of it. See ``conduct.Execute``."""

    directory: Path
    program: Program
    review: Review
    version: str = ""
    damaged: dict[str, IogaugeError] = field(default_factory=dict)
    said: dict[str, None] = field(default_factory=dict)
    of_step: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What was said of each, by id."""

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
    ) -> RunRecord:
        """Return the record of the step whose job file it is. Raises IogaugeError where it has no result yet."""
        del destroy, interval_ns, on_message, on_start, ceiling
        step_id = job_file.source
        paths = result_paths(self.directory, step_id, job_file, self.program)
        try:
            found = read_carried(paths, job_file, self.program, seed=seed)
            self._in_turn(step_id, paths[0], found)
        except IogaugeError as error:
            if all(path.is_file() for path in paths):
                self.damaged[step_id] = error
            raise
        for interval in found.intervals:
            on_interval(interval)
        self.version = found.version
        self.said |= dict.fromkeys(found.said)
        self.of_step[step_id] = found.said
        return found.record

    def _in_turn(self, step_id: str, path: Path, found: Carried) -> None:
        """Refuse a result that is older than that of the step whose state it needs."""
        steps = {step.id: step for step in self.review.manifest.steps}
        if step_id not in steps or found.started_at is None:
            return
        group = [step for step in steps.values() if step.state_group == steps[step_id].state_group]
        before = [each.id for each in group[: group.index(steps[step_id])] if self.review.has(each.id)]
        if not before:
            return
        began = datetime.fromisoformat(self.review.record(before[-1]).started_at)
        if datetime.fromisoformat(found.started_at) < began:
            first = _results_of(self.directory, group[0], self.program)[0]
            raise IogaugeError(
                f"{path}: was run before {before[-1]}, whose state of the drive it needs",
                hint=f"remove {first}, and run the script: it runs all again that share this state",
            )


def _search(review: Review, results: _Results) -> None:
    """Save the searches of plans whose steps are known: what follows from these may be asked of the search as well."""
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
                )
            except IogaugeError:
                continue  # without a result; conducting says what that means
            writer.finish(record)


def _mark(review: Review, results: _Results) -> None:
    """Say in each plan who measured it, and what was said of its steps; what was said before stays."""
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
    said = dict.fromkeys(text for step_id in ids for text in results.of_step[step_id])
    if results.program == "diskspd" and any(step.purge for step in plan.steps if step.id in ids):
        said["DiskSpd purges nothing: whether the target was purged before is not known"] = None
    notes = dict.fromkeys((*plan.notes, measured_by(results.program, results.version), *map(_sentence, said)))
    return plan.model_copy(update={"notes": tuple(notes)})


def _all(plan: SuitePlan) -> tuple[StepPlan, ...]:
    return (*([plan.search] if plan.search else []), *plan.steps)


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _purged(path: str, *, destroy: Collection[str], on_message: Callable[[str], None]) -> None:
    """Nothing: the script did it, or said that it is left to whoever runs it."""
    del path, destroy, on_message


class _Unwatched:
    """Hears how the review goes on, and says nothing: reading takes no time. See ``conduct.Watcher``."""

    def step(self, label: str, *, expected_s: float | None, ahead: int, ahead_s: float) -> None:
        """Hear that a step begins."""

    def started(self, plan: RunPlan) -> None:
        """Hear that workers begin."""

    def interval(self, interval: Interval) -> None:
        """Hear an interval."""

    def ended(self, plan: SuitePlan, record: RunRecord) -> None:
        """Hear what a step measured."""

    def message(self, text: str) -> None:
        """Hear what a run would say."""


def reasons(unsaid: dict[str, IogaugeError]) -> list[tuple[str, str | None, Sequence[str]]]:
    """Return why steps cannot be run: each reason once, with what to do about it and the steps that it is about."""
    found: dict[tuple[str, str | None], list[str]] = {}
    for step_id, error in unsaid.items():
        found.setdefault((str(error).removeprefix(f"{step_id}: "), error.hint), []).append(step_id)
    return [(reason, hint, ids) for (reason, hint), ids in found.items()]
