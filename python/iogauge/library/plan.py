"""What a review would do, how long it takes and how much it writes, without doing it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

from iogauge.errors import UsageError
from iogauge.library import options as review_options
from iogauge.library.options import ReviewOptions, StrPath
from iogauge.library.public import public
from iogauge.results.tabular import Tabular
from iogauge.schema import Manifest, TargetFacts
from iogauge.text import html, numbers
from iogauge.text.option import call, option

if TYPE_CHECKING:
    import pyarrow as pa

    from iogauge.reviews.estimate import Following, ReviewCost, StepCost
    from iogauge.suites.suite import LadderRequest
    from iogauge.workload.scripts import ScriptFiles

Program = Literal["fio", "diskspd"]
"""The program that runs the steps instead of iogauge."""

_OF_WINDOWS = re.compile(r"[A-Za-z]:|#\d|\\\\")
"""How names of files and drives begin on Windows: ``C:``, ``#1``, ``\\\\.\\PhysicalDrive1``."""


@public
def plan(
    targets: Sequence[StrPath] | StrPath = (),
    *,
    program: Program | None = None,
    on_message: Callable[[str], None] = lambda _: None,
    **options: Unpack[ReviewOptions],
) -> Plan:
    """Plan a review without running it: targets are only opened for reading, and no file is created.

    Args:
        targets: block devices, files or drive models (``"model:p4800x"``), one or several.
        program: plan for ``"fio"`` or ``"diskspd"``, which may run on another machine. A target that does not exist
            here keeps its name and needs ``size``. ``Plan.write`` writes the steps as that program's files.
        on_message: is called with messages, for instance that a drive is slow to answer.
        options: those of a review: ``suites``, ``pace``, ``state``, ``purge_by``, ``drive_samples``,
            ``repeats``, ``until_supported``, ``size``, ``runtime``, ``seed`` and ``use`` (see ``ReviewOptions``).

    Raises:
        UsageError: an option is invalid.
        IogaugeError: a target cannot be opened, or a suite cannot plan its steps.

    Examples:
        >>> import iogauge
        >>> plan = iogauge.plan("model:p4800x", suites=["queue-depth"])
        >>> plan.most_steps, plan.expected_s
        (28, 35.0)
    """
    from iogauge.target.layers import layers_over

    if program is not None and program not in get_args(Program):
        raise UsageError(f"program {program!r}: there is none of this name", hint="one of fio, diskspd")
    if program is not None and options.get("purge_by", "discard") != "discard":
        raise UsageError(
            f"{option('purge_by', options['purge_by'])}: the scripts for other programs purge by a discard alone",
            hint="leave it out, and purge the target yourself before the script runs",
        )
    state = options.get("state", "as-is")
    size = options.get("size")

    def facts_of(path: str, file_bytes: int) -> TargetFacts:
        if _is_elsewhere(path, program):
            return _elsewhere(path, size=size)
        return _facts(*review_options.anchored([path]), size_bytes=file_bytes, state=state, say=on_message)

    def ladder_on(target: TargetFacts) -> LadderRequest:
        # Few plans have a ladder, and the modules that know its settings take long to import.
        from iogauge.library.tunings.rungs import LadderOptions, ladder_of

        return ladder_of(LadderOptions(), target, program=program, say=None)

    manifest = review_options.new_review(
        review_options.as_list(targets),
        facts_of,
        command=(),
        name_target=call("plan", "/dev/nvme0n1"),
        # Nothing is tried: that would make devices. Another program has none of them.
        layers=lambda target: () if target.modelled or program else layers_over(target.path),
        ladder=ladder_on,
        **options,
    )
    return Plan(manifest, program)


@dataclass(frozen=True, repr=False)
class Plan(Tabular):
    """A planned review: its steps, how long they take and how much they write, most likely and at most.

    Iterate over it for its steps. ``str()`` is what ``iogauge plan`` prints.
    """

    manifest: Manifest
    program: Program | None = None
    """The program that would run it; None: iogauge."""

    @cached_property
    def cost(self) -> ReviewCost:
        """The time and the writes of each step, and of the steps that follow from others."""
        from iogauge.reviews.estimate import cost_of
        from iogauge.suites import suite_of

        return cost_of(self.manifest, suite_of)

    @property
    def steps(self) -> tuple[StepCost, ...]:
        """The steps known now, in the order in which they run."""
        return self.cost.steps

    def __iter__(self) -> Iterator[StepCost]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def to_arrow(self) -> pa.Table:
        """Return a row for each step known now, as an Arrow table; times are in seconds, sizes in bytes."""
        import pyarrow as pa

        rows = [{**_step(step), "targets": ", ".join(step.plan.targets)} for step in self.steps]
        return pa.Table.from_pylist(rows)

    @property
    def fewest_steps(self) -> int:
        """The smallest number of steps; some follow from the results of others."""
        return self.cost.fewest

    @property
    def most_steps(self) -> int:
        """The largest number of steps."""
        return len(self.cost.most)

    @property
    def expected_s(self) -> float:
        """The shortest duration of the review; virtual time on drive models."""
        return self.cost.expected_s

    @property
    def likely_s(self) -> float:
        """How long the review is likely to take; virtual time on drive models."""
        return self.cost.likely_s

    @property
    def likely_bytes(self) -> int:
        """How much the review is likely to write."""
        return self.cost.likely_bytes

    @property
    def longest_s(self) -> float:
        """The longest duration of the review."""
        return self.cost.longest_s

    @property
    def written_bytes(self) -> int:
        """The most that the review writes, if ``writes_bounded``."""
        return self.cost.written_bytes

    @property
    def writes_bounded(self) -> bool:
        """Whether a rate or an amount limits every write."""
        return self.cost.bounded

    @public
    def write(self, directory: StrPath) -> tuple[ScriptFiles, int]:
        """Write the steps as files of ``program``, with a script that runs them all, into a new directory.

        Returns the files written with the steps left out, and how many steps are written later, once earlier ones ran.

        Raises:
            UsageError: the plan was made without ``program``.
            IogaugeError: the directory cannot be written.
        """
        from iogauge.reviews.offline import export_steps
        from iogauge.suites import suite_of

        if self.program is None:
            raise UsageError("the plan is for no other program", hint="plan with program='fio' or 'diskspd'")
        return export_steps(Path(directory), self.manifest, self.program, suite_of)

    def to_text(self, *, every_step: bool = True) -> str:
        """Return what the steps take, write and discard, then a table of them.

        Without ``every_step``, the table of several suites or targets has a row for each of them.
        """
        from iogauge.report import plan_text

        text_lines = plan_text.lines(self.manifest, self.cost, every_step=every_step)
        return "".join(f"{line}\n" for line in text_lines)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        suites = ", ".join(dict.fromkeys(plan.suite for plan in self.manifest.plans))
        targets = ", ".join(target.path for target in self.manifest.targets)
        return f"<Plan of {suites} on {targets}: {self.most_steps} steps>"

    def _repr_html_(self) -> str:
        from iogauge.report.plan_text import sentence

        rows = ([step.plan.title, step.place, numbers.clock_time(step.likely_s)] for step in self.steps)
        title = html.heading(sentence(self.manifest, self.cost))
        return title + html.folded("steps", html.table(("suite", "step", "time"), rows))

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as data that JSON can hold; sizes are in bytes, times in seconds."""
        manifest, cost = self.manifest, self.cost
        return {
            "pace": manifest.pace,
            "state": manifest.state,
            "purge_by": manifest.purge_by,
            "repeats": manifest.repeats,
            "seed": manifest.seed,
            "targets": [target.model_dump(mode="json") for target in manifest.targets],
            "until_supported": manifest.until_supported,
            "expected_s": cost.expected_s,
            "likely_s": cost.likely_s,
            "longest_s": cost.longest_s,
            "expected_at_least": cost.at_least,
            "likely_bytes": cost.likely_bytes,
            "likely_by": list(cost.basis),
            "written_bytes": cost.written_bytes,
            "written_bounded": cost.bounded,
            "fewest_steps": cost.fewest,
            "most_steps": len(cost.most),
            "unknown": [plan.suite for plan in cost.unknown],
            "following": list(map(_following, cost.following)),
            "steps": list(map(_step, cost.steps)),
        }


def _following(following: Following) -> dict[str, Any]:
    return {
        "suite": following.plan.suite,
        "targets": list(following.plan.targets),
        "repeat": following.repeat,
        "fewest_steps": len(following.least),
        "most_steps": len(following.most),
        "expected_s": following.expected_s,
        "likely_s": following.likely_s,
        "longest_s": following.longest_s,
        "likely_bytes": following.likely_bytes,
        "written_bytes": sum(step.written_bytes for step in following.most),
        "written_bounded": all(step.bounded for step in following.most),
    }


def _step(step: StepCost) -> dict[str, Any]:
    return {
        "id": step.step.id,
        "suite": step.plan.suite,
        "targets": list(step.plan.targets),
        "position": step.place,
        "repeat": step.step.repeat,
        "expected_s": step.expected_s,
        "likely_s": step.likely_s,
        "longest_s": step.longest_s,
        "likely_bytes": step.likely_bytes,
        "expected_at_least": step.at_least,
        "written_bytes": step.written_bytes,
        "written_bounded": step.bounded,
        "purge": step.step.purge,
        "job_file": step.step.job_file,
    }


def _facts(path: str, *, size_bytes: int, state: Any, say: Callable[[str], None]) -> TargetFacts:
    """Return the facts of a target, opened for reading; of a missing file, those of the file that a review creates."""
    from iogauge.target import is_model, open_target
    from iogauge.target.answering import await_answers
    from iogauge.target.facts import facts_of

    await_answers((path,), say=say)
    if not is_model(path) and not Path(path).exists():
        try:
            folder = os.open(Path(path).parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return TargetFacts(path=path, kind="file", size_bytes=size_bytes)
        try:
            return facts_of(folder, path, size_bytes=size_bytes)
        finally:
            os.close(folder)
    with open_target(path, write=False, state=state) as opened:
        return opened.facts


def _is_elsewhere(path: str, program: Program | None) -> bool:
    """Return whether a path names a target of the machine that will run the steps, and nothing here."""
    if program is None:
        return False
    drive = path.startswith("/dev/") and not Path(path).exists()
    return drive or (program == "diskspd" and _OF_WINDOWS.match(path) is not None)


def _elsewhere(path: str, *, size: int | str | None) -> TargetFacts:
    """Return the facts of a target of another machine, from its name and the ``size`` of the plan."""
    from iogauge.library.quantities import size_bytes
    from iogauge.workload.diskspd.commands import is_drive

    if size is None:
        raise UsageError(
            f"{path}: is not on this machine, so its size is not known here",
            hint=f"say how much to use: {option('size', '100g')}",
        )
    # In a job file '#' begins a comment. DiskSpd accepts this longer name of the same drive.
    path = re.sub(r"^#(?=\d+$)", r"\\\\.\\PhysicalDrive", path)
    kind: Literal["block", "file"] = "block" if is_drive(path) else "file"
    return TargetFacts(path=path, kind=kind, size_bytes=size_bytes(size, name="size"))
