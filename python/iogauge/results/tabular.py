"""Tables of results for other libraries: Arrow, Polars and pandas."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from iogauge.errors import IogaugeError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa


class Tabular(ABC):
    """A result with a tidy table: a row for each position, a column for each figure, units in the names of columns."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """Return the table as an Arrow table."""

    def to_polars(self) -> polars.DataFrame:
        """Return the table as a Polars DataFrame. Raises IogaugeError if Polars is not installed."""
        try:
            import polars
        except ImportError:
            raise _missing("Polars", "polars") from None
        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table as a pandas DataFrame. Raises IogaugeError if pandas is not installed."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise _missing("pandas", "pandas") from None
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame


def _missing(name: str, package: str) -> IogaugeError:
    return IogaugeError(
        f"{name} is not installed", hint=f"pip install 'iogauge[{package}]', or take the table by to_arrow()"
    )
