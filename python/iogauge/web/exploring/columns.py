"""The columns of the index's tables, a line of meaning each."""

from __future__ import annotations

from dataclasses import dataclass

from iogauge.results.figures import metric_text, unit_of
from iogauge.results.tables import METRICS, bounds_of


@dataclass(frozen=True)
class Column:
    """A column of a table that SQL can ask for."""

    name: str
    type: str
    meaning: str

    @property
    def written(self) -> str:
        """Its name as SQL writes it.

        >>> Column("p99.9_ns", "DOUBLE", "").written
        '"p99.9_ns"'
        """
        return self.name if self.name.isidentifier() else f'"{self.name}"'


REVIEWS = tuple(
    Column(*row)
    for row in (
        ("review", "VARCHAR", "its path below the served directory"),
        ("created", "TIMESTAMP", "when it began, UTC"),
        ("drives", "VARCHAR[]", "models of its drives, each once"),
        ("targets", "VARCHAR[]", "paths of its targets"),
        ("host", "VARCHAR", "name of the host"),
        ("cpu", "VARCHAR", "model of its CPU"),
        ("suites", "VARCHAR[]", "the suites that it ran"),
        ("pace", "VARCHAR", "its pace, such as quick"),
        ("state", "VARCHAR", "the state that the drives were brought to"),
        ("seed", "UBIGINT", "the seed of all random choices"),
        ("repeats", "INTEGER", "how often it repeats each step"),
        ("planned", "INTEGER", "steps that are known now"),
        ("complete", "INTEGER", "steps that are complete"),
        ("running", "BOOLEAN", "whether it is being measured"),
        ("modelled", "BOOLEAN", "whether all its targets are drive models"),
        ("tags", "VARCHAR[]", "the tags in its notes"),
        ("notes", "VARCHAR", "its notes"),
        ("metric", "VARCHAR", "the column of its main figure"),
        ("value", "DOUBLE", "its main figure"),
        ("unit", "VARCHAR", "the unit of its main figure: IOPS, B/s or ns"),
        ("low", "DOUBLE", "lower bound of its 95 % interval"),
        ("high", "DOUBLE", "upper bound"),
        ("headline", "VARCHAR", "its main figure in words"),
        ("spark", "DOUBLE[]", "the same figure at all positions"),
        ("figures_read", "BOOLEAN", "whether its figures are in the index"),
        ("problem", "VARCHAR", "why it cannot be read"),
        ("hint", "VARCHAR", "what to do about that"),
        ("source", "VARCHAR", "where a collection has it from"),
    )
)


def _metrics() -> list[tuple[str, str, str]]:
    columns = []
    for metric in METRICS:
        text, unit = metric_text(metric), unit_of(metric)
        kind = "" if unit != "ns" else " latency"
        low, high = bounds_of(metric)
        columns += [
            (metric, "DOUBLE", f"{text}{kind}, {unit}"),
            (low, "DOUBLE", "lower bound of its 95 % interval"),
            (high, "DOUBLE", "upper bound"),
        ]
    return columns


FIGURES = tuple(
    Column(*row)
    for row in (
        ("review", "VARCHAR", "the review, as in reviews"),
        ("plan", "VARCHAR", "key of the suite's plan in the review"),
        ("step", "VARCHAR", "name of the step"),
        ("target", "VARCHAR", "path of the target"),
        ("suite", "VARCHAR", "name of the suite"),
        ("series", "VARCHAR", "part of the suite, such as 4 KiB random reads"),
        ("label", "VARCHAR", "what the suite calls the position"),
        ("axis", "VARCHAR", "what its positions are, such as queue depth"),
        ("unit", "VARCHAR", "the unit of the positions"),
        ("direction", "VARCHAR", "read, write, trim, or all"),
        ("pattern", "VARCHAR", "random or sequential, if the load has one"),
        ("block_bytes", "BIGINT", "block size"),
        ("read_percent", "BIGINT", "share of reads, %"),
        ("threads", "BIGINT", "number of threads"),
        ("depth", "BIGINT", "requests in flight of each thread"),
        ("position", "DOUBLE", "the position on the axis"),
        ("repeat", "BIGINT", "which repeat, from 0"),
        ("duration_s", "DOUBLE", "how long it was measured"),
        ("ios", "BIGINT", "completed requests"),
        *_metrics(),
        ("pressure_Bps", "DOUBLE", "what load jobs moved beside it, B/s"),
        ("supported", "DOUBLE", "highest quantile that the sample supports"),
        ("errors", "BIGINT", "failed requests"),
    )
)
TABLES = (("reviews", REVIEWS), ("figures", FIGURES))
