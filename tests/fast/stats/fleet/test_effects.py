"""The mixed model beside statsmodels' MixedLM on clean data, and what slow drives do to it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from iogauge.stats.fleet.effects import MixedModel, fit

HOSTS, PER_HOST = 60, 8


def clean(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of drives with a host's effect of 3 % and an own one of 2 %, and the hosts' effects."""
    random = np.random.default_rng(seed)
    hosts = random.normal(0, 0.03, HOSTS)
    return hosts.repeat(PER_HOST) + random.normal(0, 0.02, HOSTS * PER_HOST), hosts


def fitted(scores: np.ndarray) -> MixedModel:
    names = [f"h{number // PER_HOST:02}" for number in range(len(scores))]
    nothing = [""] * len(scores)
    return fit(scores, np.zeros(len(scores)), host=names, slot=nothing, model=nothing)


def test_the_spreads_and_predictions_are_those_of_statsmodels() -> None:
    scores, _ = clean(1)
    model = fitted(scores)
    # In percent, since their optimiser takes small variances for none.
    data = pd.DataFrame({"score": 100 * scores, "host": np.arange(len(scores)) // PER_HOST})
    theirs = smf.mixedlm("score ~ 1", data, groups="host").fit(reml=True)
    assert model.hosts.spread == pytest.approx(float(np.sqrt(theirs.cov_re.iloc[0, 0])) / 100, rel=0.08)
    assert float(model.between[0]) == pytest.approx(float(np.sqrt(theirs.scale)) / 100, rel=0.05)
    predictions = np.array([effect.iloc[0] for effect in theirs.random_effects.values()]) / 100
    share = model.hosts.spread**2 / (model.hosts.spread**2 + model.hosts.error**2)
    ours = share * model.hosts.centre.value
    # Theirs are around the fitted intercept, ours around 0; ours give the outer drives of a host less weight.
    differences = ours - ours.mean() - predictions
    assert np.sqrt(np.mean(differences**2)) < 0.0025
    assert np.corrcoef(ours, predictions)[0, 1] > 0.995


@pytest.mark.parametrize("share", [0.01, 0.1])
def test_slow_drives_inflate_no_spread(share: float) -> None:
    scores, _ = clean(2)
    before = fitted(scores)
    slow = np.random.default_rng(3).choice(len(scores), round(share * len(scores)), replace=False)
    scores[slow] += np.log(1.2)
    after = fitted(scores)
    assert float(after.between[0]) == pytest.approx(float(before.between[0]), rel=0.1)
    assert after.hosts.spread == pytest.approx(before.hosts.spread, rel=0.15)


def test_a_drive_does_not_predict_itself() -> None:
    """The prediction of a drive's host is that of the host's other drives."""
    scores, _ = clean(4)
    within = np.full(len(scores), 0.02)
    healthy = np.zeros(HOSTS, dtype=bool)
    first, _ = fitted(scores).hosts.predicted(within, healthy)
    changed = scores.copy()
    changed[0] += 0.01
    second, _ = fitted(changed).hosts.predicted(within, healthy)
    assert first[0] == pytest.approx(second[0], abs=3e-4)
    assert second[1] > first[1] + 5e-4
