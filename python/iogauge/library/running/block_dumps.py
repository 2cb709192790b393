"""Saves the blocks that a job found damaged: fio's verify_dump.

As in fio, the files are named after the target and the offset, and lie in the working directory. Where targets in
several directories have the same name, their paths are in the names, since fio's would be the same.

Source: fio 3.33's verify.c (dump_buf).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.schema import RunRecord
from iogauge.store.outputs import Claims, Existing
from iogauge.text import numbers


def write(record: RunRecord, claims: Claims, *, say: Callable[[str], None]) -> None:
    """Write what was read and what was written, for each block that has them. A file that fails is only reported."""
    blocks: dict[str, bytes] = {}
    names = _names(record)
    for worker in record.result.workers:
        for mismatch in worker.verify.mismatches if worker.verify else ():
            name = f"{names[mismatch.path]}.{mismatch.offset_bytes}"
            for end, data in (("received", mismatch.received), ("expected", mismatch.written)):
                if data is not None:
                    blocks[f"{name}.{end}"] = data
    saved = len({name.rpartition(".")[0] for name in blocks})
    bad = sum(worker.verify.failed for worker in record.result.workers if worker.verify)
    if saved:
        say(
            f"verify_dump: saving {numbers.counted(saved, 'bad block')} of {numbers.counted(bad, 'bad read')}"
        )
    for name, data in blocks.items():
        try:
            claims.file(Path(name), existing=Existing.REPLACE).write(data)
        except IogaugeError as error:
            say(f"{name}: the block is not saved: {error}")
        else:
            say(f"{name}: saved the block")


def _names(record: RunRecord) -> dict[str, str]:
    """Return how the files of each target's blocks begin."""
    paths = {m.path for worker in record.result.workers if worker.verify for m in worker.verify.mismatches}
    shared = Counter(Path(path).name for path in paths)
    return {
        path: Path(path).name if shared[Path(path).name] == 1 else path.strip("/").replace("/", "_")
        for path in paths
    }
