"""The meaning of sections: [global], inheritance, options that depend on each other, and every kind of refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.schema import Amount, ContinueOnError, EngineKind, Job, PerDirection, SyncMode
from iogauge.workload import parse, paths
from tests.fio_parser import three


def jobs(text: str) -> tuple[Job, ...]:
    return parse(text, source="t.fio", environ={}).jobs


def job(lines: str) -> Job:
    return jobs(f"[j]\n{lines}\n")[0]


def refusal(text: str) -> IogaugeError:
    with pytest.raises(IogaugeError) as caught:
        jobs(text)
    assert caught.value.hint
    return caught.value


def test_an_empty_section_has_fios_defaults() -> None:
    assert job("") == Job(name="j")


def test_global_sections_apply_to_later_jobs_and_accumulate() -> None:
    one, two = jobs("[global]\nbs=8k\ndirect=1\n[one]\n[global]\nbs=16k\n[two]\ndirect=0\n")
    assert (one.bs.read.minimum_bytes, one.direct) == (8192, True)
    assert (two.bs.read.minimum_bytes, two.direct) == (16384, False)


def test_jobs_do_not_change_what_later_jobs_inherit() -> None:
    one, two = jobs("[global]\nrate=,1m\nbs=4k\n[one]\nrate=2m,\nbs=,64k\n[two]\n")
    assert three(one.rate_Bps) == (2 << 20, 1 << 20, 1 << 20)
    assert three(two.rate_Bps) == (0, 1 << 20, 1 << 20)
    assert two.bs.write.minimum_bytes == 4096


def test_file_names_accumulate_each_in_its_directory() -> None:
    text = "[global]\ndirectory=/a\nfilename=x\n[one]\nfilename=y:z\ndirectory=/b\n[two]\n[three]\ndirectory=/c\n"
    one, two, three = jobs(text)
    assert one.filenames == ("/a/x", "/b/y", "/b/z")
    assert two.filenames == three.filenames == ("/a/x",)
    assert one.directory == three.directory == ()


def test_a_model_has_no_directory() -> None:
    (one,) = jobs("[one]\ndirectory=/a\nfilename=x:model:p4800x:y\n")
    assert one.filenames == ("/a/x", "model:p4800x", "/a/y")


def test_jobs_without_filename_have_default_files() -> None:
    named = job("directory=/mnt")
    assert paths(named, 0) == ("/mnt/j.0.0",)
    several = job("nrfiles=2\ndirectory=/a:/b\\:c")
    assert paths(several, 3) == ("/b:c/j.3.0", "/b:c/j.3.1")
    assert paths(several, 2)[0] == "/a/j.2.0"
    assert paths(job("directory=/a:/b\nfilename=x:y"), 1) == ("/a/x", "/a/y")
    assert paths(job(""), 3) == ("j.3.0",)
    assert paths(job("filename=/a:/b"), 1) == ("/a", "/b")


def test_a_job_named_like_a_block_device_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def stat(self: Path) -> object:
        if str(self) != "/dev/made-up":
            raise FileNotFoundError
        return type("Stat", (), {"st_mode": 0o060660})

    monkeypatch.setattr(Path, "stat", stat)
    assert paths(Job(name="/dev/made-up"), 1) == ("/dev/made-up",)
    assert paths(Job(name="/dev/other"), 1) == ("/dev/other.1.0",)


def test_engine_options_are_inherited_only_by_the_same_engine() -> None:
    text = "[global]\nfixedbufs\nioengine=io_uring\nhipri\n[a]\n[b]\nioengine=libaio\n[c]\nioengine=pvsync2\n"
    file = parse(text, source="t", environ={})
    assert [(one.hipri, one.fixedbufs) for one in file.jobs] == [(True, True), (False, False), (False, False)]
    assert [("hipri" in options, "fixedbufs" in options) for options in file.options] == [
        (True, True), (False, False), (False, False),
    ]  # fmt: skip


def test_options_in_effect_are_stored_as_written() -> None:
    text = "[global]\nname=label\nblocksize=8k\nrw=read\n[a]\nrw=randread ; c\ntime_based\nruntime=1m\ngtod_reduce=0\n"
    file = parse(text, source="t", environ={})
    assert file.options == (
        {"bs": "8k", "rw": "randread", "time_based": "", "runtime": "1m", "gtod_reduce": "0"},
    )
    assert file.global_options == {"name": "label", "bs": "8k", "rw": "read"}


def test_exitall_holds_for_every_job() -> None:
    assert [one.exitall for one in jobs("[a]\n[b]\nexitall\n[c]\n")] == [True, True, True]


def test_rwmix() -> None:
    assert job("rwmixread=70").rwmix_read_percent == 70
    assert job("rwmixread=70\nrwmixwrite=40").rwmix_read_percent == 60


def test_block_sizes_range_and_split_win_over_bs() -> None:
    ranged = job("bs=4k\nbsrange=8k-16k,")
    assert (ranged.bs.read.minimum_bytes, ranged.bs.read.maximum_bytes) == (8192, 16384)
    assert ranged.bs.write.minimum_bytes == ranged.bs.write.maximum_bytes == 4096
    split = jobs("[global]\nbs=16k\nbsrange=1k-2k\n[j]\nbssplit=4k/50:8k/50")[0]
    assert len(split.bs.trim.split) == 2


def test_low_and_batch_depths_are_limited_by_iodepth() -> None:
    text = "ioengine=libaio\niodepth=16\niodepth_low={}\niodepth_batch={}"
    assert (job(text.format(4, 8)).iodepth_low, job(text.format(4, 8)).iodepth_batch) == (4, 8)
    assert (job(text.format(0, 0)).iodepth_low, job(text.format(0, 0)).iodepth_batch) == (None, 16)
    assert (job(text.format(99, 99)).iodepth_low, job(text.format(99, 99)).iodepth_batch) == (None, 16)
    reaped = job("ioengine=libaio\niodepth=16\niodepth_batch_complete_min=8\niodepth_batch_complete_max=2")
    assert reaped.iodepth_batch_complete_max == 8


def test_times() -> None:
    timed = job(
        "runtime=1m\ntime_based\nramp_time=500ms\nstartdelay=1-2\nthinktime=10\nthinktime_spin=5ms\nloops=0"
    )
    assert (timed.runtime_ns, timed.ramp_time_ns, timed.startdelay_ns) == (
        60 * 10**9,
        5 * 10**8,
        (10**9, 2 * 10**9),
    )
    assert (timed.thinktime_ns, timed.thinktime_spin_ns, timed.loops) == (10_000, 10_000, 1)


def test_sizes() -> None:
    sized = job("size=10%\nio_size=1g\noffset=1m\noffset_increment=5%")
    assert (sized.size, sized.io_size) == (Amount(percent=10), Amount(size_bytes=1 << 30))
    assert (sized.offset, sized.offset_increment) == (Amount(size_bytes=1 << 20), Amount(percent=5))
    assert job("size=0\nio_size=0%\noffset=0%") == Job(name="j")


def test_distributions_and_unaligned_offsets_turn_the_random_map_off() -> None:
    assert job("rw=randread\nrandom_distribution=zipf").norandommap
    assert job("rw=randread\nba=8k").norandommap
    assert not job("rw=randread\nba=4k").norandommap
    assert not job("rw=read\nba=8k").norandommap


def test_randseed_turns_randrepeat_off() -> None:
    assert (job("").randrepeat, job("randseed=7").randrepeat, job("allrandrepeat=0").randrepeat) == (
        True,
        False,
        False,
    )


def test_buffers() -> None:
    assert job("buffer_compress_percentage=40").refill_buffers
    assert not job("buffer_compress_percentage=40\nrefill_buffers=0").refill_buffers
    assert job("dedupe_percentage=10").refill_buffers
    zeroed = job("buffer_compress_percentage=100")
    assert (zeroed.zero_buffers, zeroed.buffer_compress_percent, zeroed.refill_buffers) == (True, 0, False)


def test_aliases_and_words_have_their_meaning() -> None:
    assert job("sync=1").sync == job("sync=sync").sync == SyncMode.SYNC
    assert job("sync=0").sync == SyncMode.NONE
    assert job("continue_on_error=1").continue_on_error == ContinueOnError.ALL
    assert job("ioengine=aio").ioengine == EngineKind.LIBAIO
    assert job("buffered=0").direct
    assert job("cpumask=5").cpus_allowed == job("cpus_allowed=0,2").cpus_allowed == (0, 2)
    assert (job("write_bw_log").write_bw_log, job("write_lat_log=x").write_lat_log) == ("", "x")
    assert job("write_hist_log\nlog_hist_msec=5").write_hist_log == ""
    assert (job("log_avg_msec=500").log_avg_ns, job("log_hist_msec=1k").log_hist_ns) == (
        500 * 10**6,
        1024 * 10**6,
    )
    assert job("percentage_random=50,100").percentage_random == PerDirection[float](
        read=50, write=100, trim=100
    )
    assert job("rate_process=poisson\nrate_iops=5").rate_process == "poisson"
    assert not job("").thread
    assert job("wait_for_previous").stonewall


def test_the_published_write_pressure_job() -> None:
    writers, reader = jobs(
        "[global]\nthread\ndirect=1\ngroup_reporting\nnorandommap=1\nrandrepeat=0\nrefill_buffers\nioengine=libaio\n"
        "gtod_reduce=0\ntime_based\nruntime=60\nlog_avg_msec=500\nbs=8k\n"
        "[writers]\nrw=randwrite\nnumjobs=8\niodepth=8\nrate=,62500k\nwrite_bw_log=w\n"
        "[reader]\nrw=randread\niodepth=1\nnew_group\nwrite_lat_log=r\n"
        "percentile_list=99:99.9:99.99:99.999:99.9999:99.99999:99.999999:99.9999999\n"
    )
    assert three(writers.rate_Bps) == (0, 64_000_000, 64_000_000)
    assert writers.numjobs * writers.rate_Bps.write == 512_000_000
    assert (reader.iodepth, reader.percentile_list[-1], reader.runtime_ns) == (1, 99.9999999, 60 * 10**9)


UNSUPPORTED = {
    "serialize_overlap=1": "fio's serialize_overlap is supported only as serialize_overlap=0",
    "unlink_each_loop=1\nloops=2": "files are laid out once",
    "zonesize=64k\nnrfiles=2": "is for a single file",
    "zonesize=6k": "zones that are no multiple of bs",
    "zonesize=64k\nbsrange=4k-8k": "needs one block size",
    "zonemode=none\nzonesize=64k": "contradicts zonesize",
    "zonemode=strided": "strided needs zonesize",
    "zonesize=64k\nrw=trimwrite": "does not fit a trimwrite pattern",
    "atomic=1\nioengine=io_uring": "needs direct I/O",
    "atomic=1\ndirect=1": "is not possible with this ioengine",
    "numa_cpu_nodes=0\ncpus_allowed=0": "cannot be combined with cpus_allowed",
    "numa_mem_policy=prefer:0-1": "prefers more than one node",
    "numa_mem_policy=local:0": "has nodes, which 'local' does not take",
    "mem=mmap:/tmp/file": "names a file for the buffers",
    "hugepage-size=3m": "is not the size of a huge page",
    "iomem_align=8k": "does not divide 4096",
    "io_submit_mode=offload\niodepth=4": "makes iodepth I/Os in parallel in fio",
    "ignore_error=ENOSUCH": "is not the name of an error",
    "steadystate=iops": "has no limit",
    "flow=1001": "must be at most 1000",
    "flow=1\nverify=md5": "cannot be combined with verify",
    "flow=1\nthinktime=5": "cannot be combined with thinktime",
    "sync_file_range=write,flush:4": "'flush', which is not a flag",
    "sync_file_range=write:4,wait_after": "does not end in a whole number",
    "sync_file_range=write:": "does not end in a whole number",
    "sync_file_range=write:2k": "does not end in a whole number",
    "sync_file_range=write:0": "must be at least 1",
    "steadystate=latency:5%": "is not a criterion",
    "ss_interval=500ms\nss_dur=10": "is below a second",
    "ss_dur=10\nss_interval=3": "is no multiple",
    "pre_read=1\ndirect=1": "fills the page cache, which the job bypasses",
    "file_service_type=zipf:1": "must be above 0 and not 1",
    "file_service_type=pareto:1": "between 0 and 1",
    "file_service_type=normal:10:2": "outside of [0, 1]",
    "file_service_type=zoned:50/50": "is not an order of files",
    "filesize=1g\nsize=1m\nloops=2": "only for a job that runs once",
    "filename_format=$clientuid": "has no clients",
    "random_generator=lfsr\nrw=randread\nbsrange=4k-8k": "lfsr covers only part of the region",
    "buffer_pattern='/etc/passwd'": "takes its bytes from a file",
    "zonemode=zbd": "is for zoned devices",
    "cmdprio_bssplit=4k/10\ncmdprio_percentage=10\nioengine=libaio": "cannot be combined with cmdprio_percentage",
    "cmdprio_bssplit=4k/60:4k/50/2/0\nioengine=libaio": "has more than 100 %",
    "cmdprio_bssplit=4k/60/2\nioengine=libaio": "is no entry",
    "write_iolog=a\nread_iolog=b": "has no effect on a trace",
    "write_iolog=a\nfilename=/a b": "cannot tell the name",
    "fdp=1": "fio's fdp is not supported",
    "threads=2": "fio's threads is supported only as threads=1",
    "verify": "needs a value",
    "pool=${NOT_SET}": "fio's pool is not supported",
    "ioengine=splice": "fio's engine splice is not supported",
    "random_distribution=zoned_abs:50/1g:50/2g": "fio's 'zoned_abs' is not supported",
    "size=4z": "zoned devices are not supported",
    "output=x": "fio's command line",
}


@pytest.mark.parametrize("line", UNSUPPORTED)
def test_unsupported_options_of_fio_are_refused_by_name(line: str) -> None:
    error = refusal(f"[j]\n{line}\n")
    assert UNSUPPORTED[line] in str(error)
    assert str(error).startswith("t.fio:2: [j] ")


def test_unsupported_options_are_accepted_at_the_default_of_fio() -> None:
    lines = "gtod_reduce=0\ndisable_lat=0\nverify=0\nnrfiles=1\nfallocate=native\nunified_rw_reporting=none"
    assert job(lines) == Job(name="j")


def test_a_range_or_a_split_wins_over_block_sizes_that_come_after_it() -> None:
    for shape in ("bssplit=4k/50:8k/50", "bsrange=1k-4k"):
        assert job(f"{shape}\nbs=64k").bs == job(shape).bs
    mixed = job("bssplit=4k/50:8k/50,\nbs=4k,64k").bs
    assert (mixed.read, mixed.write.maximum_bytes) == (job("bssplit=4k/50:8k/50").bs.read, 65536)


def test_a_range_with_the_limits_of_the_split_before_it_changes_nothing() -> None:
    split = "bssplit=512/50:1m/50"
    assert job(f"{split}\nbsrange=512-1m") == job(split)


@pytest.mark.parametrize("lines", ["nrfiles=8\nfilename=a:b", "filename=a:b\nnrfiles=8"])
def test_names_of_files_take_the_place_of_their_number(lines: str) -> None:
    made = job(lines)
    assert (made.filenames, made.nrfiles) == (("a", "b"), 1)


def test_a_size_that_covers_all_files_repeats() -> None:
    assert job("nrfiles=4\nfilesize=64k\nsize=256k\nloops=2").loops == 2


def test_gtod_reduce_disables_all_latencies() -> None:
    reduced = job("gtod_reduce=1")
    left_out = {name for name, value in reduced if value is True} - {
        name for name, value in job("") if value is True
    }
    assert left_out == {"disable_lat", "disable_clat", "disable_slat", "disable_bw_measurement"}
    before = job("lat_percentiles=1\nslat_percentiles=1\ngtod_reduce=1")
    assert not any((before.lat_percentiles, before.clat_percentiles, before.slat_percentiles))
    assert job("gtod_reduce=1\nclat_percentiles=1\ndisable_lat=0").disable_lat is False


def test_gtod_reduce_0_changes_no_option() -> None:
    for lines in ("", "gtod_reduce=1", "disable_clat=1", "clat_percentiles=0", "lat_percentiles=1"):
        assert job(f"{lines}\ngtod_reduce=0") == job(lines)


def test_sync_is_read_as_psync() -> None:
    assert job("ioengine=sync") == job("ioengine=psync")


MISSPELT = {
    "iodepht=1": "iodepth", "blksize=4k": "blocksize", "rw=ranread": "randread", "ioengine=iouring": "io_uring",
    "sync=dsnyc": "dsync", "run_time=4": "runtime", "random_distribution=zpif": "zipf", "verifyy=0": "verify",
}  # fmt: skip


@pytest.mark.parametrize("line", MISSPELT)
def test_the_nearest_word_is_suggested(line: str) -> None:
    assert refusal(f"[j]\n{line}\n").hint == f"did you mean '{MISSPELT[line]}'?"


REFUSED = (
    "iodepth=0", "iodepth=-1", "iodepth=99999", "numjobs=0", "numjobs=5000", "bs=0", "bs=3g", "direct", "direct=2",
    "direct=yes", "rw", "rw=", "runtime", "bs = 4k", "bs= 4k", "=4k", "=", "x" * 5000, "exitall=0", "time_based",
    "rate=1m\nrate_iops=1", "rate=1m\nrate_min=2m", "size=1k",
    "bssplit=4k/50:8k/50\nbsrange=4k-16k", "hipri", "fixedbufs",
    "write_hist_log", "log_hist_msec=0\nwrite_hist_log",
    "ioengine=libaio\nhipri", "ioengine=io_uring\nsqthread_poll_cpu=1", "write_bw_log=", "description=", "runtime=-5",
    "thinktime_blocks=0", "randseed=-1", "randseed=0x8000000000000000", "cpus_allowed", "percentile_list", "name=other",
    "directory=", "${NOT_SET}=1", "rw=${NOT_SET}", "runtime=300000000000d", "ba=0", "kb_base=512", "fsync=4g",
)  # fmt: skip


@pytest.mark.parametrize("lines", REFUSED)
def test_refusals_name_place_section_and_option(lines: str) -> None:
    error = refusal(f"[j]\n{lines}\n")
    assert str(error).startswith(("t.fio:2: [j] ", "t.fio:3: [j] "))
    assert len(str(error)) < 400
    option = lines.splitlines()[-1][:10]
    assert option.partition("=")[0].strip()[:10] in str(error)


def test_an_error_of_global_options_names_the_section_that_they_break() -> None:
    error = refusal("[global]\nrate_min=8m\n[fine]\nrate=9m\n[broken]\nrate=1m\n")
    assert str(error) == "t.fio:2: [broken] rate_min=8m: is above rate"


def test_a_depth_that_the_engine_cannot_keep_is_no_error() -> None:
    """fio prints a note and keeps one I/O in flight; so does the plan (``execution.plans.planning``)."""
    assert job("ioengine=psync\niodepth=8").iodepth == 8


def test_a_renamed_section_needs_a_filename() -> None:
    assert job("name=other\nfilename=/x").name == "other"
    assert "names them after [j]" in str(refusal("[j]\nname=other\n"))


@pytest.mark.parametrize("text", ["", "\n; nothing\n", "[global]\nbs=4k\n"])
def test_a_file_without_jobs_is_refused(text: str) -> None:
    assert "there is no job" in str(refusal(text))


def test_the_number_of_jobs_is_bounded() -> None:
    assert "more than 4096 jobs" in str(refusal("[a]\nnumjobs=4000\n[b]\nnumjobs=97\n"))


def test_the_number_of_files_is_bounded() -> None:
    assert len(job("filename=a\n" * 1024).filenames) == 1024
    assert "more than 1024 files" in str(refusal("[j]\n" + "filename=a\n" * 1025))


def test_kb_base_comes_first_in_its_section() -> None:
    one, two = jobs("[one]\nsize=1k\nbs=1\nkb_base=1000\n[two]\nsize=1k\nbs=1\n")
    assert (one.size, two.size) == (Amount(size_bytes=1000), Amount(size_bytes=1024))
