"""Builds the entries of the table of options: functions for the common forms, and the few special options.

Most options fill one field of ``schema.Job`` with the value that their kind reads, and are written if the field differs
from its default. The other options define here how they are stored and written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from iogauge.schema import Amount, Direction, EngineKind, Job, PerDirection
from iogauge.workload.byte_pattern import BYTES
from iogauge.workload.options import patterns
from iogauge.workload.options.kinds import (
    AMOUNT,
    CPU_MASK,
    FLAG,
    PERCENT,
    SWITCH,
    TEXT,
    Kind,
    choice,
    count,
    directions,
    join_directions,
    whole_percent,
)
from iogauge.workload.options.option import Category, Option
from iogauge.workload.options.partial_job import PartialJob

FILES_ORDER = 1
"""File names are read after their directory."""
ENGINE_ORDER = 2
"""Options of an engine are read after the engine."""

_AllThree = tuple[Any, Any, Any]


def default_of(name: str) -> Any:
    """Return the default of a field of ``Job``."""
    return Job.model_fields[name].get_default()


def entry(
    name: str,
    category: Category,
    kind: Kind[Any],
    default: str,
    help: str,  # noqa: A002 (fio's word)
    *,
    field: str | None = None,
    aliases: tuple[str, ...] = (),
    always: bool = False,
) -> Option:
    """Return an option that fills ``field``, by default that of its own name; ``always`` writes even a default."""
    key = field or name

    def store(partial: PartialJob, value: Any) -> None:
        partial.values[key] = value

    def text(job: Job) -> str | None:
        value = getattr(job, key)
        if value is None or (value == default_of(key) and not always):
            return None
        return "" if kind.bare is not None and value == kind.bare else str(kind.write(value))

    return Option(
        name=name,
        category=category,
        kind=kind,
        default=default,
        help=help,
        store=store,
        text=text,
        aliases=aliases,
    )


def engine_option(
    name: str,
    kind: Kind[Any],
    default: str,
    help: str,  # noqa: A002
    *engines: EngineKind,
) -> Option:
    """Return an option that only ``engines`` have. Its value is stored for the engine of its section."""

    def store(partial: PartialJob, value: Any) -> None:
        partial.engine_values.setdefault(partial.engine, {})[name] = value

    def text(job: Job) -> str | None:
        value = getattr(job, name)
        if value == default_of(name):
            return None
        return "" if kind.bare is not None and value == kind.bare else str(kind.write(value))

    return Option(
        name=name,
        category=Category.DEPTH,
        kind=kind,
        default=default,
        help=help,
        store=store,
        text=text,
        engines=frozenset(engines),
        order=ENGINE_ORDER,
    )


def per_direction(
    name: str,
    category: Category,
    inner: Kind[int],
    default: str,
    help: str,  # noqa: A002
    *,
    field: str | None = None,
    aliases: tuple[str, ...] = (),
) -> Option:
    """Return an option with a number for each direction; zero means that a direction has none."""
    key = field or name

    def text(job: Job) -> str | None:
        value: PerDirection[int] = getattr(job, key)
        if value == default_of(key):
            return None
        return join_directions((value.read or None, value.write or None, value.trim or None), inner.write)

    return Option(
        name=name,
        category=category,
        kind=directions(inner),
        default=default,
        help=help,
        store=lambda partial, value: partial.store_directions(key, value, 0),
        text=text,
        aliases=aliases,
    )


def _percentage_random_text(job: Job) -> str | None:
    value = job.percentage_random
    if value == default_of("percentage_random"):
        return None
    return join_directions((value.read, value.write, value.trim), lambda share: str(whole_percent(share)))


PERCENTAGE_RANDOM = Option(
    name="percentage_random",
    category=Category.PATTERN,
    kind=directions(count(0, 100, unit="%")),
    default="100",
    help="Share of random I/Os in a random pattern; each of the others continues at the end of the I/O before it.",
    store=lambda partial, value: partial.store_directions("percentage_random", value, 100),
    text=_percentage_random_text,
)


def whole_or_part(
    name: str,
    default: str,
    help: str,  # noqa: A002
    *,
    optional: bool,
    aliases: tuple[str, ...] = (),
) -> Option:
    """Return an option of bytes or a percentage. ``optional``: zero stands for no value, as in fio."""

    def store(partial: PartialJob, value: Amount) -> None:
        is_zero = not value.size_bytes and not value.percent
        partial.values[name] = (None if optional else Amount()) if is_zero else value

    def text(job: Job) -> str | None:
        value = getattr(job, name)
        return None if value == default_of(name) else AMOUNT.write(value)

    return Option(
        name=name,
        category=Category.SIZE,
        kind=AMOUNT,
        default=default,
        help=help,
        store=store,
        text=text,
        aliases=aliases,
    )


def never(_: Job) -> None:
    """Write nothing: another option expresses the value."""


def accepted(
    name: str,
    category: Category,
    kind: Kind[Any],
    default: str,
    help: str,  # noqa: A002 (fio's word)
) -> Option:
    """Return an option whose value is checked and changes nothing."""
    return Option(
        name=name,
        category=category,
        kind=kind,
        default=default,
        help=help,
        store=lambda _partial, _value: None,
        text=never,
    )


def _store_rw(partial: PartialJob, value: tuple[Any, int]) -> None:
    partial.values["rw"], partial.values["rw_sequence"] = value


RW = Option(
    name="rw",
    aliases=("readwrite",),
    category=Category.PATTERN,
    kind=patterns.RW,
    default="read",
    help="Direction and order of the I/Os. `:n` after a random pattern is the number of sequential I/Os from each "
    "random offset; after a sequential one, the bytes skipped after each I/O (negative: backwards).",
    store=_store_rw,
    text=lambda job: patterns.RW.write((job.rw, job.rw_sequence)),
)


def _sizes_where(job: Job, choose: Callable[[Any], bool]) -> _AllThree | None:
    """Return the block sizes that ``choose`` accepts, with None for the other directions; None if it accepts none."""
    sizes = [size if choose(size) else None for size in (job.bs.read, job.bs.write, job.bs.trim)]
    return None if sizes == [None, None, None] else (sizes[0], sizes[1], sizes[2])


def _fixed_text(job: Job) -> str | None:
    sizes = _sizes_where(job, lambda size: size.minimum_bytes == size.maximum_bytes)
    return sizes and join_directions(sizes, lambda size: count().write(size.minimum_bytes))


def _range_text(job: Job) -> str | None:
    sizes = _sizes_where(job, lambda size: size.minimum_bytes < size.maximum_bytes and not size.split)
    return sizes and patterns.RANGES.write(sizes)


def _split_text(job: Job) -> str | None:
    sizes = _sizes_where(job, lambda size: bool(size.split))
    return sizes and patterns.SPLITS.write(sizes)


BLOCK_SIZES = (
    Option(
        name="bs",
        aliases=("blocksize",),
        category=Category.PATTERN,
        kind=directions(count(1, patterns.LARGEST_BLOCK, unit="bytes")),
        default="4096",
        help="Bytes moved by each I/O. bsrange or bssplit wins over it.",
        store=lambda partial, value: partial.store_bs(value),
        text=_fixed_text,
    ),
    Option(
        name="bsrange",
        aliases=("blocksize_range",),
        category=Category.PATTERN,
        kind=patterns.RANGES,
        default="none",
        help="Draw block sizes from a range, in multiples of its lower end.",
        store=lambda partial, value: partial.store_shape(value, split=False),
        text=_range_text,
    ),
    Option(
        name="bssplit",
        category=Category.PATTERN,
        kind=patterns.SPLITS,
        default="none",
        help="Draw block sizes by their shares of the I/Os. Sizes without a share divide the rest equally.",
        store=lambda partial, value: partial.store_shape(value, split=True),
        text=_split_text,
    ),
)


GENERATOR = Option(
    name="random_generator",
    category=Category.PATTERN,
    kind=choice({word: word for word in ("tausworthe", "tausworthe64", "lfsr")}),
    default="tausworthe",
    help="fio's generator of random offsets; iogauge has its own. With `lfsr` every block comes once before any comes "
    "twice, as with a random map, even with norandommap. It needs one block size for all directions.",
    store=lambda partial, value: partial.values.update(random_generator=value),
    text=never,
)


def _store_mix(reads: bool) -> Callable[[PartialJob, float], None]:
    def store(partial: PartialJob, value: float) -> None:
        partial.values["rwmix_read_percent"] = value if reads else 100 - value

    return store


def _mix_text(job: Job) -> str | None:
    value = job.rwmix_read_percent
    return None if value == default_of("rwmix_read_percent") else PERCENT.write(value)


MIX = (
    Option(
        name="rwmixread",
        category=Category.PATTERN,
        kind=PERCENT,
        default="50",
        help="Share of reads in a mixed pattern.",
        store=_store_mix(True),
        text=_mix_text,
    ),
    Option(
        name="rwmixwrite",
        category=Category.PATTERN,
        kind=PERCENT,
        default="50",
        help="Share of writes in a mixed pattern. The last of rwmixread and rwmixwrite counts.",
        store=_store_mix(False),
        text=never,
    ),
)

FILENAME = Option(
    name="filename",
    category=Category.TARGET,
    kind=patterns.FILES,
    default="JOB.CLONE.0 in directory",
    help="Files, devices or drive models (model:NAME), separated by ':' (write a colon in a name as `\\:`). A job uses "
    "those of [global] and its own. Without this option, a job that has the name of a block device uses that device.",
    store=lambda partial, value: partial.add_files(value),
    text=lambda job: patterns.FILES.write(job.filenames) if job.filenames else None,
    order=FILES_ORDER,
)

DIRECTORY = Option(
    name="directory",
    category=Category.TARGET,
    kind=patterns.DIRECTORIES,
    default="the working directory",
    help="Directory of the files; put before every file name after this option. Separate several with "
    "':'; clones take them in turn. Files named by filename are in the first.",
    store=lambda partial, value: partial.values.update(directory=value),
    text=lambda job: (
        patterns.DIRECTORIES.write(job.directory) if job.directory and not job.filenames else None
    ),
)

NAME = Option(
    name="name",
    category=Category.JOB,
    kind=TEXT,
    default="the section's name",
    help="Name of the job. On a command line it begins a job; in [global] it has no effect.",
    store=lambda partial, value: partial.values.update(name=value),
    text=never,
)


def _store_kb_base(partial: PartialJob, value: int) -> None:
    partial.kb_base = value


KB_BASE = Option(
    name="kb_base",
    category=Category.JOB,
    kind=choice({"1024": 1024, "1000": 1000}),
    default="1024",
    help="Meaning of k in the whole section: with 1024, k is 1024 and kib is 1000; with 1000, the reverse.",
    store=_store_kb_base,
    text=never,
    order=-1,
)

BUFFERED = Option(
    name="buffered",
    category=Category.DURABILITY,
    kind=SWITCH,
    default="1",
    help="The opposite of direct; the last of the two counts.",
    store=lambda partial, value: partial.values.update(direct=not value),
    text=never,
)

CPUMASK = Option(
    name="cpumask",
    category=Category.CPU,
    kind=CPU_MASK,
    default="none",
    help="cpus_allowed as a bit mask; the last of the two counts.",
    store=lambda partial, value: partial.values.update(cpus_allowed=value),
    text=never,
)


def _store_dedupe(partial: PartialJob, value: float) -> None:
    partial.values["dedupe_percent"] = value
    partial.values["refill_buffers"] = True


def _dedupe_text(job: Job) -> str | None:
    return PERCENT.write(job.dedupe_percent) if job.dedupe_percent else None


DEDUPE = Option(
    name="dedupe_percentage",
    category=Category.BUFFERS,
    kind=PERCENT,
    default="0",
    help="Share of writes that repeat earlier data. Switches refill_buffers on.",
    store=_store_dedupe,
    text=_dedupe_text,
)


def _store_pattern(partial: PartialJob, value: bytes) -> None:
    """Store a pattern, and what it switches on and off in fio. The writes of a job that reads are filled again."""
    values = partial.values
    reads = Direction.READ in values.get("rw", default_of("rw")).directions
    values |= {
        "buffer_pattern": value.hex(),
        "refill_buffers": reads or bool(values.get("buffer_compress_percent")),
        "scramble_buffers": False,
        "zero_buffers": False,
    }


PATTERN = Option(
    name="buffer_pattern",
    category=Category.BUFFERS,
    kind=BYTES,
    default="random bytes",
    help="Bytes that writes repeat, or that fill the compressible share of buffer_compress_percentage. Switches "
    "scramble_buffers and zero_buffers off; later lines can switch them on.",
    store=_store_pattern,
    text=lambda job: BYTES.write(bytes.fromhex(job.buffer_pattern)) if job.buffer_pattern else None,
)


def _refill_text(job: Job) -> str | None:
    refilled_for_reads = job.buffer_pattern and Direction.READ in job.rw.directions
    implied = bool(job.buffer_compress_percent or job.dedupe_percent or refilled_for_reads)
    if job.refill_buffers == implied:
        return None
    return "" if job.refill_buffers else "0"


REFILL = Option(
    name="refill_buffers",
    category=Category.BUFFERS,
    kind=FLAG,
    default="0",
    help="Refill the buffer before every write, instead of once.",
    store=lambda partial, value: partial.values.update(refill_buffers=value),
    text=_refill_text,
)
