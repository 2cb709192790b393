"""Where the time of a modelled drive's requests goes, by quantile; and what becomes of it with other numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from iogauge.errors import IogaugeError, UsageError
from iogauge.library.models import explained_text
from iogauge.library.models.loads import Replication, replications
from iogauge.library.models.what_if import LoadDifferences, differences
from iogauge.library.options import MOST_SEED, StrPath, require_whole
from iogauge.library.progress import OnProgress
from iogauge.library.public import public
from iogauge.results.collection import Collection
from iogauge.results.explained.loads import ExplainedLoad
from iogauge.results.tabular import Tabular
from iogauge.schema import JobFile, PartMeaning
from iogauge.text import html
from iogauge.text.option import call

if TYPE_CHECKING:
    import pyarrow as pa

    from iogauge.catalog import ModelFile
    from iogauge.report.charts.specification import Chart

FORMAT_VERSION = 1
"""Raise it when a key of ``to_dict`` changes its meaning."""

MOST_REPLICATIONS = 100

_WORDS_OF_TYPES = re.compile(r"invalid (?:type|value): [^,]*, expected u\d+")
"""How the core calls a value that is no unsigned integer."""


@public
def explain_model(
    name: StrPath,
    jobs: StrPath | Sequence[str] | JobFile,
    *,
    machine: StrPath | None = None,
    changes: Mapping[str, str | float | bool] | None = None,
    seed: int = 1,
    replications: int = 8,
    on_progress: OnProgress = lambda _: None,
) -> ModelExplanation:
    """Run jobs on a modelled drive, and say where the time of their requests went, by quantile.

    With ``changes`` the jobs run also on a drive or machine with other numbers, with the same requests and random
    numbers, several times, so that each difference has a 95 % interval.

    Args:
        name: a drive that ``models`` lists, the path of a TOML file, or ``"DRIVE@MACHINE"``.
        jobs: the path of a fio job file, its text (more than one line), or fio's options. Their own files are ignored.
        machine: the machine in front of the drive; by default the drive's own.
        changes: other values by their places, as ``model`` names them: ``{"media.turnaround_ns": 0}``. A place of the
            machine begins with ``machine.``.
        seed: every random choice derives from it; at least 0.
        replications: how many pairs of runs show the differences, 2 to 100; without ``changes`` there is one run.
        on_progress: is called with each piece of news (``Progress``): how many runs are done.

    Raises:
        UsageError: an argument cannot be, or there is no such place.
        IogaugeError: there is no such model, a value is out of its range, or the jobs cannot be read or planned.
        Interrupted: Ctrl-C, a KeyboardInterrupt.

    Examples:
        >>> import iogauge
        >>> job = "[reads]\\nrw=randread\\nbs=4k\\nnumber_ios=2000\\n"
        >>> reads = iogauge.explain_model("p4800x@ideal", job)["reads, read"]
        >>> max(reads.mean.parts_ns, key=reads.mean.parts_ns.get), abs(sum(reads.mean.shares.values()) - 1) < 1e-9
        ('channel', True)
    """
    from iogauge import catalog
    from iogauge.execution import part_meanings

    require_whole("seed", seed, least=0, most=MOST_SEED)
    require_whole("replications", replications, least=2, most=MOST_REPLICATIONS)
    drive_name, named_machine = catalog.split(str(name))
    if named_machine is not None and machine is not None:
        raise UsageError(f"{name} names a machine, too", hint="name one machine")
    texts = {place: _text(value) for place, value in (changes or {}).items()}
    target = drive_name if (behind := named_machine or machine) is None else f"{drive_name}@{behind}"
    drive, machine_model = catalog.pair(target)
    pairs = _replicated(jobs, drive, machine_model, texts, seed, replications, on_progress)
    plain = pairs[0][0]
    return ModelExplanation(
        drive=drive.name,
        machine=machine_model.name,
        seed=seed,
        changes=texts,
        loads=plain.loads,
        differences=differences(pairs) if texts else (),
        meanings=part_meanings(),
    )


@dataclass(frozen=True, repr=False)
class ModelExplanation(Tabular, Collection[ExplainedLoad]):
    """Where the time of requests went, load by load. ``str()`` is what ``iogauge model explain`` prints.

    ``explanation["reads, read"]`` is the job ``reads`` in one direction.
    """

    NOUN = "load"

    drive: str
    machine: str
    seed: int
    changes: Mapping[str, str]
    """The changed values, by their places; the loads are of the model without them."""
    loads: tuple[ExplainedLoad, ...]
    differences: tuple[LoadDifferences, ...]
    """What the changes do to each load; none without changes."""
    meanings: tuple[PartMeaning, ...]
    """What each part is, in the order in which reports list them."""

    def _parts(self) -> Mapping[str, ExplainedLoad]:
        return {load.name: load for load in self.loads}

    def to_dict(self) -> dict[str, Any]:
        """Return all as data that JSON can hold, with the ``version`` of its form. Times are in ns."""
        return {
            "version": FORMAT_VERSION,
            "drive": self.drive,
            "machine": self.machine,
            "seed": self.seed,
            "changes": dict(self.changes),
            "parts": [meaning.model_dump() for meaning in self.meanings],
            "loads": [load.to_dict() for load in self.loads],
            "differences": [difference.to_dict() for difference in self.differences],
        }

    def to_arrow(self) -> pa.Table:
        """Return a row for each part of each load at its mean and quantiles, as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_pylist(
            [
                {"load": load.name, "at": at.label, "part": part, "part_ns": value_ns, "lat_ns": at.lat_ns}
                for load in self.loads
                for at in load.at
                for part, value_ns in at.parts_ns.items()
            ]
        )

    def chart(self) -> Chart:
        """Return the parts as stacked bars, with a choice of loads; the first choice is all of them."""
        from iogauge.report.charts.explained import explained_chart

        return explained_chart(
            {load.name: [(at.label, at.lat_ns, at.parts_ns) for at in load.at] for load in self.loads},
            title=f"{self.drive} behind {self.machine}",
            order=[meaning.name for meaning in self.meanings],
        )

    def svg(self, load: str | None = None) -> str:
        """Return the bars of a load, by default of all, as SVG. Raises UnknownNameError."""
        from iogauge.report.charts.drawing import svg

        chart = self.chart()
        return svg(chart.spec(next(iter(chart.choices)) if load is None else self[load].name))

    def to_text(self) -> str:
        """Return the answer and tables for a terminal of 80 columns."""
        return explained_text.text(self)

    def to_markdown(self) -> str:
        """Return the same as Markdown."""
        return explained_text.markdown(self)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return html.heading(f"{self.drive} behind {self.machine}") + html.preformatted(self.to_text())

    def __repr__(self) -> str:
        return f"<ModelExplanation of {self.drive} behind {self.machine}: {len(self.loads)} loads>"


def _text(value: str | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _replicated(
    jobs: StrPath | Sequence[str] | JobFile,
    drive: ModelFile,
    machine: ModelFile,
    changes: Mapping[str, str],
    seed: int,
    count: int,
    on_progress: OnProgress,
) -> list[tuple[Replication, Replication]]:
    """Run the jobs on the model and, if there are changes, on the changed one, with the same seeds."""
    from iogauge.catalog.changed import changed
    from iogauge.execution import check_model
    from iogauge.library.running.run import job_file_of, on_target

    begins = "machine."
    of_machine = {
        place.removeprefix(begins): text for place, text in changes.items() if place.startswith(begins)
    }
    of_drive = {place: text for place, text in changes.items() if not place.startswith(begins)}
    models = [(drive, machine)]
    if changes:
        models.append((changed(drive, of_drive), changed(machine, of_machine, prefix=begins)))
    check_model(drive, machine)
    try:
        check_model(*models[-1])
    except IogaugeError as error:
        wanted = ", ".join(f"{place}={value}" for place, value in changes.items())
        cause = _WORDS_OF_TYPES.sub(
            "not a whole number of at least 0", str(error).partition("parameters: ")[2]
        )
        named = cause if cause.startswith(tuple(changes)) else f"{wanted}: {cause}"
        raise UsageError(named, hint=f"see {call('model', drive.name)} for the model's values") from None
    job_file = on_target(f"model:{drive.name}", job_file_of(jobs, ()))
    return replications(job_file, models, seed=seed, count=count if changes else 1, on_progress=on_progress)
