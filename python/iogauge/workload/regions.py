"""Which targets a job file needs, and which region of each a clone uses. This module opens nothing.

Source: fio 3.33's setup_files and get_rand_file_size.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from iogauge.errors import IogaugeError
from iogauge.schema import Amount, EngineKind, Job, JobFile
from iogauge.workload import paths

REPEATABLE_SEED = 0x89
"""Base of the seeds of jobs with randrepeat in a run without a seed: the same requests in every such run."""


@dataclass(frozen=True, kw_only=True)
class Need:
    """A target that a job file needs."""

    path: str
    write: bool
    direct: bool
    size_bytes: int | None
    """The least size of a file; None: the size that it has."""
    commands: bool = False
    """Whether a job sends NVMe commands to it."""
    files: bool = True
    """Whether a job uses it as a file or block device."""
    unlink: bool = False
    """Whether it is removed after the run, if it is a file."""
    verifies: bool = False
    """Whether a job verifies what an earlier run wrote to it."""


def needs(job_file: JobFile) -> tuple[Need, ...]:
    """Return every target once, with the needs of all its jobs, in the order in which jobs name them."""
    needed: dict[str, Need] = {}
    for job in job_file.jobs:
        if job.ioengine is EngineKind.NULL:
            continue
        for clone in range(job.numjobs):
            names = paths(job, clone)
            for name in names:
                size = _wanted_bytes(job, clone, name, len(names))
                known = needed.get(name)
                commands = job.ioengine is EngineKind.IO_URING_CMD
                need = Need(
                    path=name,
                    write=job.changes_targets,
                    direct=job.direct or commands,
                    size_bytes=size,
                    commands=commands,
                    files=not commands,
                    unlink=job.unlink or job.unlink_each_loop,
                    verifies=job.verify is not None and not job.changes_targets,
                )
                if known:
                    sizes = [n for n in (known.size_bytes, size) if n is not None]
                    need = replace(
                        need,
                        write=known.write or need.write,
                        direct=known.direct or need.direct,
                        size_bytes=max(sizes) if sizes else None,
                        commands=known.commands or need.commands,
                        files=known.files or need.files,
                        verifies=known.verifies or need.verifies,
                        unlink=known.unlink or need.unlink,
                    )
                needed[name] = need
    return tuple(needed.values())


def _wanted_bytes(job: Job, clone: int, path: str, files: int) -> int | None:
    """Return how much of one file a clone uses; None: its size is not in bytes."""
    if job.filesize:
        return _filesize(job, path)
    if job.size is None or job.size.percent is not None:
        return None
    offset = 0 if job.offset.percent is not None else job.offset.size_bytes
    step = 0 if job.offset_increment.percent is not None else job.offset_increment.size_bytes
    return offset + step * clone + _share(job, job.size.size_bytes, paths(job, clone).index(path), files)


def _filesize(job: Job, path: str) -> int | None:
    """Return the size that the job gives this file; None: it gives none. Of a range, the file's name decides."""
    if not job.filesize or not job.filesize_most:
        return job.filesize
    seed = REPEATABLE_SEED if job.randseed is None else job.randseed
    block = _smallest_block(job)
    size = job.filesize + seed_for(seed, "filesize", path) % (job.filesize_most - job.filesize + 1)
    return max(size - size % block, block)


def _share(job: Job, size_bytes: int, number: int, files: int) -> int:
    """Return one file's share of a size. As in fio, the first files take a block more where blocks are left over."""
    share, left = divmod(size_bytes, files)
    block = _smallest_block(job)
    return share + block * (number < left // block)


def region(job: Job, clone: int, *, path: str, file_bytes: int, files: int) -> tuple[int, int]:
    """Return (offset, length) in bytes of the region that one clone uses in one of its files.

    As in fio, an offset from a percentage is rounded up to the smallest block size, and a length from one is rounded
    down. Raises IogaugeError if nothing is left between the offset and the end.
    """
    file_bytes = min(file_bytes, _filesize(job, path) or file_bytes)
    offset = _offset(job, clone, file_bytes)
    length = _length(job, file_bytes, paths(job, clone).index(path), files)
    if job.ioengine is not EngineKind.NULL or job.filesize:  # the null engine's target has no other end
        length = min(length, file_bytes - offset)
    if _is_part(job.size):
        length -= length % _smallest_block(job)
    covered = job.zonerange or job.zonesize
    if job.zonemode == "strided" and length < covered:
        raise IogaugeError(
            f"{job.name}: a zone covers {covered} bytes, but the job's region of {path} has {length}",
            hint="lower zonerange or zonesize, or give a larger size",
        )
    if length <= 0:
        raise IogaugeError(
            f"{job.name}: the job's offset of {offset} and its size leave nothing of {path}, which has "
            f"{file_bytes} bytes",
            hint="lower offset, offset_increment or numjobs, or give a larger size or target",
        )
    return offset, length


def _offset(job: Job, clone: int, file_bytes: int) -> int:
    offset = job.offset.of(file_bytes) + job.offset_increment.of(file_bytes) * clone
    if job.offset.percent or job.offset_increment.percent:
        block = _smallest_block(job)
        offset = -(-offset // block) * block
    return offset


def _length(job: Job, file_bytes: int, number: int, files: int) -> int:
    if job.size is None:
        return file_bytes
    if job.size.percent is not None:
        return job.size.of(file_bytes)
    return file_bytes if job.filesize else _share(job, job.size.size_bytes, number, files)


def _is_part(amount: Amount | None) -> bool:
    return amount is not None and amount.percent not in (None, 100)


def _smallest_block(job: Job) -> int:
    """Return the smallest block size of all directions, even of those that the job does not issue, as in fio."""
    return min(size.minimum_bytes for size in (job.bs.read, job.bs.write, job.bs.trim))


def seed_for(base: int, *parts: object) -> int:
    """Derive a 63-bit seed that depends on every part.

    >>> seed_for(1, "a", 0) != seed_for(1, "a", 1)
    True
    """
    text = "/".join(map(str, (base, *parts))).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1
