"""Says what is tuned, by whom and since when, and whether the values still are as they were set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from iogauge.machine.tuning import STATE_DIRECTORY
from iogauge.machine.tuning.door import Door, ForbiddenError
from iogauge.machine.tuning.journal import Record, State
from iogauge.machine.tuning.owner import boot_id
from iogauge.machine.tuning.session import door_of
from iogauge.machine.tuning.undo import Left, reason
from iogauge.target.users.sysfs import HOST, Host
from iogauge.text.grid import labelled
from iogauge.text.numbers import counted


@dataclass(frozen=True)
class TuningStatus:
    """What is tuned now; ``str()`` is what ``iogauge tune --status`` prints, the answer first."""

    profile: str | None = None
    """None: nothing is tuned."""
    owner_pid: int | None = None
    """The process that puts everything back at its end; None: the tuning stays, or nothing is tuned."""
    since: str | None = None
    """UTC, ISO 8601."""
    target: str | None = None
    command: str = ""
    """What runs under the tuning; empty: it stays, or a program of its own tunes."""
    settings: tuple[str, ...] = ()
    """The ids of the settings that were changed by values; a latency that a process holds is not among them."""
    values: int = 0
    """How many values were changed."""
    drifted: tuple[Left, ...] = ()
    """The values that are no longer as they were set."""
    interrupted: bool = False
    """Whether its process is dead and nobody has put its values back."""
    last: str = ""
    """What became of the tuning before, in a sentence; empty: there was none."""

    @property
    def answer(self) -> str:
        """What is tuned, in a sentence."""
        if self.profile is None:
            return "nothing is tuned"
        on = f", for {self.target}" if self.target else ""
        what = f"this machine is tuned to {self.profile}{on}, since {self.since}"
        if self.interrupted:
            return (
                f"{what}, by a process that is dead: the next command of iogauge that root runs puts it back"
            )
        who = f"by process {self.owner_pid}" if self.owner_pid else "to stay until it is undone"
        running = f" ({self.command})" if self.command else ""
        hold = f"all {counted(self.values, 'value')} hold"
        if self.drifted:
            hold = f"{len(self.drifted)} of {counted(self.values, 'value')} do not hold"
        return f"{what}, {who}{running}; {hold}"

    def __str__(self) -> str:
        lines = labelled("", self.answer, indent="", width=0)
        for item in self.drifted:
            lines += labelled("", f"{item.id}: {item.why}", width=0)
            lines.append(f"    {item.place}")
        if self.settings:
            lines += labelled("settings:", ", ".join(self.settings), indent="", width=10)
        if self.last:
            lines += labelled("", self.last, indent="", width=0)
        return "".join(f"{line}\n" for line in lines)


def tuning_status(
    host: Host = HOST, *, state_dir: Path = STATE_DIRECTORY, door: Door | None = None
) -> TuningStatus:
    """Return what is tuned. Nothing is changed, and no lock is taken. Raises IogaugeError for a damaged journal."""
    state = State(state_dir)
    record, last = state.read(), state.read_last()
    ended = _ended(last) if last else ""
    if record is None or record.closed is not None or record.owner.boot != boot_id():
        return TuningStatus(last=ended)
    door = door or door_of(host)
    done = [entry for entry in record.entries if entry.place in record.done]
    drifted = []
    for entry in done:
        try:
            now = door.read(entry.place)
        except (OSError, ForbiddenError) as error:
            drifted.append(Left(entry.id, entry.place, reason(error)))
        else:
            if now != entry.wanted:
                drifted.append(Left(entry.id, entry.place, f"set to {entry.wanted!r}, now {now!r}"))
    return TuningStatus(
        profile=record.profile,
        owner_pid=None if record.applied else record.owner.pid,
        since=record.since,
        target=record.target,
        command=record.command,
        settings=tuple(dict.fromkeys(entry.id for entry in done)),
        values=len(done),
        drifted=tuple(drifted),
        interrupted=not record.applied and not record.owner.alive,
        last=ended,
    )


def _ended(record: Record) -> str:
    assert record.closed is not None
    left = record.closed.get("left", [])
    by = record.closed.get("by", "")
    text = f"the last tuning, {record.profile} of {record.since}, was put back by {by}"
    if left:
        names = ", ".join(dict.fromkeys(f"{item['id']} ({item['why']})" for item in left[:3]))
        text += f", but {counted(len(left), 'value')}: {names}"
    return text
