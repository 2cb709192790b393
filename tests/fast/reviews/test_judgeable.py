"""Steps that could not be judged are refused before they run, by the rule by which a run is read."""

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


def test_one_direction_of_a_job_is_told_from_the_others_in_its_row() -> None:
    with pytest.raises(IogaugeError, match="job 'load' would be reported in one row with 'pressure'"):
        check_judgeable([step(MIXED)], measured_job="load", load_jobs=None)
    check_judgeable([step(MIXED, Direction.READ)], measured_job="load", load_jobs=None)


def test_the_jobs_that_press_count_with_all_that_they_issue() -> None:
    with pytest.raises(IogaugeError, match="job 'pressure' would be reported in one row with 'load'"):
        check_judgeable([step(MIXED, Direction.READ)], measured_job="load", load_jobs="pressure")


def test_sections_of_one_name_are_one_job_in_all_their_rows() -> None:
    apart = "[load]\nrw=randread\n[load]\nnew_group\nrw=randwrite\n[other]\nnew_group\nrw=randread\n"
    check_judgeable([step(apart)], measured_job="load", load_jobs=None)
    with pytest.raises(IogaugeError, match="in one row with 'other'"):
        check_judgeable(
            [step(apart.replace("[other]\nnew_group\n", "[other]\n"))], measured_job="load", load_jobs=None
        )
    # A stage of its own has rows of its own, whatever its group.
    check_judgeable(
        [step("[load]\nrw=randread\n[other]\nstonewall\nrw=randread\n")], measured_job="load", load_jobs=None
    )


def test_a_step_without_the_job_is_refused() -> None:
    with pytest.raises(IogaugeError, match="step one has no job 'reader'"):
        check_judgeable([step(MIXED)], measured_job="reader", load_jobs=None)
