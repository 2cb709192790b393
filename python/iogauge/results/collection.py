"""A result with named parts: iterate over it, count its parts, or take one by its name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, Generic, TypeVar

from iogauge.errors import UnknownNameError
from iogauge.workload.suggest import closest

T = TypeVar("T")

_LISTED = 8
"""Names that a hint lists."""


class Collection(ABC, Generic[T]):
    """Parts with names. Iteration yields the parts, in order."""

    NOUN: ClassVar[str]
    """The word for one of the parts."""

    @abstractmethod
    def _parts(self) -> Mapping[str, T]:
        """Return the parts by their names, in order."""

    def __getitem__(self, name: str) -> T:
        """Return a part by its name. Raises UnknownNameError, a KeyError whose hint lists the names."""
        parts = self._parts()
        if name not in parts:
            raise unknown_name(name, parts, noun=self.NOUN, of=repr(self).strip("<>"))
        return parts[name]

    def __contains__(self, part: object) -> bool:
        """Return whether this is the name of a part, or a part itself."""
        return part in self._parts() if isinstance(part, str) else any(part is own for own in self)

    def __iter__(self) -> Iterator[T]:
        return iter(self._parts().values())

    def __len__(self) -> int:
        return len(self._parts())


def unknown_name(name: object, names: Iterable[str], *, noun: str, of: str) -> UnknownNameError:
    """Return the error for a name that is none of ``names``, the names of the parts of ``of``.

    >>> error = unknown_name("mixd", ["mixed", "ladder"], noun="suite", of="saved")
    >>> str(error), error.hint
    ("saved has no suite 'mixd'", 'did you mean mixed?')
    """
    known = list(dict.fromkeys(names))
    near = closest(name, known) if isinstance(name, str) else None
    listed = ", ".join(known[:_LISTED]) + (", ..." if len(known) > _LISTED else "")
    return UnknownNameError(
        f"{of} has no {noun} {name!r}",
        hint=f"did you mean {near}?" if near else f"it has: {listed or 'nothing'}",
    )
