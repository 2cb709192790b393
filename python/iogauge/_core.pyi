"""What the Rust core offers: see crates/py/src/lib.rs."""

class CoreError(RuntimeError):
    """``args``: message, and a hint or None."""

class RunHandle:
    """A run under way."""

    def __init__(self, plan: str) -> None: ...
    def poll(self, timeout_s: float) -> list[tuple[str, str]]:
        """Return ("interval", JSON) and ("finished", JSON) events."""

    def stop(self) -> None:
        """Ask the run to end."""

    def give_up(self) -> None:
        """Ask the run to end without what is in flight."""

    def requests(self, limit: int) -> bytes:
        """Return logged requests, ``LOG_RECORD`` each."""

class ModelHandle:
    """A run on drive models under way: the same as ``RunHandle``, in virtual time."""

    def __init__(self, plan: str, drives: list[tuple[str, int]], machine: str) -> None:
        """``drives``: JSON and seed of each; a file's ``fd`` is the index of its drive. ``machine``: JSON."""

    def poll(self, timeout_s: float) -> list[tuple[str, str]]:
        """Return ("interval", JSON) and ("finished", JSON) events."""

    def stop(self) -> None:
        """Ask the run to end."""

    def give_up(self) -> None:
        """Ask the run to end."""

    def requests(self, limit: int) -> bytes:
        """Return logged requests, ``LOG_RECORD`` each."""

__version__: str

def check_model(drive: str, machine: str) -> None:
    """Raise CoreError, which says why, where these, as JSON, are not a drive and a machine."""

def probe(plan: str) -> list[tuple[str, str, str]]:
    """Return what the plan's engines will do differently here: code, message, hint."""

def allowed_cpus() -> list[int]:
    """Return the CPUs that this process may run on."""

def clock_facts() -> str:
    """Return ``schema.ClockFacts`` as JSON."""

def sleep_slack_ns() -> int:
    """Return the 99th percentile of how late a sleeping thread wakes."""
