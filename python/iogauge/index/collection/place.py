"""Where a collection or a review lies: a directory, or a prefix of an object store.

``s3://`` and ``gs://`` are read and written by Arrow, which takes the address of another server from
``AWS_ENDPOINT_URL`` or from ``?endpoint_override=``; any other address by fsspec, with the package of that store. A
file appears under its name only when all of it is written: by a rename, or since an object store puts it at once.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from iogauge.errors import IogaugeError
from iogauge.store import durable

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

MARKER = "collection.json"
"""The file that makes a place a collection."""
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_ARROW = ("s3", "gs", "gcs")


class Place(Protocol):
    """A tree of files, named by paths below it with ``/``."""

    address: str
    """As the user named it."""
    directory: Path | None
    """Its directory; None: it is in an object store."""

    def names(self, under: str = "") -> list[str]:
        """Return the files below the folder ``under``, in order; none if it is missing. Raises IogaugeError."""

    def has(self, name: str) -> bool:
        """Return whether there is such a file. Raises IogaugeError."""

    def is_empty(self) -> bool:
        """Return whether there is nothing, hidden files excepted. Raises IogaugeError."""

    def read(self, name: str) -> bytes:
        """Return the content of a file. Raises IogaugeError."""

    def write(self, name: str, data: bytes) -> None:
        """Write a file, which is visible only once it is complete. Raises IogaugeError."""


def is_address(text: str | PathLike[str]) -> bool:
    """Return whether a text is the address of an object store, and no path.

    >>> is_address("s3://lab/drives"), is_address("lab/drives"), is_address("published:p4800x")
    (True, False, False)
    """
    return _ADDRESS.match(fspath(text)) is not None


def is_collection(text: str | PathLike[str]) -> bool:
    """Return whether this names a collection; an address of an object store can name nothing else that is read."""
    return is_address(text) or Path(text, MARKER).is_file()


def open_place(text: str | PathLike[str]) -> Place:
    """Return the place of a path or an address. Raises IogaugeError if nothing here can read such an address."""
    address = fspath(text)
    match = _ADDRESS.match(address)
    if match is None:
        return LocalPlace(Path(address))
    if match[1].lower() == "file":
        return LocalPlace(Path(address[len(match[0]) :]))
    return ArrowPlace(address) if match[1].lower() in _ARROW else FsspecPlace(address)


class LocalPlace:
    """A directory. Links in it are not followed, and hidden files, which another process may be writing, not listed."""

    def __init__(self, directory: Path) -> None:
        self.directory: Path | None = directory
        self.address = str(directory)
        self._top = directory

    def names(self, under: str = "") -> list[str]:
        """Return the regular files below a folder, in order."""
        top = self._top / under
        names: list[str] = []
        with durable.explained("read", top):
            for folder, folders, files in os.walk(top, onerror=_raise_but_missing):
                folders[:] = [name for name in folders if not name.startswith(".")]
                for path in (Path(folder, name) for name in files if not name.startswith(".")):
                    with contextlib.suppress(FileNotFoundError):
                        if stat.S_ISREG(path.lstat().st_mode):
                            names.append(path.relative_to(self._top).as_posix())
        return sorted(names)

    def has(self, name: str) -> bool:
        """Return whether there is such a file."""
        with durable.explained("read", self._top / name):
            return (self._top / name).is_file()

    def is_empty(self) -> bool:
        """Return whether the directory is missing or has hidden files only."""
        with durable.explained("read", self._top):
            try:
                return all(path.name.startswith(".") for path in self._top.iterdir())
            except FileNotFoundError:
                return True

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        with durable.explained("read", self._top / name):
            return (self._top / name).read_bytes()

    def write(self, name: str, data: bytes) -> None:
        """Write a file under a temporary name, then rename it."""
        path = self._top / name
        explain = partial(durable.explained, "write", path)
        with explain():
            path.parent.mkdir(parents=True, exist_ok=True)
        with durable.replacing(path, explain=explain) as file:
            file.write(data)


class ArrowPlace:
    """A prefix of a bucket that Arrow reads and writes."""

    directory: Path | None = None

    def __init__(self, address: str) -> None:
        from pyarrow.fs import FileSystem

        self.address = address.rstrip("/")
        self._files: FileSystem
        with self._explained("opened"):
            self._files, top = FileSystem.from_uri(address)
        self._top = top.rstrip("/")

    def names(self, under: str = "") -> list[str]:
        """Return the objects below a prefix, in order."""
        from pyarrow.fs import FileSelector, FileType

        top = f"{self._top}/{under}".rstrip("/")
        with self._explained("listed"):
            entries = self._files.get_file_info(FileSelector(top, allow_not_found=True, recursive=True))
        paths = (entry.path for entry in entries if entry.type == FileType.File)
        return sorted(path[len(self._top) :].lstrip("/") for path in paths)

    def has(self, name: str) -> bool:
        """Return whether there is such an object."""
        from pyarrow.fs import FileType

        with self._explained("read", name):
            return bool(self._files.get_file_info(f"{self._top}/{name}").type == FileType.File)

    def is_empty(self) -> bool:
        """Return whether no object has this prefix."""
        from pyarrow.fs import FileSelector

        with self._explained("listed"):
            return not self._files.get_file_info(FileSelector(self._top, allow_not_found=True))

    def read(self, name: str) -> bytes:
        """Return an object."""
        with self._explained("read", name), self._files.open_input_file(f"{self._top}/{name}") as file:
            content: bytes = file.read()
            return content

    def write(self, name: str, data: bytes) -> None:
        """Put an object."""
        with self._explained("written", name), self._files.open_output_stream(f"{self._top}/{name}") as file:
            file.write(data)

    @contextmanager
    def _explained(self, done: str, name: str = "") -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (OSError, pa.ArrowException) as error:
            raise _refused(self.address, done, name, error) from error


class FsspecPlace:
    """A prefix of any store that fsspec knows."""

    directory: Path | None = None

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        scheme = address.partition("://")[0]
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise IogaugeError(
                f"{address}: fsspec, which reads {scheme}://, is not installed",
                hint="pip install fsspec and its package of that store, or use a directory, s3:// or gs://",
            ) from None
        try:
            self._files, top = url_to_fs(address)
        except (ImportError, ValueError) as error:
            raise IogaugeError(
                f"{address}: fsspec cannot open it: {error}",
                hint=f"pip install the package that reads {scheme}://, or use a directory, s3:// or gs://",
            ) from error
        self._top = top.rstrip("/")

    def names(self, under: str = "") -> list[str]:
        """Return the objects below a prefix, in order."""
        with self._explained("listed"):
            self._files.invalidate_cache()
            top = f"{self._top}/{under}".rstrip("/")
            paths: list[str] = self._files.find(top)
        return sorted(path[len(self._top) :].lstrip("/") for path in paths)

    def has(self, name: str) -> bool:
        """Return whether there is such an object."""
        with self._explained("read", name):
            return bool(self._files.isfile(f"{self._top}/{name}"))

    def is_empty(self) -> bool:
        """Return whether no object has this prefix."""
        with self._explained("listed"):
            try:
                return not self._files.ls(self._top, detail=False)
            except FileNotFoundError:
                return True

    def read(self, name: str) -> bytes:
        """Return an object."""
        with self._explained("read", name):
            content: bytes = self._files.cat_file(f"{self._top}/{name}")
            return content

    def write(self, name: str, data: bytes) -> None:
        """Put an object."""
        with self._explained("written", name):
            self._files.pipe_file(f"{self._top}/{name}", data)

    @contextmanager
    def _explained(self, done: str, name: str = "") -> Iterator[None]:
        try:
            yield
        except (IogaugeError, MemoryError):
            raise
        except Exception as error:  # each store has errors of its own
            raise _refused(self.address, done, name, error) from error


def download(place: Place, name: str, to: Path) -> None:
    """Copy a file into a directory of this machine, under the last part of ``to``. Raises IogaugeError."""
    with durable.explained("write", to):
        to.parent.mkdir(parents=True, exist_ok=True)
        with durable.create_file(to) as file:
            file.write(place.read(name))


def _refused(address: str, done: str, name: str, error: Any) -> IogaugeError:
    text = " ".join(str(error).split()) or type(error).__name__
    return IogaugeError(
        f"{address}: {name + ' ' if name else ''}cannot be {done}: {text}",
        hint="check the address, the permissions and the network",
    )


def _raise_but_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error
