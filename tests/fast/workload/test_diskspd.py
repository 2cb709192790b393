"""DiskSpd's command lines: their meaning to DiskSpd's parser, the jobs they become, and refused ones."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.errors import IogaugeError
from iogauge.schema import Amount, EngineKind, Job, Rw, SyncMode, Zone, ZonedDistribution
from iogauge.workload.diskspd.arguments import Command, read
from iogauge.workload.diskspd.jobs import SECOND_NS, job_file, jobs_of, notes_of


def command(line: str) -> Command:
    return read(shlex.split(line))


def jobs(line: str) -> tuple[Job, ...]:
    return job_file(command(line), source="diskspd").jobs


def job(line: str) -> Job:
    (job,) = jobs(line)
    return job


def test_defaults_are_diskspds() -> None:
    parsed = job("t.dat")
    assert (parsed.bs.read.minimum_bytes, parsed.iodepth, parsed.numjobs, parsed.rw) == (65536, 2, 1, Rw.READ)
    assert (parsed.runtime_ns, parsed.ramp_time_ns, parsed.time_based) == (
        10 * SECOND_NS,
        5 * SECOND_NS,
        True,
    )
    assert (parsed.direct, parsed.sync, parsed.randrepeat) == (False, SyncMode.NONE, True)
    assert parsed.size is None


def test_the_published_specification_run() -> None:
    """The run of Intel's evaluation guide for the P4800X, on another target."""
    parsed = job("diskspd.exe -d600 -b4k -w30 -r -o4 -t8 -h -L t.dat")
    assert (parsed.rw, parsed.rwmix_read_percent) == (Rw.RANDRW, 70)
    assert (parsed.iodepth, parsed.numjobs, parsed.ioengine) == (4, 8, EngineKind.LIBAIO)
    assert (parsed.direct, parsed.sync) == (True, SyncMode.DSYNC)
    assert (parsed.norandommap, parsed.group_reporting) == (True, False)
    assert (parsed.iodepth_batch, parsed.iodepth_batch_complete_max) == (1, 4)
    assert parsed.runtime_ns == 600 * SECOND_NS


@pytest.mark.parametrize(
    ("options", "direct", "sync"),
    [
        ("-w100", False, "none"),
        ("-w100 -Sb", False, "none"),
        ("-w100 -S", True, "none"),
        ("-w100 -Su", True, "none"),
        ("-w100 -Sw", False, "dsync"),
        ("-w100 -Sbw", False, "dsync"),
        ("-w100 -Suw", True, "dsync"),
        ("-w100 -Sw -Su", True, "dsync"),
        ("-w100 -Sh", True, "dsync"),
        ("-w100 -h", True, "dsync"),
        ("-w0 -h", True, "none"),
    ],
)
def test_caching(options: str, direct: bool, sync: str) -> None:
    parsed = job(f"{options} t.dat")
    assert (parsed.direct, parsed.sync.value) == (direct, sync)


@pytest.mark.parametrize(
    ("options", "engine"),
    [
        ("-o1", "psync"),
        ("-o2 -Sh", "libaio"),
        ("-o2", "io_uring"),
        ("-F2 -O1", "psync"),
        ("-F2 -O9 -h", "libaio"),
    ],
)
def test_the_depth_and_the_cache_choose_the_engine(options: str, engine: str) -> None:
    assert job(f"{options} t.dat").ioengine.value == engine


@pytest.mark.parametrize(
    ("options", "field", "value"),
    [
        ("-b4096", "block_bytes", 4096),
        ("-b1m", "block_bytes", 1 << 20),
        ("-f8b -b4K", "end_bytes", 32768),
        ("-b4k -T2b -t2", "thread_stride_bytes", 8192),
        ("-c2G", "create_bytes", 2 << 30),
        ("-f1T", "end_bytes", 1 << 40),
        ("-B1m:3m", "end_bytes", 4 << 20),
        ("-B1m -f3m", "base_bytes", 1 << 20),
        ("-rs40", "random_percent", 40),
        ("-rs40 -r8k", "align_bytes", 8192),
        ("-r8k -rs40", "random_percent", 40),
        ("-r", "random_percent", 100),
        ("-si", "interlocked", True),
        ("-s128k", "align_bytes", 131072),
        ("-g500", "rate_Bpms", 500),
        ("-g500i", "rate_iops", 500),
        ("-z", "seed", None),
        ("-z7", "seed", 7),
        ("-Z", "content", "zero"),
        ("-Zr", "content", "random"),
        ("-Z1m", "buffer_bytes", 1 << 20),
        ("-a0,3", "cpus", (0, 3)),
        ("-ag0,1 -a2", "cpus", (1, 2)),
        ("-ag", "cpus", ()),
        ("-D", "interval_ms", 1000),
        ("-D250", "interval_ms", 250),
        ("-o3 -o5", "outstanding", 5),
    ],
)
def test_an_option_sets_its_field(options: str, field: str, value: object) -> None:
    assert getattr(command(f"{options} t.dat"), field) == value


def test_random_offsets() -> None:
    parsed = job("-b4k -r512 -rs30 -rdpct90/10:0/10:5/20 t.dat")
    assert (parsed.rw, parsed.ba.read, parsed.percentage_random.read, parsed.norandommap) == (
        Rw.RANDREAD,
        512,
        30,
        True,
    )
    zones = [Zone(access_percent=a, size_percent=s) for a, s in ((90, 10), (0, 10), (5, 20), (5, 60))]
    assert parsed.random_distribution.read == ZonedDistribution(zones=tuple(zones))


def test_the_rest_of_a_distribution_can_have_no_requests() -> None:
    zones = job("-r -rdpct100/25 t.dat").random_distribution.read
    assert isinstance(zones, ZonedDistribution)
    assert zones.zones[-1] == Zone(access_percent=0, size_percent=75)


def test_sequences_of_threads() -> None:
    assert job("-b4k -s16k t.dat").rw_sequence == 12288
    assert job("-t4 t.dat").numjobs == 4
    first, second = jobs("-t2 -T1m -f8m t.dat")
    assert (first.offset, first.size) == (Amount(), Amount(size_bytes=8 << 20))
    assert (second.offset, second.size) == (Amount(size_bytes=1 << 20), Amount(size_bytes=7 << 20))
    assert job("-si -t1 t.dat").rw is Rw.READ


def test_regions() -> None:
    parsed = job("-B1m -f3m -c8m t.dat")
    assert (parsed.offset, parsed.size) == (Amount(size_bytes=1 << 20), Amount(size_bytes=2 << 20))


def test_limits_and_pauses() -> None:
    parsed = job("-g100 -w30 -r t.dat")
    assert (parsed.rate_Bps.read, parsed.rate_Bps.write) == (70_000, 30_000)
    assert job("-g200i t.dat").rate_iops.read == 200
    assert job("-g200i -w100 t.dat").rate_iops.write == 200
    paused = job("-i8 -j5 -t2 t.dat")
    assert (paused.thinktime_ns, paused.thinktime_blocks) == (5_000_000, 4), "threads share a burst"


def test_targets_and_threads() -> None:
    sections = jobs("-t3 -o4 a b")
    assert [(job.name, job.filenames, job.numjobs) for job in sections] == [
        ("diskspd-1", ("a",), 3),
        ("diskspd-2", ("b",), 3),
    ]
    (pool,) = jobs("-F3 -O8 -f1m a b")
    assert (pool.filenames, pool.numjobs, pool.iodepth) == (("a", "b"), 3, 8)
    assert pool.size == Amount(size_bytes=2 << 20), "a size is of all files together"
    assert job("-o4 -F3 a").iodepth == 4


def test_contents_and_seeds() -> None:
    assert job("-w100 -Z t.dat").zero_buffers
    assert job("-w100 -Zr t.dat").refill_buffers
    assert not job("-w0 -Zr t.dat").refill_buffers
    assert (job("-z5 t.dat").randseed, job("-z t.dat").randrepeat) == (5, False)


def test_cpus() -> None:
    parsed = job("-a2,0 -t2 t.dat")
    assert (parsed.cpus_allowed, parsed.cpus_allowed_policy) == ((0, 2), "split")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("-P", "(-P)"),
        ("-P1000", "(-P)"),
        ("-C5", "(-C)"),
        ("-x", "-x has no effect"),
        ("-v", "-v"),
        ("-fr", "(-fr, -fs, -ft)"),
        ("-n", "-n"),
        ("-w10", "bytes 0 to 255"),
        ("-t2 -T1m", "(-T)"),
        ("-w10 -rs10 -Z", "(-rs)"),
    ],
)
def test_options_without_effect_get_a_note(options: str, said: str) -> None:
    (note,) = notes_of(command(f"{options} t.dat"))
    assert said in note


@pytest.mark.parametrize("options", ["", "-L", "-D500", "-w10 -Z", "-w10 -Zr", "-Rtext"])
def test_options_with_the_same_effect_get_no_note(options: str) -> None:
    assert notes_of(command(f"{options} t.dat")) == ()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("-b4k", "names no target"),
        ("-w t.dat", "-w: needs a whole number from 0 to 100"),
        ("-w101 t.dat", "'101' is not a whole number"),
        ("-d60s t.dat", "'60s' is not a whole number"),
        ("-b t.dat", "-b: needs a size"),
        ("-b0 t.dat", "must be from 1"),
        ("-b4q t.dat", "needs a size"),
        ("-q t.dat", "is not an option of DiskSpd"),
        ("- t.dat", "is not an option of DiskSpd"),
        ("-L5 t.dat", "takes no value"),
        ("t.dat -b4k", "is an option after a target"),
        ("#1", "is a Windows name of a drive"),
        ("D:", "is a Windows name of a drive"),
        (r"'C:\t.dat'", "is a Windows path"),
        ("'*1'", "is a placeholder of an XML profile"),
        ("a a", "names a target twice"),
        ("-t2 -F2 t.dat", "cannot be used together"),
        ("-O4 t.dat", "-O needs -F"),
        ("-F2 -o2 a b", "in flight on every target"),
        ("-F2 -O2 -g100 t.dat", "cannot be used with -O"),
        ("-n -a0 t.dat", "cannot be used together"),
        ("-i4 t.dat", "-i and -j need each other"),
        ("-i2 -j1 -t4 t.dat", "leaves some without a request"),
        ("-r -s t.dat", "-s conflicts with -r"),
        ("-r -T1m -t2 t.dat", "-T conflicts with -r"),
        ("-T1m t.dat", "no effect with one thread"),
        ("-si -t2 t.dat", "share one sequence"),
        ("-s1k t.dat", "overlap"),
        ("-rdabs10/1G t.dat", "not a supported distribution"),
        ("-rdpct90/10 t.dat", "-rd needs random requests"),
        ("-r -rdpct90/100 t.dat", "cannot add up"),
        ("-r -rdpct90 t.dat", "needs zones"),
        ("-Sm t.dat", "mapped memory"),
        ("-Sr t.dat", "remote file systems"),
        ("-Sd t.dat", "not a mode of caching"),
        ("-Shw t.dat", "contradicts"),
        ("-h -Sh t.dat", "contradicts"),
        ("-Z4k,file t.dat", "from a file"),
        ("-Z4k t.dat", "smaller than a block"),
        ("-B2m -f1m t.dat", "-B begins at or after the end"),
        ("-B1m:1m -f1m t.dat", "a second time"),
        ("-ag1,0 t.dat", "processor group"),
        ("-a0,0 t.dat", "names a CPU twice"),
        ("-Rxml t.dat", "is not a supported output format"),
        ("-Xprofile.xml t.dat", "reads a profile"),
        ("-eDISK_IO t.dat", "traces by ETW"),
        ("-ysgo t.dat", "waits for events"),
        ("-p t.dat", "at the same offset"),
        ("-l t.dat", "large pages"),
        ("-I1 t.dat", "priority"),
    ],
)
def test_unsupported_commands_are_refused_with_a_hint(line: str, reason: str) -> None:
    with pytest.raises(IogaugeError, match="diskspd") as caught:
        command(line)
    assert reason in str(caught.value)
    assert caught.value.hint


def test_values_out_of_range_for_a_job_are_refused_by_its_option() -> None:
    with pytest.raises(IogaugeError, match="iodepth"):
        job("-o99999 t.dat")


def test_a_command_that_ran_on_windows_can_be_read() -> None:
    parsed = read(["-b4k", "-Rxml", "#1", "D:", r"C:\a.dat"], windows=True)
    assert parsed.targets == (r"\\.\PhysicalDrive1", "D:", r"C:\a.dat")
    assert jobs_of(parsed)[0].filenames == (r"\\.\PhysicalDrive1",)


SIZES = st.integers(1, 64).map(lambda blocks: blocks * 4096)


@st.composite
def commands(draw: st.DrawFn) -> Command:
    random = draw(st.sampled_from([0, 30, 100]))
    threads = draw(st.integers(1, 8))
    pace = draw(st.sampled_from([{}, {"rate_Bpms": 100}, {"rate_iops": 50}, {"burst": 8, "think_ms": 3}]))
    content = draw(st.sampled_from(["pattern", "zero", "random", "buffer"]))
    base = draw(st.sampled_from([0, 4096]))
    return Command(
        targets=tuple(
            draw(st.lists(st.sampled_from(["a.dat", "/dev/sdx", "model:ram"]), min_size=1, unique=True))
        ),
        block_bytes=4096,
        duration_s=draw(st.integers(1, 100)),
        warmup_s=draw(st.integers(0, 9)),
        threads=threads,
        outstanding=draw(st.integers(1, 64)),
        write_percent=draw(st.sampled_from([0, 30, 100])),
        random_percent=random,
        align_bytes=draw(st.sampled_from([0, 8192])),
        thread_stride_bytes=draw(SIZES) if threads > 1 and not random else 0,
        zones=draw(st.sampled_from([(), ((90, 10), (5, 20))])) if random else (),
        unbuffered=draw(st.booleans()),
        write_through=draw(st.booleans()),
        base_bytes=base,
        end_bytes=draw(st.sampled_from([0, 1 << 50, 1 << 30])),
        create_bytes=draw(st.sampled_from([0, 1 << 30])),
        seed=draw(st.sampled_from([0, 3, None])),
        content=content,
        buffer_bytes=8192 if content == "buffer" else 0,
        cpus=draw(st.sampled_from([(), (0,), (3, 1)])),
        latency=draw(st.booleans()),
        interval_ms=draw(st.sampled_from([0, 500])),
        **pace,
    )


@given(commands())
def test_a_written_command_reads_back(parsed: Command) -> None:
    assert read(parsed.arguments()) == parsed
    assert job_file(parsed, source="diskspd").jobs


@given(st.lists(st.text(alphabet="-bdrstwoFOSZgaD0123456789k,/:ui.\\ \0é", max_size=8), max_size=5))
def test_any_words_are_read_or_refused(words: list[str]) -> None:
    try:
        job_file(read(words), source="diskspd")
    except IogaugeError as error:
        assert error.hint  # noqa: PT017 (either outcome is right)
