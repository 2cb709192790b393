"""The built-in review ``published``: figures of drives that evaluations and makers published."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from iogauge.library.options import flat
from iogauge.library.public import public
from iogauge.results.collection import Collection
from iogauge.results.tabular import Tabular
from iogauge.text import html

if TYPE_CHECKING:
    import pyarrow as pa


@public
def published(*names: str | Sequence[str]) -> Published:
    """Return the published figures that can be compared with a review's: of all drives, or those named.

    Args:
        names: parts of the names of drives, in any case.

    Raises IogaugeError where no drive has such a name.

    Examples:
        >>> import iogauge
        >>> optane = iogauge.published("p4800x")
        >>> len(optane.drives) > 1, optane.to_arrow().column_names
        (True, ['drive', 'load', 'metric', 'value', 'source'])
    """
    from iogauge.results.published import PUBLISHED, named_drives

    reviews = [f"{PUBLISHED}:{name}" for name in flat(names, needed=False)] or [PUBLISHED]
    named_drives(reviews)
    return Published(reviews)


class Published(Tabular, Collection[dict[str, Any]]):
    """Published figures by drive and load. Iterate over it for the drives, each as data.

    ``str()`` is what ``iogauge show published`` prints.

    Each is one value, without an interval: it has no suites, steps or repeats.
    """

    NOUN = "drive"

    def __init__(self, reviews: list[str]) -> None:
        self._reviews = reviews

    def _parts(self) -> dict[str, dict[str, Any]]:
        return {drive["drive"]: drive for drive in self._data}

    @property
    def drives(self) -> tuple[str, ...]:
        """The drives, each with the host that it was measured in where the source says so."""
        return tuple(self._parts())

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the drives with their figures as data that JSON can hold; latencies are in nanoseconds."""
        return self._data

    @cached_property
    def _data(self) -> list[dict[str, Any]]:
        from iogauge.report import published_shown

        return published_shown.as_data(self._reviews)

    def to_arrow(self) -> pa.Table:
        """Return a row for each figure, as an Arrow table. ``value`` is in the unit that ends ``metric``."""
        import pyarrow as pa

        return pa.Table.from_pylist(
            [{"drive": drive["drive"], **figure} for drive in self._data for figure in drive["figures"]]
        )

    def __str__(self) -> str:
        from iogauge.report import published_shown

        return published_shown.text(self._reviews)

    def _repr_html_(self) -> str:
        rows = [(drive["drive"], str(len(drive["figures"]))) for drive in self._data]
        return html.table(("drive", "figures"), rows, most=100)

    def __repr__(self) -> str:
        return f"<Published figures of {len(self.drives)} drives>"
