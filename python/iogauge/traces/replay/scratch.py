"""Arrays in temporary files: what is made of a trace may be larger than memory."""

from __future__ import annotations

import tempfile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Column:
    """Values that are appended, and then seen as one array. The file has no name, and goes with this object."""

    def __init__(self, dtype: Any) -> None:
        self._dtype = np.dtype(dtype)
        self.file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (it outlives this function)
        self.length = 0

    def append(self, values: Array) -> None:
        """Append values of the column's type."""
        self.file.write(np.ascontiguousarray(values, dtype=self._dtype).data)
        self.length += len(values)

    def extend_zeros(self, length: int) -> None:
        """Make the column of this many zeros; it is empty before."""
        self.file.truncate(length * self._dtype.itemsize)
        self.length = length

    def array(self) -> Array:
        """Return all values, mapped: changes are in the file."""
        self.file.flush()
        return np.memmap(self.file, dtype=self._dtype, mode="r+", shape=(self.length,))

    def close(self) -> None:
        """Remove the file."""
        self.file.close()
