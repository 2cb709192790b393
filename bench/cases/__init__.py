"""The cases: one file for each question. A case returns a ``Finding``.

To add a case, write a function ``(Settings) -> Finding`` and name it in ``CASES``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bench.cases import (
    block,
    commands,
    coverage,
    defaults,
    memory,
    model,
    null,
    quantiles,
    rates,
    replay,
    reviews,
    startup,
    verify,
    watched,
)
from bench.cases.charts import page, pictures
from bench.cases.fleet import merge, overhead
from bench.cases.trace import imports, latency
from bench.cases.twins import judge
from bench.cases.web import collected, index
from bench.results import Finding
from bench.settings import Settings

CASES: Mapping[str, Callable[[Settings], Finding]] = {
    "null": null.overhead,
    "zram-unbatched": block.zram_unbatched,
    "zram-batched": block.zram_batched,
    "zram-sync": block.zram_sync,
    "file": block.direct_file,
    "zram-defaults": defaults.on_zram,
    "file-defaults": defaults.on_file,
    "rates": rates.accuracy,
    "replay": replay.instants,
    "quantiles": quantiles.exactness,
    "memory": memory.growth,
    "startup": startup.times,
    "commands": commands.times,
    "verify": verify.cost,
    "trace-latency": latency.cost,
    "watched": watched.cost,
    "web-index": index.answers,
    "fleet-merge": merge.merging,
    "fleet-overhead": overhead.overhead,
    "collection": collected.answers,
    "trace-import": imports.imports,
    "model": model.speed,
    "model-linear": model.linearity,
    "model-review": reviews.review,
    "pictures": pictures.export,
    "page": page.drawn,
    "coverage": coverage.intervals,
    "twins": judge.recovery,
}

WITHOUT_FIO = frozenset(
    {
        "collection",
        "commands",
        "coverage",
        "fleet-merge",
        "fleet-overhead",
        "page",
        "pictures",
        "trace-import",
        "trace-latency",
        "twins",
        "watched",
        "web-index",
    }
)
"""The cases that do not run fio."""
