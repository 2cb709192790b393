"""Where the time of modelled requests goes: the parts, what a change does, and what is refused."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import iogauge
from iogauge import catalog
from iogauge.errors import IogaugeError, UnknownNameError, UsageError
from iogauge.execution import part_meanings
from iogauge.execution.interrupts import Interrupts
from iogauge.execution.modelled import explain, simulate
from iogauge.library.models.what_if import differences
from iogauge.library.running.run import job_file_of, on_target
from iogauge.stats.differences.paired import PairedDifference, paired_difference


def jobs(ios: int = 2000, *, rw: str = "randrw", depth: int = 4) -> str:
    return (
        f"[mix]\nrw={rw}\nbs=4k\nioengine=libaio\ndirect=1\niodepth={depth}\nnumjobs=2\ngroup_reporting=1\n"
        f"size=64m\nnumber_ios={ios}\n"
    )


@pytest.fixture(scope="module")
def mix() -> iogauge.ModelExplanation:
    return iogauge.explain_model("p4800x", jobs(20_000))


@pytest.mark.parametrize("drive", catalog.shipped("drive"))
def test_parts_add_up_on_every_drive_and_the_run_is_the_same(drive: str) -> None:
    model = catalog.drive(drive)
    machine = catalog.machine(model.machine or "ideal")
    target = f"model:{drive}"
    few = 200 if model.parameters["media"]["family"] == "disk" else 2000
    job_file = on_target(target, job_file_of(jobs(few), ()))
    with Interrupts() as interrupts:
        drives = {target: model.parameters}
        result, (parts,) = explain(job_file, drives, machine.parameters, seed=1, interrupts=interrupts)
        plain = simulate(job_file, drives, machine.parameters, seed=1, interrupts=interrupts)
    assert result == plain
    (row,) = result.rows
    known = {part.name for part in part_meanings()}
    for direction, of in parts.directions.items():
        exact = row.tallies[direction].exact["lat"]
        assert (of.count, of.count * of.mean_ns) == (exact.count, pytest.approx(exact.sum_ns, rel=1e-9))
        for one in (of, *of.bands):
            assert sum(one.parts_ns.values()) == pytest.approx(one.mean_ns, rel=1e-9)
            assert one.parts_ns.keys() <= known


def test_a_request_without_company_takes_the_times_of_the_model() -> None:
    (reads,) = iogauge.explain_model("p4800x", jobs(2000, rw="randread", depth=1).replace("numjobs=2\n", ""))
    media, machine = iogauge.model("p4800x"), catalog.machine("anandtech-linux").parameters
    mean = reads.mean.parts_ns
    costs = machine["queued"]
    assert mean["pipe"] == pytest.approx(media["media.read_chunk_ns"], abs=1)
    assert mean["channel"] == pytest.approx(media["media.read_media_ns"], abs=1)
    assert mean["controller"] == pytest.approx(media["media.latency_ns"], abs=1)
    assert mean["submission"] == pytest.approx(costs["call_ns"] + costs["request_ns"])
    assert mean["wake-up"] == pytest.approx(machine["wake_ns"])
    assert "queue" not in mean


def test_a_thread_behind_flash_waits_for_its_cpu_to_leave_an_idle_state() -> None:
    machine = catalog.machine("anandtech-linux").parameters
    (reads,) = iogauge.explain_model("p3700", jobs(2000, rw="randread", depth=1).replace("numjobs=2\n", ""))
    assert reads.mean.parts_ns["idle exit"] == pytest.approx(machine["idle"][0]["exit_ns"])
    assert reads.mean.parts_ns["wake-up"] == pytest.approx(machine["wake_ns"])
    assert "busy thread" not in reads.mean.parts_ns


def test_each_thread_of_a_job_has_a_name() -> None:
    text = "[mix]\nrw=randread\nbs=4k\nnumjobs=2\nnumber_ios=2000\n"
    explained = iogauge.explain_model("p4800x", text, changes={"machine.wake_ns": 0}, replications=2)
    assert [load.name for load in explained] == ["mix 1 of 2, read", "mix 2 of 2, read"]
    assert [load.name for load in explained.differences] == ["mix 1 of 2, read", "mix 2 of 2, read"]


def test_quantiles_are_in_order_and_those_without_support_are_left_out(mix: iogauge.ModelExplanation) -> None:
    for load in mix:
        assert [at.label for at in load.at] == ["mean", "p50", "p90", "p99", "p99.9"]
        assert load.unsupported == ("p99.99", "p99.999")
        assert all(one.lat_ns < other.lat_ns for one, other in pairwise(load.at[1:]))
        p99 = next(at for at in load.at if at.label == "p99")
        assert load.quantile_ns(0.985) <= p99.lat_ns <= load.quantile_ns(0.9934)


def test_loads_are_taken_by_name_and_shown_as_table_and_json(mix: iogauge.ModelExplanation) -> None:
    assert [load.name for load in mix] == ["mix, read", "mix, write"]
    with pytest.raises(UnknownNameError) as refused:
        mix["mix"]
    assert refused.value.hint is not None
    table = mix.to_arrow().to_pylist()
    reads = [row["part_ns"] for row in table if row["load"] == "mix, read" and row["at"] == "mean"]
    assert sum(reads) == pytest.approx(mix["mix, read"].mean.lat_ns)
    data = mix.to_dict()
    assert (data["version"], data["differences"]) == (1, [])
    assert data["loads"][1]["at"][0]["parts_ns"] == mix["mix, write"].mean.parts_ns
    assert {part["name"] for part in data["parts"] if part["host"]} == {
        "submission",
        "noise",
        "idle exit",
        "wake-up",
        "busy thread",
    }


def test_a_seed_gives_one_explanation(mix: iogauge.ModelExplanation) -> None:
    assert iogauge.explain_model("p4800x", jobs(20_000)).to_dict() == mix.to_dict()
    assert iogauge.explain_model("p4800x", jobs(20_000), seed=2).to_dict() != mix.to_dict()


def test_the_picture_has_a_bar_for_each_column(mix: iogauge.ModelExplanation) -> None:
    picture = mix.svg("mix, write")
    assert all(at.label in picture for at in mix["mix, write"].at)
    assert "queue" in picture
    together = mix.svg()
    assert all(f"{load.name} p50" in together for load in mix)


def test_what_if_shows_what_changes_and_says_what_does_not() -> None:
    changes = {"media.turnaround_ns": 0, "machine.wake_ns": "0"}
    explained = iogauge.explain_model("p4800x", jobs(4000, depth=1), changes=changes, replications=5)
    for load in explained.differences:
        parts = {part.figure: part for part in load.parts}
        assert parts["turnaround"].after == 0
        assert parts["turnaround"].difference.shown
        assert parts["wake-up"].difference.high < 0
        # The channels serve the same requests as before.
        assert parts["channel"].difference.value == pytest.approx(0, abs=0.5)
        mean, rate = load.figures[0], load.figures[-1]
        assert (mean.figure, rate.figure) == ("mean", "IOPS")
        assert mean.difference.high < 0 < rate.difference.low
        assert mean.difference.value == pytest.approx(sum(part.difference.value for part in load.parts))
    assert "With media.turnaround_ns=0, machine.wake_ns=0, the mean is" in explained.to_text()


def test_no_change_is_no_difference() -> None:
    value = iogauge.model("p4800x")["media.turnaround_ns"]
    explained = iogauge.explain_model(
        "p4800x", jobs(500), changes={"media.turnaround_ns": value}, replications=3
    )
    for load in explained.differences:
        assert all(figure.difference == PairedDifference(0, 0, 0, 3) for figure in load.figures)
    assert "change by less than the runs can show" in " ".join(explained.to_text().split())


def test_common_random_numbers_make_intervals_narrower() -> None:
    machine = catalog.machine("anandtech-linux")
    from iogauge.catalog.changed import changed
    from iogauge.library.models.loads import replications

    drive = catalog.drive("p4800x")
    faster = changed(drive, {"media.turnaround_ns": "100"})
    job_file = on_target("model:p4800x", job_file_of(jobs(2000, depth=1), ()))

    def ignored(_: object) -> None:
        pass

    models = [(drive, machine), (faster, machine)]
    common = replications(job_file, models, seed=1, count=8, on_progress=ignored)
    other = replications(job_file, models, seed=100, count=8, on_progress=ignored)
    reads = [[run.loads[0].mean.lat_ns for run, _ in common], [run.loads[0].mean.lat_ns for _, run in common]]
    independent = paired_difference(reads[0], [run.loads[0].mean.lat_ns for _, run in other])
    paired = differences(common)[0].figures[0].difference
    assert paired == paired_difference(*reads)
    assert paired.high - paired.low < 0.7 * (independent.high - independent.low)


@pytest.mark.parametrize(
    ("changes", "message", "hint"),
    [
        (
            {"media.turnround_ns": 0},
            "p4800x-375g has no media.turnround_ns",
            "did you mean media.turnaround_ns",
        ),
        ({"turnaround_ns": 0}, "p4800x-375g has no turnaround_ns", "did you mean media.turnaround_ns"),
        ({"machine.wake": 0}, "anandtech-linux has no machine.wake", "did you mean machine.wake_ns"),
        ({"media.turnaround_ns": "fast"}, "media.turnaround_ns=fast: not a number", "in the model"),
        ({"machine.polls": "2"}, "polls=2: not true or false", "it is false in the model"),
        (
            {"media.turnaround_ns": -1},
            "media.turnaround_ns is -1, not in [0, 1e9]",
            "the model's values",
        ),
        (
            {"media.channels": 100},
            "media.channels is 100, not in [1, 64]",
            "the model's values",
        ),
        ({"media.channels": 7.5}, "media.channels=7.5: not a whole number", "the model's values"),
        ({"machine.wake_ns": -5}, "machine.wake_ns=-5: not a whole number", "the model's values"),
        ({"media.jitter_ns": "nan"}, "media.jitter_ns=nan: not a number", "in the model"),
        ({"media.family": "nand"}, "media.family is xpoint: it cannot be changed", "another model"),
    ],
)
def test_what_cannot_be_changed_is_refused_with_a_hint(
    changes: dict[str, str | float], message: str, hint: str
) -> None:
    with pytest.raises(IogaugeError) as refused:
        iogauge.explain_model("p4800x", jobs(), changes=changes)
    assert message in str(refused.value)
    assert hint in (refused.value.hint or "")


def test_syncs_that_take_no_time_have_no_parts() -> None:
    explained = iogauge.explain_model(
        "ram@ideal", "[log]\nrw=write\nbs=4k\nfdatasync=1\nsize=1m\nnumber_ios=200\n"
    )
    assert "A sync takes no time." in explained.to_text()
    assert "log, sync" not in explained.svg()
    assert "log, write" in explained.svg()


def test_two_machines_and_other_wrong_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="names a machine, too"):
        iogauge.explain_model("p4800x@ideal", jobs(), machine="ideal")
    with pytest.raises(UsageError, match="replications"):
        iogauge.explain_model("p4800x", jobs(), replications=1)
    with pytest.raises(IogaugeError, match=r"none\.fio"):
        iogauge.explain_model("p4800x", tmp_path / "none.fio")
