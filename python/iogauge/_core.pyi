"""What the Rust core offers: see crates/py/src/lib.rs."""

from pathlib import Path

class CoreError(RuntimeError):
    """``args``: message, and a hint or None."""

class RunHandle:
    """A run under way."""

    def __init__(self, plan: str, spill: int | None) -> None:
        """``spill``: a descriptor open for appending, for a plan with ``request_log``."""

    def poll(self, timeout_s: float) -> list[tuple[str, str]]:
        """Return ("interval", JSON) and ("finished", JSON) events."""

    def stop(self) -> None:
        """End the run: issue nothing more, and wait for what is in flight."""

    def give_up(self) -> None:
        """End the run without waiting for what is in flight."""

    def spilled(self) -> str | None:
        """Return {"kept": records, "failure": text or null} as JSON once the run is over; None without a log."""

class ModelHandle:
    """A run on drive models under way: the same as ``RunHandle``, in virtual time."""

    def __init__(self, plan: str, drives: list[tuple[str, int]], machine: str, spill: int | None) -> None:
        """``drives``: JSON and seed of each; a file's ``fd`` is the index of its drive. ``machine``: JSON."""

    def poll(self, timeout_s: float) -> list[tuple[str, str]]:
        """Return ("interval", JSON) and ("finished", JSON) events."""

    def stop(self) -> None:
        """End the run: issue nothing more, and wait for what is in flight."""

    def give_up(self) -> None:
        """End the run in the same way: a drive model keeps nobody waiting."""

    def spilled(self) -> str | None:
        """Return {"kept": records, "failure": text or null} as JSON once the run is over; None without a log."""

class SpillReader:
    """Reads the requests that a run spilled."""

    def __init__(self, path: Path, position: int) -> None:
        """Begin at the byte ``position``. Raise OSError."""

    def read(self, most: int) -> bytes:
        """Return about ``most`` requests, ``LOG_RECORD`` each; none at the end.

        Raise OSError, and ValueError where other bytes follow the requests that were returned.
        """

    def position(self) -> int:
        """Return how far into the file it has read."""

class Server:
    """A drive model, served by NBD on a thread of its own until this object is deleted."""

    def __init__(self, drive: str, seed: int, config: str, store: int | None) -> None:
        """``drive`` and ``config``, of crates/nbd's ``Config``, as JSON. ``store``: a descriptor of the data's file.

        Raise CoreError where it cannot be served.
        """

    def bias(self) -> str:
        """Return what programs will see beside the model, as JSON."""

    def size_bytes(self) -> int:
        """Return the export's size."""

    def address(self) -> str | None:
        """Return the TCP address, as ``127.0.0.1:10809``; None on a socket's path."""

    def wait(self, timeout_s: float) -> str | None:
        """Return what was served, as JSON, once it has ended; None until then."""

    def stop(self) -> None:
        """End the service."""

__version__: str

def check_model(drive: str, machine: str) -> None:
    """Check a drive and a machine, as JSON. Raise CoreError with the parameter that is wrong."""

def probe(plan: str) -> list[tuple[str, str, str]]:
    """Return what the plan's engines will do differently here: code, message, hint."""

def handed_over(plan: str) -> list[bool]:
    """Return for each worker, in the plan's order, whether threads of the kernel do requests of it."""

def allowed_cpus() -> list[int]:
    """Return the CPUs that this process may run on."""

def clock_facts() -> str:
    """Return ``schema.ClockFacts`` as JSON."""

def sleep_slack_ns() -> int:
    """Return the 99th percentile of how late a sleeping thread wakes."""
