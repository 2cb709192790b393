"""That sides are alike: what is claimed of series, how often falsely, and that sentences and tables agree."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from iogauge.comparison import text
from iogauge.comparison.findings import findings
from iogauge.comparison.pairwise import Side, SuiteComparison, compare_sides
from iogauge.comparison.sides import Differences
from iogauge.results.figures import IOPS, PositionFigure
from iogauge.results.position import PositionKey
from iogauge.stats.differences.comparison import Verdict

SERIES = 16


def compared(logs: NDArray[np.float64]) -> SuiteComparison:
    """Two sides whose IOPS differ by these log ratios: series by step by block."""

    def side(name: str, *, factor: NDArray[np.float64]) -> Side:
        return Side(
            name,
            "r",
            tuple(
                PositionFigure(
                    drive=name,
                    position=PositionKey(
                        suite="s", series=f"series {series}", label="", at=step, axis="depth", unit=""
                    ),
                    repeat=block,
                    judged="read",
                    metric=IOPS,
                    value=1000 * value,
                    low=None,
                    high=None,
                    count=1000,
                    source="here",
                )
                for (series, step, block), value in np.ndenumerate(factor)
            ),
        )

    (suite,) = compare_sides(
        side("A", factor=np.ones_like(logs)), side("B", factor=np.exp(logs)), titles={"s": "S"}
    )
    return suite


def called_alike(suite: SuiteComparison) -> bool:
    said = any("does not differ by more than" in sentence for sentence in findings(suite))
    shown = any(pair.comparison and pair.comparison.verdict == Verdict.ALIKE for pair in suite.figures)
    assert said == shown
    return said


@pytest.mark.slow
def test_any_false_claim_of_being_alike_is_as_rare_as_its_level() -> None:
    """Each of 16 series of one step differs by exactly the margin. 300 families know 5 % to 1.3 %."""
    random = np.random.default_rng(20)
    false = alone = 0
    for _ in range(300):
        suite = compared(math.log(1.05) + 0.03 * random.standard_normal((SERIES, 1, 9)))
        false += called_alike(suite)
        alone += any(pair.comparison and pair.comparison.p_alike <= 0.05 for pair in suite.figures)
    assert false / 300 <= 0.05 + 3 * 0.013
    # As many as without a correction.
    assert alone / 300 > 0.4


def test_a_series_is_alike_at_all_steps_or_none_of_them_is_called_so() -> None:
    logs = np.tile(0.004 * np.array([1, -1, 2, -2, 1, -1, 0.5, -0.5]), (2, 9, 1))
    # Too uncertain to be alike, and not apart.
    logs[1, 4] *= 40
    suite = compared(logs)
    alike, other = findings(suite)
    assert alike == (
        "series 0: IOPS does not differ by more than 5 % at any of 9 steps "
        "(8 blocks, p = 0.0078 after correction for 2 such claims)"
    )
    assert other == "series 1: no difference in IOPS is established at any of 9 steps"
    verdicts = {
        series: {pair.comparison and pair.comparison.verdict for pair in figures}
        for series, figures in suite.by_series().items()
    }
    assert verdicts == {"series 0": {Verdict.ALIKE}, "series 1": {Verdict.UNDECIDED}}
    (overall,) = [pair for pair in suite.overall if pair.position.series == "series 0"]
    assert overall.comparison
    assert overall.comparison.verdict == Verdict.ALIKE
    rows = text.text(Differences((suite,)), every=True).splitlines()
    assert sum(row.endswith("  alike") for row in rows) == 10
    (data,) = text.as_json(Differences((suite,)))
    assert (data["family"], data["alike_family"]) == (20, 2)
