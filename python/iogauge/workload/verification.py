"""What the options of verification mean together: how blocks are laid out, and which combinations cannot work.

fio runs some of these combinations, and then reports damage where there is none, or ends by an assertion.

Source: fio 3.33's init.c (fixup_options) and verify.c.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from iogauge.schema import BlockSize, Checksum, Direction, EngineKind, Job

HEADER_BYTES = 40
"""A header without its checksum."""

CHECKSUM_BYTES = {
    Checksum.MD5: 16,
    Checksum.CRC64: 8,
    Checksum.CRC32: 4,
    Checksum.CRC32C: 4,
    Checksum.CRC16: 2,
    Checksum.CRC7: 1,
    Checksum.SHA1: 20,
    Checksum.SHA256: 64,
    Checksum.SHA512: 128,
    Checksum.SHA3_224: 28,
    Checksum.SHA3_256: 32,
    Checksum.SHA3_384: 48,
    Checksum.SHA3_512: 64,
    Checksum.XXHASH: 4,
}
"""What follows the header; nothing for the others."""

SECTOR_BYTES = 512
"""What has a stamp of its own."""

SHA512_DATA_BYTES = 128
"""The least data of a block with fio's sha512, which else stores bytes that were never set."""


@dataclass(frozen=True)
class Problem:
    """Why a job cannot be verified."""

    option: str
    reason: str
    hint: str


def header_bytes(checksum: Checksum) -> int:
    """Return the bytes of a block before its data."""
    if checksum in (Checksum.PATTERN, Checksum.NULL):
        return 0
    return HEADER_BYTES + CHECKSUM_BYTES.get(checksum, 0)


def interval_bytes(job: Job) -> int:
    """Return the distance between two headers, by fio's rules.

    >>> interval_bytes(Job(name="a", verify=Checksum.CRC32C))
    4096
    """
    write, read = job.bs.write, job.bs.read
    smallest, largest = write.minimum_bytes, write.maximum_bytes
    interval = job.verify_interval
    if largest != smallest and not interval:
        interval = smallest
    if interval > smallest:
        interval = smallest
    elif Direction.READ in job.rw.directions and interval > read.minimum_bytes:
        interval = read.minimum_bytes
    if not interval or smallest % interval or largest % interval:
        interval = gcd(smallest, largest)
    if job.rw.directions == {Direction.READ}:
        # Only reads are made: a shorter one is one block.
        interval = min(interval, read.minimum_bytes)
    return interval


def problem(job: Job) -> Problem | None:
    """Return the first reason why a job cannot be verified as it asks; None if it can, or does not ask."""
    checksum = job.verify
    if state_problem := _state_problem(job):
        return state_problem
    if checksum is Checksum.STAMP or job.stamp_log:
        return _stamp_problem(job)
    if checksum is None:
        if job.verify_only:
            return Problem("verify_only", "has nothing to verify", "add verify, such as verify=crc32c")
        return None
    if checksum in (Checksum.PATTERN, Checksum.PATTERN_HDR) and not job.verify_pattern:
        return Problem("verify", "needs verify_pattern", "add verify_pattern, such as 0xdeadbeef")
    if job.read_iolog:
        return Problem("verify", "is not supported with read_iolog", "remove verify, or use fio")
    if job.verify_only and job.time_based:
        return Problem(
            "verify_only",
            "cannot know how far a job came within its time",
            "remove time_based, and give the number_ios or io_size that the job wrote",
        )
    if job.verify_only and not job.do_verify:
        return Problem("verify_only", "does nothing without do_verify", "remove do_verify=0")
    return _trim_problem(job) or _layout_problem(job, checksum)


def _state_problem(job: Job) -> Problem | None:
    if not job.verify_state_load:
        return None
    if not (job.verify_only and Direction.WRITE in job.rw.directions):
        return Problem(
            "verify_state_load",
            "is for a job that verifies what the same job wrote in an earlier run",
            "use the options of the job that wrote, and verify_only=1",
        )
    if job.loops > 1:
        return Problem("verify_state_load", "is not supported with loops", "remove loops from both runs")
    return None


def _trim_problem(job: Job) -> Problem | None:
    if not job.trim_percentage or Direction.WRITE not in job.rw.directions:
        return None
    if not job.trim_backlog:
        return Problem(
            "trim_percentage",
            "trims nothing without trim_backlog",
            "add trim_backlog, such as trim_backlog=16",
        )
    if not job.do_verify:
        return Problem(
            "trim_percentage",
            "trims nothing without do_verify, which fio 3.33 needs too",
            "remove do_verify=0",
        )
    if job.verify_only:
        return Problem(
            "verify_only",
            "cannot know which blocks a job with trim_percentage trimmed",
            "remove verify_only: the job reads back what it wrote and trimmed",
        )
    return None


_NOT_WITH_STAMPS = (
    *(name for name in Job.model_fields if name.startswith(("verify_", "trim_"))), "unlink", "unlink_each_loop",
)  # fmt: skip
"""What belongs to other kinds of verify, or removes the target."""


def _stamp_problem(job: Job) -> Problem | None:
    """Return why a job with ``verify=stamp`` or ``stamp_log`` cannot stamp what it writes."""
    if not job.stamps:
        return Problem("stamp_log", "needs verify=stamp", "add verify=stamp, or remove stamp_log")
    if not job.stamp_log:
        return Problem(
            "verify",
            "stamp needs stamp_log",
            "add stamp_log=FILE, a new file on another disk than the target",
        )
    for name in _NOT_WITH_STAMPS:
        if getattr(job, name) != Job.model_fields[name].default:
            return Problem(
                name,
                "cannot be combined with verify=stamp",
                f"remove {name}; iogauge verify reads the stamps after the run",
            )
    if not job.rw.writes or Direction.TRIM in job.rw.directions:
        return Problem(
            "verify",
            f"stamp needs a job that writes and never trims, not rw={job.rw}",
            "use rw=write or rw=randwrite",
        )
    if job.read_iolog:
        return Problem("verify", "is not supported with read_iolog", "remove verify=stamp")
    if job.ioengine in _WITHOUT_FLUSHES:
        return Problem(
            "verify",
            f"stamp needs an engine whose syncs flush the target, not {job.ioengine}",
            "use ioengine=io_uring",
        )
    if stamped_block_bytes(job) % SECTOR_BYTES:
        return Problem(
            "verify",
            f"stamp needs writes of whole sectors of {SECTOR_BYTES} bytes",
            f"use bs, ba and zones that are multiples of {SECTOR_BYTES}",
        )
    return None


_WITHOUT_FLUSHES = (EngineKind.NULL, EngineKind.MMAP)
"""The null engine has no target, and a sync of mmap flushes the job's own part alone."""


def stamped_block_bytes(job: Job) -> int:
    """Return the largest block of which all writes of a job are multiples, counted from the start of its region.

    >>> stamped_block_bytes(Job(name="a"))
    4096
    """
    write = job.bs.write
    skipped = 0 if job.rw.random else abs(job.rw_sequence)
    zones = (job.zonesize, job.zonerange, job.zoneskip) if job.zonemode == "strided" else ()
    return gcd(*_sizes(job), job.ba.write or write.minimum_bytes, skipped, *zones)


def _layout_problem(job: Job, checksum: Checksum) -> Problem | None:
    interval, header = interval_bytes(job), header_bytes(checksum)
    for size in _sizes(job):
        if size % interval:
            return Problem(
                "verify_interval" if job.verify_interval else "verify",
                f"has headers {interval} bytes apart, which does not divide a block of {size}",
                "use a verify_interval that divides all block sizes",
            )
    if not header:
        return None
    least = header + (SHA512_DATA_BYTES if checksum is Checksum.SHA512 else 1)
    if interval < least:
        return Problem(
            "verify",
            f"needs blocks of at least {least} bytes with {checksum}, and has {interval}",
            "use larger blocks or a larger verify_interval, or a shorter checksum such as crc32c",
        )
    offset = job.verify_offset
    if offset and not header <= offset <= interval - header:
        return Problem(
            "verify_offset",
            f"moves a header of {header} bytes to where it overlaps its first place or the end of its block of "
            f"{interval}",
            f"use an offset from {header} to {interval - header}, or none"
            if interval >= 2 * header
            else "remove it, or use larger blocks",
        )
    return None


def _sizes(job: Job) -> set[int]:
    """Return the block sizes of which all others are multiples, of the directions that have blocks with headers."""
    used: list[BlockSize] = []
    if Direction.WRITE in job.rw.directions:
        used.append(job.bs.write)
    else:
        used.append(job.bs.read)
    return {
        size
        for block in used
        for size in (
            block.minimum_bytes,
            block.maximum_bytes,
            *(share.size_bytes for share in block.split),
        )
    }
