"""Steps that could not be judged are refused before they run, by the rule that also reads a run."""

from __future__ import annotations

import pytest

from iogauge.errors import IogaugeError
from iogauge.reviews.judgeable import check_judgeable
from iogauge.schema import Direction, StepPlan
from tests import builders

GROUPED = "[global]\nsize=1m\ngroup_reporting\n"


def step(sections: str, direction: Direction | None = None) -> StepPlan:
    return builders.step("one", job_file=GROUPED + sections, direction=direction)


MIXED = "[load]\nrw=randrw\n[pressure]\nrw=randwrite\n"


def test_a_direction_of_its_own_separates_a_job_in_a_shared_row() -> None:
    with pytest.raises(IogaugeError, match="job 'load' would be reported in one row with 'pressure'"):
        check_judgeable([step(MIXED)], measured_job="load", load_jobs=None)
    check_judgeable([step(MIXED, Direction.READ)], measured_job="load", load_jobs=None)


def test_load_jobs_count_with_all_their_directions() -> None:
    with pytest.raises(IogaugeError, match="job 'pressure' would be reported in one row with 'load'"):
        check_judgeable([step(MIXED, Direction.READ)], measured_job="load", load_jobs="pressure")


def test_sections_of_one_name_are_one_job() -> None:
    apart = "[load]\nrw=randread\n[load]\nnew_group\nrw=randwrite\n[other]\nnew_group\nrw=randread\n"
    check_judgeable([step(apart)], measured_job="load", load_jobs=None)
    with pytest.raises(IogaugeError, match="in one row with 'other'"):
        check_judgeable(
            [step(apart.replace("[other]\nnew_group\n", "[other]\n"))], measured_job="load", load_jobs=None
        )
    # A stage has its own rows, whatever its group.
    check_judgeable(
        [step("[load]\nrw=randread\n[other]\nstonewall\nrw=randread\n")], measured_job="load", load_jobs=None
    )


def test_a_step_without_the_job_is_refused() -> None:
    with pytest.raises(IogaugeError, match="step one has no job 'reader'"):
        check_judgeable([step(MIXED)], measured_job="reader", load_jobs=None)
