"""The options of verification: fio's ``verify`` and what belongs to it.

``verify=stamp`` and ``stamp_log`` are iogauge's own.

Source: fio 3.33's options.c for names, ranges and defaults; ``verify_write_sequence``, ``pattern_hdr`` and
``verify_pattern_interval`` are newer.
"""

from __future__ import annotations

from iogauge.schema import Checksum, Job
from iogauge.workload.byte_pattern import BYTES_WITH_OFFSETS, BytesWithOffsets
from iogauge.workload.numbers import LARGEST
from iogauge.workload.options.entries import accepted, entry
from iogauge.workload.options.kinds import CPU_LIST, FLAG, SWITCH, TEXT, choice, count
from iogauge.workload.options.option import Category, Option
from iogauge.workload.options.partial_job import PartialJob
from iogauge.workload.verification import HEADER_BYTES


def _store_pattern(partial: PartialJob, value: BytesWithOffsets) -> None:
    partial.values |= {"verify_pattern": value.pattern.hex(), "verify_pattern_offsets": value.offsets}


def _pattern_text(job: Job) -> str | None:
    if not job.verify_pattern:
        return None
    pattern = BytesWithOffsets(bytes.fromhex(job.verify_pattern), job.verify_pattern_offsets)
    return BYTES_WITH_OFFSETS.write(pattern)


VERIFY: tuple[Option, ...] = (
    entry(
        "verify",
        Category.VERIFY,
        choice(
            {checksum.value: checksum for checksum in Checksum}
            | {"crc32c-intel": Checksum.CRC32C, "0": None},
        ),
        "0",
        "Write blocks that can be verified, and verify them: each has a header, a checksum of this kind, and data. "
        "`pattern` writes and compares verify_pattern without headers, `pattern_hdr` with them; `meta` has headers "
        "alone; `null` neither writes nor checks anything. `stamp` is iogauge's own: it puts a stamp into each sector, "
        "and records every write in `stamp_log`. After a power cut, `iogauge verify` judges the target by both.",
    ),
    entry(
        "stamp_log",
        Category.VERIFY,
        TEXT,
        "none",
        "With `verify=stamp`: the new file that records writes and flushes, on another drive than the target. Jobs on "
        "one target share it.",
    ),
    entry(
        "do_verify",
        Category.VERIFY,
        SWITCH,
        "1",
        "Whether a job that writes reads back and verifies what it wrote, after each pass over its region.",
    ),
    entry(
        "verify_only",
        Category.VERIFY,
        FLAG,
        "0",
        "Write nothing, and verify what the job would have written.",
    ),
    entry(
        "verify_interval",
        Category.VERIFY,
        count(2 * HEADER_BYTES, unit="bytes"),
        "the block size; the smallest if they differ",
        "Distance between two headers.",
    ),
    entry(
        "verify_offset",
        Category.VERIFY,
        count(HEADER_BYTES, unit="bytes"),
        "0",
        "Bytes by which each header is moved from the start of its block.",
    ),
    Option(
        name="verify_pattern",
        category=Category.VERIFY,
        kind=BYTES_WITH_OFFSETS,
        default="random bytes",
        help="Bytes that are written and compared instead of random bytes; `%o` stands for the offset of the I/O, in "
        "eight bytes. Without verify, it means `verify=pattern_hdr`.",
        store=_store_pattern,
        text=_pattern_text,
    ),
    entry(
        "verify_pattern_interval",
        Category.VERIFY,
        count(0, (1 << 32) - 1, unit="bytes"),
        "0 (none)",
        "Bytes after which verify_pattern begins anew within an I/O. There `%o` stands for the offset of these bytes.",
    ),
    entry(
        "verify_backlog",
        Category.VERIFY,
        count(0, LARGEST),
        "0 (only after each pass)",
        "Number of writes after which some of them are read back.",
    ),
    entry(
        "verify_backlog_batch",
        Category.VERIFY,
        count(),
        "verify_backlog",
        "Number of blocks that are then read back.",
    ),
    entry(
        "trim_percentage",
        Category.VERIFY,
        count(0, 100, unit="%"),
        "0",
        "Share of the verified writes that are trimmed before they are read back. It needs trim_backlog.",
    ),
    entry(
        "trim_verify_zero",
        Category.VERIFY,
        SWITCH,
        "1",
        "Whether trimmed blocks are read back and must be zeroes; otherwise they are not read.",
    ),
    entry(
        "trim_backlog",
        Category.VERIFY,
        count(0, LARGEST),
        "0",
        "Number of writes after which some of them are trimmed.",
    ),
    entry(
        "trim_backlog_batch",
        Category.VERIFY,
        count(),
        "trim_backlog",
        "Number of blocks that are then trimmed.",
    ),
    entry(
        "verify_state_save",
        Category.VERIFY,
        SWITCH,
        "0",
        "Save which writes of the job completed, in `local-JOB-N-verify.state` in the working directory, in fio 3.33's "
        "format. N counts the workers of the run from 0.",
    ),
    entry(
        "verify_state_load",
        Category.VERIFY,
        SWITCH,
        "0",
        "With verify_only: verify only the writes that are in the file of verify_state_save.",
    ),
    entry(
        "verify_write_sequence",
        Category.VERIFY,
        SWITCH,
        "1",
        "Whether a block must have the number of the last write to it, if that was of the same run.",
    ),
    entry(
        "verify_fatal",
        Category.VERIFY,
        SWITCH,
        "0",
        "Report only the first bad block of an I/O. A job ends after its first bad I/O in any case, unless "
        "continue_on_error=verify.",
    ),
    entry(
        "verify_dump",
        Category.VERIFY,
        SWITCH,
        "0",
        "Save bad blocks in files named after the target and the offset: what was read (`.received`) and what was "
        "written (`.expected`).",
    ),
    entry(
        "verify_async",
        Category.VERIFY,
        count(maximum=1024),
        "0",
        "Threads of each clone that check what it reads, while it issues more. 0: it checks each I/O itself, before it "
        "issues more.",
    ),
    entry(
        "verify_async_cpus",
        Category.VERIFY,
        CPU_LIST,
        "the clone's",
        "CPUs that these threads may run on. By default they avoid those to which a clone is pinned, if enough others "
        "are there.",
    ),
    accepted(
        "experimental_verify",
        Category.VERIFY,
        FLAG,
        "none",
        "Accepted: writes are always remembered, 8 to 12 bytes a block, so that ones that overlap are verified, too.",
    ),
    accepted(
        "verifysort",
        Category.VERIFY,
        TEXT,
        "none",
        "Accepted: what was written is always read back as fio orders it.",
    ),
    accepted("verifysort_nr", Category.VERIFY, TEXT, "none", "Accepted, as verifysort."),
)
"""All of them."""
