"""Results as a notebook shows them: the answer first, then a short table; warnings are folded below it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from iogauge.text import html, numbers

if TYPE_CHECKING:
    from iogauge.library.models import Models
    from iogauge.library.plan import Plan
    from iogauge.library.reading.compare import Comparison
    from iogauge.library.reading.saved import Review
    from iogauge.library.running.result import JobResult, RunResult
    from iogauge.schema import Notice

QUANTILES = (0.5, 0.99, 0.999)
_NAMES = tuple(f"p{100 * q:.12g}" for q in QUANTILES)


def run(result: RunResult) -> str:
    """Return a run: a row for each job and direction."""
    rows = [row for job in result for row in _job(job)]
    head = ("job", "direction", "IOPS", "MB/s", "mean", *_NAMES, "max")
    return html.table(head, rows) + warnings(result.warnings)


def _job(job: JobResult) -> Iterator[list[str]]:
    for part in job.directions:
        lat = part.lat if part.ios else None
        quantiles = [lat.quantile(q).text if lat else "-" for q in QUANTILES]
        yield [
            job.name,
            part.direction.value,
            f"{part.iops.value:,.0f}",
            numbers.megabytes(part.bandwidth_Bps.value),
            numbers.duration(lat.mean.value_ns) if lat else "-",
            *quantiles,
            numbers.duration(lat.max_ns) if lat else "-",
        ]


def review(saved: Review) -> str:
    """Return a review: what each suite found, and its table."""
    state = "" if saved.complete else ", incomplete"
    title = html.heading(f"{saved.path}{state}: seed {saved.manifest.seed}, pace {saved.manifest.pace}")
    return title + "".join(suite._repr_html_() for suite in saved.suites) + warnings(saved.warnings)


def comparison(compared: Comparison) -> str:
    """Return what differs, and below it the tables as text."""
    tables = html.folded("tables", html.preformatted(compared.to_text()))
    return html.heading(" and ".join(compared.names)) + html.items(compared.findings) + tables


def plan(planned: Plan) -> str:
    """Return what a review takes, and a row for each step that is known."""
    fewest, most = planned.fewest_steps, planned.most_steps
    steps = numbers.counted(most, "step") if fewest == most else f"{fewest:,} to {most:,} steps"
    virtual = " of virtual time" if all(target.modelled for target in planned.manifest.targets) else ""
    bound = "at most " if planned.writes_bounded else "an unknown amount, up to "
    takes = f"{steps}, at least {numbers.clock_time(planned.expected_s)}{virtual}"
    rows = ([step.plan.title, step.place, numbers.clock_time(step.expected_s)] for step in planned.steps)
    written = f"writes {bound}{numbers.size(planned.written_bytes)}"
    return html.heading(f"{takes}; {written}") + html.folded(
        "steps", html.table(("suite", "step", "time"), rows)
    )


def models(brought: Models) -> str:
    """Return the drives and machines that iogauge brings."""
    drives = ([drive.target, drive.title, drive.machine or ""] for drive in brought.drives)
    machines = ([machine.name, machine.title] for machine in brought.machines)
    return html.table(("target", "drive", "behind"), drives, most=100) + html.table(
        ("machine", "title"), machines, most=100
    )


def warnings(cautions: Iterable[Notice]) -> str:
    """Return warnings with their hints, folded; empty where there are none."""
    texts = [f"{caution.message}{f' ({caution.hint})' if caution.hint else ''}" for caution in cautions]
    return html.folded(numbers.counted(len(texts), "warning"), html.items(texts))
