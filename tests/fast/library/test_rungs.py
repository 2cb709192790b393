"""Which rungs a machine can set is found by setting each once; a step's rung is set, or the step fails."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from iogauge.catalog.ladders import Ladder, LadderRung
from iogauge.errors import IogaugeError
from iogauge.library.tunings import rungs
from iogauge.library.tunings.rungs import LadderOptions, check, ladder_of, settable, tuned_as
from iogauge.machine.tuning import Tuning
from iogauge.machine.tuning.apply import Unavailable
from iogauge.machine.tuning.profile import Profile
from iogauge.machine.tuning.undo import Left
from iogauge.schema import Rung
from tests import builders

GOVERNOR, TURBO = ("cpu.governor", "performance"), ("cpu.turbo_intel/cpu.boost", "off")
LADDER = Ladder(
    rung=tuple(
        LadderRung(name=name, settings=settings)
        for name, settings in {
            "governor": dict([GOVERNOR]),
            "irqbalance": {"load.irqbalance": "stopped"},
            "turbo": dict([TURBO]),
            "merges": {"block.nomerges": 2},
        }.items()
    )
)


class Machine:
    """Tunes nothing, and says what a machine would say; ``wanted`` has the settings of each tuning."""

    def __init__(self, **answers: Any) -> None:
        self.wanted: list[dict[str, str]] = []
        self.answers = {"refused": {}, "lacking": {}, "already": (), "left": (), "raises": None} | answers

    @contextlib.contextmanager
    def tuned(self, profile: Profile, subject: object, *, on_message: object) -> Iterator[Tuning]:
        """Stand in for ``machine.tuning.tuned``."""
        assert subject == "subject of /dev/x"
        self.wanted.append({value.id: value.wanted for value in profile.settings})
        if self.answers["raises"]:
            raise self.answers["raises"]

        def named(whys: dict[str, str]) -> tuple[Unavailable, ...]:
            return tuple(Unavailable(id_, why) for id_, why in whys.items() if id_ in self.wanted[-1])

        tuning = Tuning(
            unavailable=named(self.answers["refused"]),
            not_applicable=named(self.answers["lacking"]),
            already=tuple(id_ for id_ in self.answers["already"] if id_ in self.wanted[-1]),
        )
        yield tuning
        tuning.left = self.answers["left"]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr(rungs, "tuned", machine.tuned)
    monkeypatch.setattr(rungs, "subject_of", "subject of {}".format)
    return machine


def tried(**options: Any) -> tuple[Ladder, dict[str, str]]:
    return settable(LADDER, LadderOptions(**options), "/dev/x", print)


def test_each_rung_is_tried_with_those_below_it(machine: Machine) -> None:
    machine.answers["lacking"] = {"cpu.boost": "the CPU is Intel's"}
    ladder, missing = tried()
    assert missing == {}
    assert machine.wanted[2] == {
        "cpu.governor": "performance",
        "load.irqbalance": "stopped",
        "cpu.turbo_intel": "off",
        "cpu.boost": "off",
    }
    # Only the one of the two that this machine has is kept.
    assert ladder.rung[2].settings == {"cpu.turbo_intel": "off"}
    assert machine.wanted[3].keys() == {
        "cpu.governor",
        "load.irqbalance",
        "cpu.turbo_intel",
        "block.nomerges",
    }


def test_one_at_a_time_each_is_tried_alone(machine: Machine) -> None:
    tried(one_at_a_time=True)
    assert [list(wanted) for wanted in machine.wanted] == [
        ["cpu.governor"],
        ["load.irqbalance"],
        ["cpu.turbo_intel", "cpu.boost"],
        ["block.nomerges"],
    ]


def test_rungs_that_are_refused_or_change_nothing_are_missing_and_not_kept(machine: Machine) -> None:
    machine.answers["refused"] = {"cpu.governor": "the hypervisor sets it", "cpu.boost": "read-only"}
    machine.answers["lacking"] = {"cpu.turbo_intel": "no Intel"}
    machine.answers["already"] = ("load.irqbalance",)
    _, missing = tried()
    assert missing == {
        "governor": "cpu.governor: the hypervisor sets it",
        "irqbalance": "it changes nothing: the machine is so already",
        "turbo": "cpu.turbo_intel: no Intel; cpu.boost: read-only",
    }
    assert machine.wanted[-1] == {"block.nomerges": "2"}


def test_a_rung_that_repeats_a_setting_of_the_rung_below_changes_nothing(machine: Machine) -> None:
    again = Ladder(rung=(LADDER.rung[0], LADDER.rung[0].model_copy(update={"name": "again"})))
    assert settable(again, LadderOptions(), "/dev/x", print)[1].keys() == {"again"}
    assert machine.wanted


def test_without_leave_to_tune_every_rung_is_missing_with_the_reason(machine: Machine) -> None:
    machine.answers["raises"] = IogaugeError("only root may change this machine's settings", hint="be root")
    _, missing = tried()
    assert set(missing.values()) == {"only root may change this machine's settings"}
    assert len(missing) == 4


@pytest.mark.parametrize("program", ["fio", "diskspd"])
def test_another_program_sets_no_rung(machine: Machine, program: str) -> None:
    request = ladder_of(LadderOptions(), builders.target(), say=None, program=program)
    assert len(request.missing) == 5
    assert all(program in why for why in request.missing.values())
    assert machine.wanted == []


def test_a_plan_tries_nothing(machine: Machine) -> None:
    assert ladder_of(LadderOptions(), builders.target(), say=None).missing == {}
    assert machine.wanted == []


@pytest.mark.parametrize(
    ("settings", "problem", "hint"),
    [
        ({"cpu.governer": "performance"}, "there is no setting 'cpu.governer'", "did you mean cpu.governor?"),
        ({"block.nomerges": "some"}, "block.nomerges cannot be 'some'", "it is"),
    ],
)
def test_settings_and_values_are_checked_before_anything_is_tried(
    machine: Machine, tmp_path: Path, settings: dict[str, str], problem: str, hint: str
) -> None:
    file = tmp_path / "rungs.toml"
    ((id_, value),) = settings.items()
    file.write_text(f'[[rung]]\nname = "x"\nsettings = {{ "{id_}" = "{value}" }}\n')
    with pytest.raises(IogaugeError) as caught:
        ladder_of(LadderOptions(rungs=str(file)), builders.target(), say=print)
    assert problem in str(caught.value)
    assert hint in str(caught.value.hint)
    assert machine.wanted == []


def test_the_published_ladder_has_settings_that_there_are() -> None:
    check(rungs.load_ladder())


def test_a_steps_rung_is_set_and_what_stays_is_said(machine: Machine) -> None:
    machine.answers["left"] = (Left("block.nomerges", "queue/nomerges", "somebody changed it"),)
    said: list[str] = []
    with tuned_as(Rung(name="merges", settings={"block.nomerges": 2}), "/dev/x", on_message=said.append):
        assert machine.wanted == [{"block.nomerges": "2"}]
        assert said == []
    assert said == ["warning: block.nomerges was not put back: somebody changed it"]


def test_a_rung_that_cannot_be_set_now_fails_its_step(machine: Machine) -> None:
    machine.answers["refused"] = {"block.nomerges": "busy"}
    with (
        pytest.raises(IogaugeError, match=r"merges cannot be set now: block\.nomerges: busy"),
        tuned_as(Rung(name="merges", settings={"block.nomerges": 2}), "/dev/x", on_message=print),
    ):
        pytest.fail("the step must not run")
