"""Jobs as DiskSpd's command lines, or refused by the option that has no counterpart."""

from __future__ import annotations

import pytest

from iogauge.errors import IogaugeError
from iogauge.schema import JobFile
from iogauge.suites import SUITES
from iogauge.suites.suite import SuiteRequest
from iogauge.workload import OPTIONS, parse
from iogauge.workload.diskspd.arguments import command_line, read
from iogauge.workload.diskspd.commands import _EXPRESSED, NOT_NEEDED, stages
from iogauge.workload.diskspd.jobs import job_file
from tests import builders

PLAIN = "[a]\nfilename=t.dat\nrw=randread\nnorandommap\nruntime=60\ntime_based\ndirect=1\n"


def jobs(text: str) -> JobFile:
    return parse(text, source="job.fio")


def as_diskspd(job_file: JobFile) -> list[str]:
    commands = (process.command for stage in stages(job_file, apart=False) for process in stage)
    return [command_line(["diskspd", *command.arguments()]) for command in commands]


def test_a_stage_is_a_command() -> None:
    two = f"{PLAIN}\n[b]\nstonewall\nfilename=u v.dat\nrw=write\nbs=64k\nioengine=libaio\niodepth=8\nnumjobs=2\n"
    assert as_diskspd(jobs(two + "runtime=5\ntime_based\nsync=dsync\nsize=1g\nramp_time=1500ms\n")) == [
        "diskspd -b4k -d60 -W0 -o1 -t1 -w0 -r -Su -L -D1000 t.dat",
        'diskspd -b64k -d5 -W2 -o8 -t2 -w100 -Sw -f1g -c1g -Zr -L -D1000 "u v.dat"',
    ]


def test_jobs_that_differ_in_their_targets_are_one_command() -> None:
    both = PLAIN + PLAIN.replace("[a]", "[b]").replace("t.dat", "/dev/sdx")
    assert as_diskspd(jobs(both))[0].endswith(" t.dat /dev/sdx")


@pytest.mark.parametrize(
    "line",
    [
        "-b4k -d5 -W2 -o4 -t2 -w30 -r -Suw -z3 -Zr -L -D1000 a.dat",
        "-b64k -d5 -W0 -o1 -t1 -w0 -s128k -L -D1000 a.dat",
        "-b4k -d5 -W0 -o8 -t1 -w100 -rs40 -r8k -rdpct90/10:10/90 -Su -Z -L -D1000 /dev/sdx",
        "-b4k -d5 -W0 -o2 -t2 -w50 -r -g100 -Zr -L -D1000 /dev/sdx",
        "-b4k -d5 -W0 -o2 -t2 -w0 -r -i8 -j5 -z -a0,1 -L -D1000 /dev/sdx /dev/sdy",
        "-b4k -d5 -W0 -o2 -t1 -w0 -r -B1m -f8m -g70i -L -D1000 /dev/sdx",
    ],
)
def test_a_command_survives_the_conversion_to_jobs(line: str) -> None:
    ((process,),) = stages(job_file(read(line.split()), source="diskspd"), apart=False)
    assert " ".join(process.command.arguments()) == line


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("rw=trim", "rw=trim"),
        ("ioengine=null", "ioengine=null"),
        ("bsrange=4k-8k", "bsrange=4k-8k"),
        ("rw=randrw\nbs=4k,8k", "block sizes"),
        ("norandommap=0", "random map"),
        ("rw=randread:8", "in sequence after each draw"),
        ("percentage_random=0", "percentage_random"),
        ("random_distribution=zipf:1.1", "random_distribution=zipf"),
        ("time_based=0", "runtime"),
        ("time_based=0\nruntime=0", "one sequential thread over a known size"),
        ("startdelay=1-2", "startdelay"),
        ("size=50%", "size, offset"),
        ("filename=u.dat", "several files"),
        ("ioengine=psync\niodepth=4", "keeps one request in flight"),
        ("ioengine=libaio\niodepth=64\niodepth_batch=32", "iodepth_batch"),
        ("ioengine=libaio\niodepth=64\niodepth_batch_complete_max=32", "iodepth_batch_complete_max"),
        ("rate=1500", "rate"),
        ("thinktime=1500", "thinktime"),
        ("cpus_allowed=0", "cpus_allowed"),
        ("fsync=1", "fsync=1"),
        ("rate_process=poisson\nrate_iops=100", "rate_process=poisson"),
        ("buffer_compress_percentage=50\nrw=randwrite", "buffer_compress_percentage=50"),
        ("ioengine=io_uring\nhipri", "hipri"),
        ("offset_increment=1m\nnumjobs=2", "offset_increment"),
        ("number_ios=5", "number_ios=5"),
        ("rw=randrw\nrate_iops=100,900", "ratio of rwmixread"),
    ],
)
def test_options_without_counterpart_are_refused_by_name(line: str, reason: str) -> None:
    with pytest.raises(IogaugeError, match=r"job\.fio: \[a\]") as caught:
        as_diskspd(jobs(f"{PLAIN}{line}\n"))
    assert reason in str(caught.value)
    assert caught.value.hint


def test_a_model_is_refused() -> None:
    with pytest.raises(IogaugeError, match="drives a model"):
        as_diskspd(jobs(PLAIN.replace("t.dat", "model:ram")))


def test_concurrent_jobs_that_differ_are_processes() -> None:
    both = PLAIN + PLAIN.replace("[a]", "[b]").replace("randread", "randwrite")
    assert [line.split(" -S")[0] for line in as_diskspd(jobs(both))] == [
        "diskspd -b4k -d60 -W1 -o1 -t1 -w0 -r",
        "diskspd -b4k -d60 -W1 -o1 -t1 -w100 -r",
    ]
    assert all(" -C1 " in line for line in as_diskspd(jobs(both)))


def test_concurrent_jobs_that_begin_at_different_times_are_refused() -> None:
    both = PLAIN + PLAIN.replace("[a]", "[b]").replace("direct=1", "startdelay=1")
    with pytest.raises(IogaugeError, match="begin or end at different times"):
        as_diskspd(jobs(both))


def test_every_reported_row_has_its_own_process() -> None:
    both = PLAIN + PLAIN.replace("[a]", "[b]").replace("t.dat", "u.dat")
    ((together,),) = stages(jobs(both), apart=False)
    (apart,) = stages(jobs(both))
    assert (together.jobs, [process.jobs for process in apart]) == ((0, 1), [(0,), (1,)])
    ((grouped,),) = stages(jobs("[global]\ngroup_reporting\n" + both))
    assert grouped.command.targets == ("t.dat", "u.dat")


@pytest.mark.parametrize(
    ("lines", "said", "note"),
    [
        ("runtime=1500ms", "-d2 ", "runs for 2 s instead of 1.5 s"),
        ("startdelay=2500ms", "-d60 ", "begins up to a second later than after 2.5 s"),
        (
            "rw=read\nnumjobs=2\noffset_increment=1m\nsize=1m",
            "-T1m -f2m",
            "lets a thread continue into the part",
        ),
        (
            "rw=write\ntime_based=0\nruntime=0\nsize=1m\nloops=2",
            "-d10 ",
            "passes of 10 s until all bytes are moved",
        ),
        ("rw=read\ntime_based=0\nruntime=0\nnumber_ios=1", "-d1 ", "reads for a second"),
        ("rate=123456", "-g123 ", "is limited to 123000 bytes a second instead of 123456"),
    ],
)
def test_differences_of_diskspd_get_a_note(lines: str, said: str, note: str) -> None:
    ((process,),) = stages(jobs(f"{PLAIN}{lines}\n"))
    assert said in " ".join(process.command.arguments())
    assert len(process.notes) == 1
    assert note in process.notes[0]


def test_expressed_and_unneeded_options_are_disjoint() -> None:
    names = {option.name for option in OPTIONS}
    assert not _EXPRESSED & NOT_NEEDED
    assert names >= _EXPRESSED | NOT_NEEDED


@pytest.mark.parametrize("name", ["queue-depth", "mixed"])
def test_steps_of_a_single_load_are_commands(name: str) -> None:
    target = builders.target("/dev/nvme0n1", kind="block")
    plan = SUITES[name].plan(SuiteRequest(targets=(target,), pace="standard"))
    assert plan.steps
    for step in plan.steps:
        (line,) = as_diskspd(jobs(step.job_file))
        assert line.endswith(" /dev/nvme0n1")
        assert " -W1 " in line, "a ramp of half a second becomes a whole one"
