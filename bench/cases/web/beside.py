"""TensorBoard over as many runs, with the same figures as scalars: what its server takes for the same questions.

It is no dependency of this project. ``$IOGAUGE_BENCH_TENSORBOARD`` names the Python of an environment that has it:

    uv venv /tmp/tensorboard && uv pip install --python /tmp/tensorboard/bin/python tensorboard
    IOGAUGE_BENCH_TENSORBOARD=/tmp/tensorboard/bin/python .venv/bin/python -m bench web-index
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import peers
from bench.cases.web.processes import family, median_ms, peak_bytes
from iogauge.index import Index

PYTHON = "IOGAUGE_BENCH_TENSORBOARD"
COMPARED = 50
_PATIENCE_S = 1800.0
_TAGS = ("iops", "rate_Bps", "mean_ns", "p50_ns", "p99_ns", "p99.9_ns")


def python() -> str | None:
    """Return the Python that has TensorBoard; None: none is named."""
    return os.environ.get(PYTHON)


def measured(index: Index, folder: Path) -> dict[str, float]:
    """Return the times of TensorBoard in milliseconds, and its memory in bytes, over the runs of an index."""
    interpreter = python()
    assert interpreter is not None
    runs = folder / "runs"
    with subprocess.Popen(
        [interpreter, str(Path(__file__).with_name("peer_runs.py")), str(runs)],
        stdin=subprocess.PIPE,
        text=True,
    ) as writer:
        assert writer.stdin is not None
        names = []
        for name, scalars in _scalars(index):
            names.append(name)
            writer.stdin.write(json.dumps({"run": name, "scalars": scalars}) + "\n")
        writer.stdin.close()
        if writer.wait():
            raise peers.PeerError("TensorBoard's runs could not be written")
    began = time.monotonic()
    with _served(interpreter, runs) as (process, url):
        while len(json.loads(_get(f"{url}/data/runs"))) < len(names):
            if time.monotonic() > began + _PATIENCE_S:
                raise peers.PeerError("TensorBoard did not list all runs within half an hour")
            time.sleep(0.1)
        cold_ms = 1000 * (time.monotonic() - began)
        compared = names[:COMPARED]

        def compare() -> None:
            for tag in _TAGS:
                fields = urllib.parse.urlencode([("tag", tag), *(("runs", name) for name in compared)])
                _get(f"{url}/data/plugin/scalars/scalars_multirun", fields.encode())

        return {
            "cold": cold_ms,
            "list": median_ms(lambda: _get(f"{url}/data/runs")),
            "filter": median_ms(lambda: _get(f"{url}/data/plugin/scalars/tags")),
            "compare": median_ms(compare),
            "bytes": sum(peak_bytes(pid) for pid in family(process.pid)),
        }


def _scalars(index: Index) -> Iterator[tuple[str, dict[str, list[list[float]]]]]:
    """Yield every review's name, and its figures as points over the numbers of its steps."""
    total, size = index.reviews(limit=0).total, 200
    for offset in range(0, total, size):
        ids = [row.id for row in index.reviews(order="id", offset=offset, limit=size).rows]
        rows: dict[str, list[dict[str, Any]]] = {name: [] for name in ids}
        for row in index.figures(ids, _TAGS).to_pylist():
            rows[row["review"]].append(row)
        for name, steps in rows.items():
            yield (
                name,
                {
                    tag: [[place, row[tag]] for place, row in enumerate(steps) if row[tag] is not None]
                    for tag in _TAGS
                },
            )


@contextmanager
def _served(interpreter: str, runs: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [interpreter, "-m", "tensorboard.main", "--logdir", str(runs), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        url = f"http://127.0.0.1:{port}"
        try:
            _await(f"{url}/data/environment", process)
            yield process, url
        finally:
            process.terminate()


def _await(url: str, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            _get(url)
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise peers.PeerError("TensorBoard ended before it answered")


def _get(url: str, data: bytes | None = None) -> bytes:
    with urllib.request.urlopen(url, data, timeout=_PATIENCE_S) as answer:
        content: bytes = answer.read()
        return content
