"""The search for the most load that keeps a limit, with oracles in the place of drives."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from iogauge.stats.limits import Outcome
from iogauge.suites.rates.bracket import (
    LONGER,
    MOST_EFFORT,
    MOST_TRIALS,
    Next,
    Range,
    Trial,
    bracket_of,
    next_trial,
)

Oracle = Callable[[Next], Outcome]


def searched(loads: Range, oracle: Oracle) -> list[Trial]:
    """Return the trials of a search that asks an oracle."""
    trials: list[Trial] = []
    while (chosen := next_trial(trials, loads)) is not None:
        trials.append(Trial(chosen.at, oracle(chosen), chosen.effort))
    return trials


def searched_without_intervals(loads: Range, oracle: Oracle, *, needed: int) -> list[Trial]:
    """Return the trials of a search whose figures have no interval below an effort."""
    trials: list[Trial] = []
    while (chosen := next_trial(trials, loads)) is not None:
        too_short = chosen.effort < needed
        outcome = Outcome.NOT_SHOWN if too_short else oracle(chosen)
        trials.append(Trial(chosen.at, outcome, chosen.effort, too_short))
    return trials


def exact(knee: float) -> Oracle:
    return lambda chosen: Outcome.MET if chosen.at <= knee else Outcome.MISSED


def noisy(knee: float, noise: float, seed: int, *, steep: float = 6.0) -> Oracle:
    """Return an oracle that estimates a steep latency with an error, and judges it by its 95 % interval."""
    chance = random.Random(seed)

    def judge(chosen: Next) -> Outcome:
        error = noise / math.sqrt(chosen.effort)
        estimate = steep * math.log(chosen.at / knee) + chance.gauss(0, error)
        if estimate - 1.96 * error > 0:
            return Outcome.MISSED
        return Outcome.MET if estimate + 1.96 * error <= 0 else Outcome.NOT_SHOWN

    return judge


def rates(*, most: float = 1e6, precision: float = 0.02, grain: float = 4) -> Range:
    return Range(least=most / 4096, most=most, first=most / 2, precision=precision, grain=grain)


@given(knee=st.floats(300, 990_000), precision=st.sampled_from([0.01, 0.02, 0.1]))
def test_a_sure_oracle_is_bracketed_as_closely_as_requested(knee: float, precision: float) -> None:
    loads = rates(precision=precision)
    bracket = bracket_of(searched(loads, exact(knee)))
    assert bracket.holds is not None
    assert bracket.breaks is not None
    assert bracket.holds <= knee < bracket.breaks
    # Loads have three digits and are multiples of the grain.
    assert bracket.breaks <= bracket.holds * (1 + precision) + max(bracket.breaks / 100, loads.grain)


@given(knee=st.floats(1000, 990_000), disturbed=st.sets(st.integers(0, 12), max_size=3))
def test_disturbed_trials_do_not_move_the_limit(knee: float, disturbed: set[int]) -> None:
    """What else uses the machine makes some short trials miss the limit."""
    loads, tried = rates(), 0
    judge = exact(knee)

    def oracle(chosen: Next) -> Outcome:
        nonlocal tried
        tried += 1
        return Outcome.MISSED if tried - 1 in disturbed and chosen.effort == 1 else judge(chosen)

    bracket = bracket_of(searched(loads, oracle))
    assert bracket.holds is not None
    assert bracket.breaks is not None
    assert bracket.holds <= knee < bracket.breaks
    assert bracket.breaks <= bracket.holds * (1 + loads.precision) + max(bracket.breaks / 100, loads.grain)


@given(knee=st.floats(1000, 800_000), burst=st.floats(1.0, 1.2))
def test_what_only_short_runs_keep_does_not_move_the_limit(knee: float, burst: float) -> None:
    """A cloud disk's credits last for a short trial."""
    loads = rates()

    def oracle(chosen: Next) -> Outcome:
        return exact(knee * burst if chosen.effort == 1 else knee)(chosen)

    bracket = bracket_of(searched(loads, oracle))
    assert bracket.holds is not None
    assert bracket.breaks is not None
    assert bracket.holds <= knee < bracket.breaks


def test_where_nothing_is_shown_the_search_does_not_go_far_down() -> None:
    trials = searched(rates(), lambda _: Outcome.NOT_SHOWN)
    assert bracket_of(trials).holds is None
    assert min(trial.at for trial in trials) > 1e6 / 100


@given(knee=st.floats(1000, 990_000), needed=st.sampled_from([LONGER, LONGER**2]))
def test_loads_without_intervals_run_until_they_have_one(knee: float, needed: int) -> None:
    loads = rates()
    trials = searched_without_intervals(loads, exact(knee), needed=needed)
    bracket = bracket_of(trials)
    assert bracket.holds is not None
    assert bracket.breaks is not None
    assert bracket.holds <= knee < bracket.breaks
    assert bracket.breaks <= bracket.holds * (1 + loads.precision) + max(bracket.breaks / 100, loads.grain)
    assert max(trial.effort for trial in trials) == needed
    assert len(trials) < MOST_TRIALS
    # Two loads show how long trials must be. Later ones begin with that.
    assert sum(trial.too_short for trial in trials) <= (2 if needed == LONGER else 4)


@given(knee=st.floats(1000, 800_000), burst=st.floats(1.0, 1.2))
def test_a_burst_among_trials_without_intervals_repeats_no_run(knee: float, burst: float) -> None:
    def oracle(chosen: Next) -> Outcome:
        return exact(knee if chosen.effort > LONGER else knee * burst)(chosen)

    trials = searched_without_intervals(rates(), oracle, needed=LONGER)
    assert len({(trial.at, trial.effort) for trial in trials}) == len(trials)


@given(knee=st.integers(1, 256))
def test_whole_loads_are_found_to_the_number(knee: int) -> None:
    loads = Range(least=1, most=256, first=8, precision=0.001, grain=1)
    trials = searched(loads, exact(knee))
    bracket = bracket_of(trials)
    assert all(trial.at == round(trial.at) for trial in trials)
    if knee < 100:
        assert (bracket.holds, bracket.breaks) == (knee, knee + 1)
    elif knee == 256:
        assert (bracket.holds, bracket.breaks) == (256, None)
    else:
        assert bracket.holds is not None
        assert bracket.holds <= knee


@given(
    st.lists(st.tuples(st.sampled_from(Outcome), st.booleans()), min_size=MOST_TRIALS, max_size=MOST_TRIALS)
)
def test_any_outcomes_end_the_search_and_no_run_is_repeated(outcomes: list[tuple[Outcome, bool]]) -> None:
    trials: list[Trial] = []
    for outcome, open_interval in outcomes:
        if (chosen := next_trial(trials, rates())) is None:
            break
        too_short = open_interval and outcome is Outcome.NOT_SHOWN
        trials.append(Trial(chosen.at, outcome, chosen.effort, too_short))
    assert next_trial(trials, rates()) is None
    assert max(trial.effort for trial in trials) <= MOST_EFFORT
    assert len(trials) <= MOST_TRIALS
    assert len({(trial.at, trial.effort) for trial in trials}) == len(trials)
    bracket = bracket_of(trials)
    if bracket.holds is not None and bracket.breaks is not None:
        assert bracket.holds < bracket.breaks
        assert all(bracket.holds < trial.at < bracket.breaks for trial in bracket.undecided)


def test_a_noisy_limit_lies_within_its_bracket_and_costs_few_trials() -> None:
    within, costs, closest = 0, [], []
    for seed in range(200):
        knee = 1000 * 10 ** random.Random(seed).uniform(1.5, 2.9)
        trials = searched(rates(), noisy(knee, 0.05, seed))
        bracket = bracket_of(trials)
        assert bracket.holds is not None
        assert bracket.breaks is not None
        within += bracket.holds <= knee <= bracket.breaks
        closest.append(abs(math.sqrt(bracket.holds * bracket.breaks) / knee - 1))
        costs.append(len(trials))
    assert within >= 190
    assert sum(error < 0.03 for error in closest) >= 190
    assert sorted(costs)[100] <= 14
    assert max(costs) <= 20


def test_loads_above_a_miss_do_not_move_the_bracket() -> None:
    def dips(chosen: Next) -> Outcome:
        """Keep the limit everywhere but in a dip."""
        return Outcome.MISSED if 400_000 < chosen.at < 600_000 else Outcome.MET

    trials = [*searched(rates(), dips), Trial(900_000, Outcome.MET)]
    bracket = bracket_of(trials)
    assert bracket.holds is not None
    assert bracket.breaks is not None
    assert bracket.holds <= 400_000 < bracket.breaks < 600_000
    assert bracket.reversed_at == (900_000,)


def test_nothing_is_kept_if_even_the_least_load_misses() -> None:
    trials = searched(rates(), lambda _: Outcome.MISSED)
    assert bracket_of(trials).holds is None
    assert min(trial.at for trial in trials) <= 1e6 / 4096 + 4
    assert len(trials) < 10
