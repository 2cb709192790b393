"""Writes runs as TensorBoard reads them: JSON from stdin, a line for each run, below the directory of the argument.

It runs in TensorBoard's own environment, and imports nothing of ours.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def write(directory: Path, scalars: dict[str, list[list[float]]]) -> None:
    """Write one run: for every tag, pairs of a step and a value."""
    # Only that environment has these.
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.record_writer import RecordWriter

    directory.mkdir(parents=True)
    with (directory / "events.out.tfevents.1.bench").open("wb") as file:
        writer = RecordWriter(file)
        writer.write(Event(wall_time=1.0, file_version="brain.Event:2").SerializeToString())
        for tag, points in scalars.items():
            for step, value in points:
                summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
                writer.write(Event(wall_time=1.0, step=int(step), summary=summary).SerializeToString())
        writer.flush()


if __name__ == "__main__":
    for line in sys.stdin:
        run = json.loads(line)
        write(Path(sys.argv[1]) / run["run"], run["scalars"])
