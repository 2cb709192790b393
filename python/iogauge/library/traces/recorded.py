"""Recording the requests of a disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from iogauge.library.options import StrPath
from iogauge.library.public import public
from iogauge.store.outputs import Claims, Existing, Output
from iogauge.target.users.sysfs import BlockDevice
from iogauge.traces.recording import Recording, disk_of, holds


@public
def record_trace(
    target: StrPath, output: StrPath, *, on_message: Callable[[str], object] | None = None
) -> AbstractContextManager[Recording]:
    """Record the requests of a disk as a trace while a ``with`` block lasts. Needs root; nothing is changed.

    Args:
        target: a disk, such as ``/dev/nvme0n1``.
        output: the trace to write, which is there after the block. A file that iogauge did not write is not replaced.
        on_message: gets a text if the trace has its own writes, or has lost events.

    Raises IogaugeError if the disk cannot be traced, or no request reached it.

    Examples:
        with iogauge.record_trace("/dev/nvme0n1", "t.trace") as recording:
            iogauge.run("job.fio")
        print(recording.facts.lost, iogauge.open_trace("t.trace"))
    """
    disk = disk_of(str(target))
    sink = Claims(targets=[str(target)]).file(Path(output), existing=Existing.OWN)
    return _recorded(disk, sink, on_message or (lambda _: None))


@contextmanager
def _recorded(disk: BlockDevice, sink: Output, on_message: Callable[[str], object]) -> Iterator[Recording]:
    from iogauge.text.numbers import counted

    if holds(disk, sink.path):
        on_message(f"{sink.path} is on {disk.name}: the trace will have its own writes, too")
    with sink.atomic() as file:
        recording = Recording(disk, file)
        with recording:
            yield recording
    if recording.facts is not None and recording.facts.lost:
        on_message(f"the trace is lossy: {counted(recording.facts.lost, 'event')} lost")
