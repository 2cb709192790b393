"""Tests of an index read the figures of a few reviews in their own process: a process for each takes a second."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from iogauge.index import pool, refresh


@pytest.fixture(autouse=True, scope="package")
def _figures_are_read_here() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refresh, "_FIGURES_HERE", pool.FEW)
        yield
