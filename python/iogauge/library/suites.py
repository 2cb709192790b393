"""The suites that come with iogauge: published procedures, each with its source and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, get_args

from iogauge.library.public import public
from iogauge.results.collection import Collection
from iogauge.results.tabular import Tabular
from iogauge.text import html

if TYPE_CHECKING:
    import pyarrow as pa

    from iogauge.suites import Suite


@dataclass(frozen=True)
class SuiteCost:
    """What a suite takes on a block device, at one pace."""

    steps: int
    """The smallest number of steps; some follow from the results of others."""
    most_steps: int
    expected_s: float
    longest_s: float
    search: bool
    """Whether a search comes first, from which steps follow."""

    @property
    def text(self) -> str:
        """The steps and their time in words."""
        from iogauge.report.plan_text import counted_steps, span_text

        search = "a search, and then " if self.search else ""
        return f"{search}{counted_steps(self.steps, self.most_steps)}, {span_text(self.expected_s, self.longest_s)}"


@dataclass(frozen=True)
class SuiteSummary:
    """A published procedure."""

    name: str
    title: str
    source: str
    """The publication that describes it."""
    default: bool
    """Whether a review has it unless suites are named."""
    paces: dict[str, SuiteCost]
    """Its cost at each pace."""


@dataclass(frozen=True, repr=False)
class Suites(Tabular, Collection[SuiteSummary]):
    """The suites that come with iogauge. ``str()`` is what ``iogauge plan`` prints without a target."""

    NOUN = "suite"

    suites: tuple[SuiteSummary, ...]

    def _parts(self) -> Mapping[str, SuiteSummary]:
        return {suite.name: suite for suite in self.suites}

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the suites as data that JSON can hold; times are in seconds."""
        return [asdict(suite) for suite in self]

    def to_arrow(self) -> pa.Table:
        """Return a row for each suite and pace, as an Arrow table; times are in seconds."""
        import pyarrow as pa

        return pa.Table.from_pylist(
            [
                {
                    "suite": suite.name,
                    "title": suite.title,
                    "source": suite.source,
                    "default": suite.default,
                    "pace": pace,
                    **asdict(cost),
                }
                for suite in self
                for pace, cost in suite.paces.items()
            ]
        )

    def __str__(self) -> str:
        from iogauge.text.grid import labelled

        lines: list[str] = []
        for suite in self:
            paces = "; ".join(f"{pace} {cost.text}" for pace, cost in suite.paces.items())
            lines += [
                f"{suite.name}{' (default)' if suite.default else ''}: {suite.title}",
                *labelled("source", suite.source),
                *labelled("takes", paces),
            ]
        return "".join(f"{line}\n" for line in lines)

    def __repr__(self) -> str:
        return f"<Suites: {len(self)} procedures>"

    def _repr_html_(self) -> str:
        rows = [(suite.name, suite.title, suite.paces["quick"].text) for suite in self]
        return html.table(("suite", "title", "at quick pace"), rows, most=100)


@public
def list_suites() -> Suites:
    """Return the suites that come with iogauge, with the cost of each on a block device.

    Examples:
        >>> import iogauge
        >>> iogauge.list_suites()["queue-depth"].paces["quick"].steps
        28
    """
    from iogauge.suites import DEFAULT, SUITES

    return Suites(
        tuple(
            SuiteSummary(name, suite.TITLE, suite.SOURCE, name in DEFAULT, _costs(suite))
            for name, suite in SUITES.items()
        )
    )


def _costs(suite: Suite) -> dict[str, SuiteCost]:
    from iogauge import schema
    from iogauge.reviews.ahead import expected_s
    from iogauge.suites import SuiteRequest
    from iogauge.suites.suite import Ahead

    drives = tuple(
        schema.TargetFacts(path=f"/dev/drive{number}", kind="block", size_bytes=10**12)
        for number in range(suite.FEWEST_TARGETS)
    )
    costs: dict[str, SuiteCost] = {}
    for pace in get_args(schema.Pace):
        request = SuiteRequest(targets=drives, pace=pace)
        plan = suite.plan(request)
        ahead = suite.ahead(plan, request) or Ahead()
        before_s = sum(map(expected_s, (*plan.steps, *((plan.search,) if plan.search else ()))))
        costs[pace] = SuiteCost(
            steps=len(plan.steps) + len(ahead.least),
            most_steps=len(plan.steps) + len(ahead.most),
            expected_s=before_s + sum(map(expected_s, ahead.least)),
            longest_s=before_s + sum(map(expected_s, ahead.most)),
            search=plan.search is not None,
        )
    return costs
