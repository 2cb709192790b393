"""Copies what a host saved of its review to the fleet's directory, byte for byte.

A directory below ``steps/`` says by being there that a step is complete. So a step is copied beside its final name,
checked, and then renamed. Other files are replaced one by one. What has the size and time of the host's file is not
copied again: a fetch continues one that was interrupted.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

from iogauge.errors import IogaugeError
from iogauge.fleet.control.link import Link, LinkError
from iogauge.fleet.host.messages import SavedFile
from iogauge.store import durable

CHUNK_BYTES = 1 << 20
_ATTEMPTS = 3
"""How often a file is read anew that the host changes meanwhile."""
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


def fetch(link: Link, directory: Path, *, timeout_s: float) -> int:
    """Make a directory the copy of the host's review, as that is now; return how many bytes came.

    A host that has saved nothing leaves the copy as it is. ``timeout_s``: of each answer.

    Raises:
        LinkError: the host does not answer any more; what came is kept.
        IogaugeError: a file cannot be written here, or read there.
    """
    files: list[SavedFile] = _answer(link, "files", timeout_s=timeout_s)
    if not files:
        return 0
    with durable.explained("create", directory):
        (directory / "steps").mkdir(parents=True, exist_ok=True)
    groups = {folder: list(members) for folder, members in groupby(sorted(files, key=_order), key=_folder)}
    _remove_withdrawn(directory, groups)
    came = 0
    # The steps come first: the manifest and the figures beside them speak of steps.
    for folder in sorted(groups, key=lambda folder: (folder is None, folder)):
        came += _fetch_group(link, directory, folder, groups[folder], timeout_s=timeout_s)
    return came


def _fetch_group(
    link: Link, directory: Path, folder: PurePosixPath | None, files: Sequence[SavedFile], *, timeout_s: float
) -> int:
    """Copy a step's files, which appear together, or files that appear one by one (``folder`` None)."""
    copy = partial(_copied, link, timeout_s=timeout_s)
    if folder is None:
        changed = [file for file in files if not _is_copy(directory / file.path, file)]
        for file in changed:
            with durable.explained("create", directory):
                (directory / file.path).parent.mkdir(parents=True, exist_ok=True)
            copy(file, directory / file.path)
        return sum(file.bytes for file in changed)
    final = directory / folder
    if final.is_dir() and all(_is_copy(directory / file.path, file) for file in files):
        return 0
    temporary = final.with_name(f".{final.name}.fetched")
    with durable.explained("create", temporary):
        temporary.mkdir(parents=True, exist_ok=True)
        names = {PurePosixPath(file.path).name for file in files}
        for stranger in {path.name for path in temporary.iterdir()} - names:
            (temporary / stranger).unlink()
    came = 0
    for file in files:
        path = temporary / PurePosixPath(file.path).name
        if not _is_copy(path, file):
            copy(file, path)
            came += file.bytes
    if final.exists():
        durable.withdraw_directory(final)
    durable.publish_directory(temporary, final)
    return came


def _copied(link: Link, file: SavedFile, path: Path, *, timeout_s: float) -> None:
    """Copy one file; check it by its checksum there."""
    explain = partial(durable.explained, "write", path, then=durable.goes_on())
    for _ in range(_ATTEMPTS):
        digest = hashlib.sha256()
        with durable.replacing(path, explain=explain) as copy:
            offset = 0
            while chunk := _answer(link, "read", file.path, offset, CHUNK_BYTES, timeout_s=timeout_s):
                copy.write(chunk)
                digest.update(chunk)
                offset += len(chunk)
            copy.flush()
            os.utime(copy.fileno(), ns=(file.modified_ns, file.modified_ns))
            if digest.hexdigest() == _answer(link, "checksum", file.path, timeout_s=timeout_s):
                return
    raise IogaugeError(
        f"{link.name}: {file.path} changes while it is fetched",
        hint="resume the fleet's review, which fetches it again",
    )


def _is_copy(path: Path, file: SavedFile) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    return (status.st_size, status.st_mtime_ns) == (file.bytes, file.modified_ns)


def _order(file: SavedFile) -> tuple[str, str]:
    return str(_folder(file) or ""), file.path


def _folder(file: SavedFile) -> PurePosixPath | None:
    """Return the directory of a step's file, such as ``steps/reads-70``; None for any other file.

    Raises IogaugeError for a name that is no file's of a review, such as one that leads out of the fleet's directory.
    This catches a defect of a host; it is no guard against a hostile one, whose answers Dask unpickles.
    """
    path = PurePosixPath(file.path)
    if not path.parts or not all(map(_PART.fullmatch, path.parts)):
        raise IogaugeError(f"{file.path!r}: no name of a review's file", hint="check who runs this host")
    return path.parent if len(path.parts) == 3 and path.parts[0] in ("steps", "stopped") else None


def _remove_withdrawn(directory: Path, groups: Mapping[PurePosixPath | None, Sequence[SavedFile]]) -> None:
    """Remove the steps that the host has discarded since they were copied: they run again."""
    for parent in ("steps", "stopped"):
        for path in sorted((directory / parent).glob("[!.]*")):
            if PurePosixPath(parent, path.name) not in groups:
                durable.withdraw_directory(path)


def _answer(link: Link, method: str, *arguments: Any, timeout_s: float) -> Any:
    try:
        return link.call(method, *arguments).result(timeout=timeout_s)
    except concurrent.futures.TimeoutError:
        raise LinkError(f"{link.name} did not answer for {timeout_s:g} s") from None
