"""Types of the Rust core: see crates/py/src/lib.rs."""

from pathlib import Path

class CoreError(RuntimeError):
    """``args``: message, and a hint or None."""

class HistogramSums:
    """Sums of stored histograms by slot. Threads may share it."""

    def __init__(self, slots: int) -> None:
        """Begin with no counts; slots are numbered from 0."""

    def add(self, slots: bytes, offsets: bytes, data: bytes) -> None:
        """Add a column of histograms: int32 ``slots`` of each, and Arrow's int32 ``offsets`` into ``data``.

        Those of a negative slot are left out. Raise ValueError, which says why, if one cannot be read or added.
        """

    def at_ranks(self, ranks: bytes) -> bytes:
        """Return the last nanosecond of the bucket of each int64 rank, as int64; 0 for the rank 0.

        Ranks count from 1. There are as many for each slot, and they ascend in it.
        """

    def counts(self) -> bytes:
        """Return how much each slot counts, as int64."""

    def total(self) -> bytes:
        """Return the counts of all slots together, an int64 for each of the recorder's buckets."""

class RunHandle:
    """A run in progress."""

    def __init__(self, plan: str, spill: int | None) -> None:
        """``spill``: a descriptor open for appending, for a plan with ``request_log``."""

    def poll(self, timeout_s: float) -> list[tuple[str, str]]:
        """Return ("interval", JSON), ("held", index of a stage) and ("finished", JSON) events."""

    def proceed(self, refusal: str | None = None) -> None:
        """Let a run that is held go on; with a ``refusal`` the run ends there, and that is its error."""

    def stop(self) -> None:
        """End the run: issue no further request and wait for those in flight."""

    def give_up(self) -> None:
        """End the run without waiting for requests in flight."""

    def spilled(self) -> str | None:
        """Return {"kept": records, "failure": text or null} as JSON once the run is over; None without a log."""

class ModelHandle:
    """A run on drive models in progress: the same as ``RunHandle``, in virtual time."""

    def __init__(
        self,
        plan: str,
        drives: list[tuple[str, int]],
        machine: str,
        spill: int | None,
        explain: bool = False,
    ) -> None:
        """``drives``: JSON and seed of each; a file's ``fd`` is the index of its drive. ``machine``: JSON.

        ``explain``: say where the time of the requests went.
        """

    def poll(self, timeout_s: float) -> list[tuple[str, str]]:
        """Return ("interval", JSON), ("held", index of a stage), ("explained", JSON) and ("finished", JSON) events.

        "explained" comes for each row of a stage that is over, if the run is explained.
        """

    def proceed(self, refusal: str | None = None) -> None:
        """Let a run that is held go on; with a ``refusal`` the run ends there, and that is its error."""

    def stop(self) -> None:
        """End the run: issue no further request and wait for those in flight."""

    def give_up(self) -> None:
        """End the run as ``stop`` does, since a drive model always answers."""

    def spilled(self) -> str | None:
        """Return {"kept": records, "failure": text or null} as JSON once the run is over; None without a log."""

class SpillReader:
    """A reader of the spill of a request log, even of a run that was killed."""

    def __init__(self, path: Path, position: int) -> None:
        """Begin at byte ``position``. Raise OSError."""

    def read(self, most: int) -> bytes:
        """Return about ``most`` requests, ``LOG_RECORD`` each; none at the end.

        Raise OSError if the file cannot be read, and ValueError if other bytes follow the requests returned so far.
        """

    def position(self) -> int:
        """Return its position in the file, bytes."""

class Server:
    """A drive model, served by NBD in its own thread until this object is deleted."""

    def __init__(self, drive: str, seed: int, config: str, store: int | None, faults: int | None) -> None:
        """``drive`` and ``config``, of crates/nbd's ``Config``, as JSON. ``store``: a descriptor of the data file, or
        None to keep the data in memory. ``faults``: a descriptor open for appending, where faults are written down.

        Raise CoreError if it cannot be served.
        """

    def bias(self) -> str:
        """Return the measured bias, as JSON: how much longer than the model a program waits."""

    def size_bytes(self) -> int:
        """Return the export's size."""

    def address(self) -> str | None:
        """Return the TCP address, as ``127.0.0.1:10809``; None for a Unix socket."""

    def cut_power(self) -> None:
        """Cut the power: what was not flushed is lost, and all connections are closed."""

    def wait(self, timeout_s: float) -> str | None:
        """Wait for the end of the service. Return its summary as JSON; None if it has not ended."""

    def stop(self) -> None:
        """End the service."""

class StampJudge:
    """A judge of what stamped writes left on a part of a target. It gets the log, the target, and the log again."""

    def __init__(self, after_crash: bool, file: int, start_bytes: int, end_bytes: int) -> None:
        """``after_crash``: whether only flushed writes had to survive. ``file``: its number in the log."""

    def log(self, piece: bytes) -> None:
        """Read a piece of the log. Raise CoreError if it is none, or is damaged."""

    def header(self) -> tuple[int, int, int, bool]:
        """Return the run, the bytes of a block, the number of records, and whether the log's end is cut off."""

    def written(self) -> list[tuple[int, int]]:
        """Return the ranges that were written, as offsets of their first bytes and of their ends."""

    def content(self, offset_bytes: int, piece: bytes) -> None:
        """Take whole blocks of the target."""

    def log_again(self, piece: bytes) -> None:
        """Read a piece of the log again. Raise CoreError."""

    def verdicts(self, atomic_bytes: int, most: int) -> str:
        """Return ``execution.after_crash.Window`` as JSON, with at most ``most`` blocks."""

class TraceParser:
    """A reader of one file of a trace, piece by piece."""

    def __init__(self, layout: str, skip_bad: bool) -> None:
        """``layout``, of crates/trace's ``Format``, as JSON. ``skip_bad``: count bad lines instead of failing."""

    def feed(self, piece: bytes) -> bytes:
        """Return the rows in the next piece, ``ROW`` each; of an empty piece, those at the file's end.

        Raise ValueError, whose ``args`` are the place in the file and the problem.
        """

    def devices(self) -> list[str]:
        """Return the names of the devices so far, by their number."""

    def skipped(self) -> int:
        """Return how many lines or records were left out."""

class TracePairing:
    """Makes requests of their two events."""

    def feed(self, events: bytes) -> bytes:
        """Take events in the order of their times; return complete requests, or, without events, the rest."""

    def unmatched(self) -> int:
        """Return how many completions were of requests that the trace does not have."""

class TraceReuse:
    """Counts how requests come back to the same blocks."""

    def __init__(self, block_bytes: int, most_blocks: int) -> None:
        """Count blocks of ``block_bytes``, and keep at most ``most_blocks`` of them."""

    def feed(self, rows: bytes) -> float:
        """Count requests; return how many different blocks were used so far."""

    def uses(self) -> float:
        """Return how many uses of blocks there were."""

    def exact(self) -> bool:
        """Return whether every block was counted."""

    def hits(self) -> list[tuple[float, float]]:
        """Return pairs: the blocks that a cache holds, and the uses that it serves but the next smaller does not."""

__version__: str

def check_model(drive: str, machine: str) -> None:
    """Check a drive and a machine, as JSON. Raise CoreError with the invalid parameter."""

def model_parts() -> str:
    """Return the parts of a modelled request's latency as JSON: name, meaning, and whether it is host time."""

def probe(plan: str) -> list[tuple[str, str, str]]:
    """Return a warning (code, message, hint) for each thing that the engines will do differently from the plan."""

def handed_over(plan: str) -> list[bool]:
    """Return for each worker, in the plan's order, whether kernel threads execute some of its requests."""

def allowed_cpus() -> list[int]:
    """Return the CPUs that this process may run on."""

def clock_facts() -> str:
    """Return ``schema.ClockFacts`` as JSON."""

def sleep_slack_ns() -> int:
    """Return how late a sleeping thread wakes: the 99th percentile, nanoseconds."""
