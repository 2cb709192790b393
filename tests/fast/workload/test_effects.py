"""No option is accepted without effect: each changes the plan of a run, its results, its table or its logs."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from iogauge.execution.plans.planning import Opened, make_plan
from iogauge.execution.replaying import open_rows, with_traces
from iogauge.report.run import fio_logs, jsonplus, request_logs, table
from iogauge.report.run.interval_stats import IntervalStats
from iogauge.schema import Direction, JobFile, Kind, RunPlan
from iogauge.store.outputs import Claims
from iogauge.workload import OPTIONS, parse
from iogauge.workload.regions import needs
from tests import builders
from tests.fast.report.run.test_request_logs import Pieces

NULL = "ioengine=null size=1m"
RING = "ioengine=io_uring filename=/drive"
MIXED = f"{NULL} rw=randrw"
VERIFIED = f"{NULL} rw=write verify=crc32c"
QUEUE = f"{NULL} iodepth=16"

PLAN: dict[str, tuple[str, str]] = {
    "name": (f"{NULL} filename=/x", "name=other"),
    "kb_base": ("ioengine=null size=1m", "kb_base=1000"),
    "numjobs": (NULL, "numjobs=2"),
    "exitall": (NULL, "exitall"),
    "continue_on_error": (NULL, "continue_on_error=io"),
    "ignore_error": (NULL, "ignore_error=EIO:ENOSPC,EBUSY"),
    "exitall_on_error": (NULL, "exitall_on_error"),
    "exit_what": (NULL, "exit_what=all"),
    "wait_for": (NULL, "wait_for=first"),
    "create_only": (NULL, "create_only=1"),
    "zonesize": (NULL, "zonesize=64k"),
    "zonemode": (NULL, "zonemode=strided zonesize=64k"),
    "zonerange": (f"{NULL} zonesize=64k", "zonerange=128k"),
    "zoneskip": (f"{NULL} zonesize=64k", "zoneskip=64k"),
    "steadystate": (f"{NULL} ss_dur=10", "steadystate=bw:5%"),
    "steadystate_duration": (NULL, "steadystate_duration=10"),
    "steadystate_ramp_time": (f"{NULL} ss_dur=10", "steadystate_ramp_time=5"),
    "steadystate_check_interval": (f"{NULL} ss_dur=10", "steadystate_check_interval=2"),
    "latency_target": (f"{NULL} latency_window=1s", "latency_target=50"),
    "latency_window": (f"{NULL} latency_target=50 latency_window=2s", "latency_window=1s"),
    "latency_percentile": (f"{NULL} latency_target=50 latency_window=1s", "latency_percentile=99.9"),
    "latency_run": (f"{NULL} latency_target=50 latency_window=1s", "latency_run=1"),
    "uncached": (RING, "uncached=1"),
    "nowait": (RING, "nowait=1"),
    "atomic": (f"{RING} direct=1", "atomic=1"),
    "mem": (NULL, "mem=mmaphuge"),
    "hugepage-size": (f"{NULL} mem=shmhuge", "hugepage-size=1g"),
    "lockmem": (NULL, "lockmem=1m"),
    "numa_cpu_nodes": (NULL, "numa_cpu_nodes=0"),
    "numa_mem_policy": (NULL, "numa_mem_policy=bind:0"),
    "filename": (NULL, "filename=/b"),
    "directory": (NULL, "directory=/mnt"),
    "nrfiles": (NULL, "nrfiles=2"),
    "filename_format": (NULL, "filename_format=x.$filenum"),
    "filesize": (NULL, "filesize=2m"),
    "file_service_type": (f"{NULL} nrfiles=2 file_service_type=random", "file_service_type=zipf:1.2"),
    "rw": (NULL, "rw=randwrite"),
    "bs": (NULL, "bs=8k"),
    "bsrange": (NULL, "bsrange=4k-8k"),
    "bssplit": (NULL, "bssplit=4k/50:8k/50"),
    "ba": (NULL, "ba=8k"),
    "rwmixread": (MIXED, "rwmixread=70"),
    "rwmixwrite": (MIXED, "rwmixwrite=70"),
    "percentage_random": (MIXED, "percentage_random=50"),
    "random_distribution": (MIXED, "random_distribution=zipf:1.2"),
    "norandommap": (MIXED, "norandommap"),
    "random_generator": (f"{NULL} rw=randread norandommap", "random_generator=lfsr"),
    "randrepeat": (NULL, "randrepeat=0"),
    "randseed": (NULL, "randseed=5"),
    "size": ("ioengine=null", "size=2m"),
    "io_size": (NULL, "io_size=2m"),
    "offset": (NULL, "offset=4k"),
    "offset_increment": (f"{NULL} numjobs=2", "offset_increment=4k"),
    "number_ios": (NULL, "number_ios=5"),
    "loops": (NULL, "loops=2"),
    "runtime": (NULL, "runtime=5"),
    "time_based": (f"{NULL} runtime=5", "time_based"),
    "ramp_time": (NULL, "ramp_time=1"),
    "startdelay": (NULL, "startdelay=1"),
    "ioengine": ("size=1m filename=/drive", "ioengine=libaio"),
    "iodepth": (NULL, "iodepth=2"),
    "iodepth_batch": (QUEUE, "iodepth_batch=2"),
    "iodepth_batch_complete_min": (QUEUE, "iodepth_batch_complete_min=2"),
    "iodepth_batch_complete_max": (QUEUE, "iodepth_batch_complete_max=2"),
    "iodepth_low": (QUEUE, "iodepth_low=2"),
    "openfiles": (f"{NULL} nrfiles=3", "openfiles=2"),
    "fadvise_hint": (RING, "fadvise_hint=0"),
    "cmdprio_percentage": (RING, "cmdprio_percentage=10"),
    "cmdprio_class": (f"{RING} cmdprio_percentage=10", "cmdprio_class=2"),
    "cmdprio": (f"{RING} cmdprio_percentage=10", "cmdprio=2"),
    "cmdprio_bssplit": (RING, "cmdprio_bssplit=4k/10"),
    "hipri": (RING, "hipri"),
    "fixedbufs": (RING, "fixedbufs"),
    "registerfiles": (RING, "registerfiles"),
    "sqthread_poll": (RING, "sqthread_poll"),
    "sqthread_poll_cpu": (f"{RING} sqthread_poll", "sqthread_poll_cpu=1"),
    "rate": (NULL, "rate=1m"),
    "rate_iops": (NULL, "rate_iops=5"),
    "rate_min": (NULL, "rate_min=1m"),
    "rate_iops_min": (NULL, "rate_iops_min=100"),
    "max_latency": (NULL, "max_latency=5ms"),
    "rate_process": (f"{NULL} rate_iops=5", "rate_process=poisson"),
    "thinktime": (NULL, "thinktime=5"),
    "flow": (NULL, "flow=3"),
    "flow_id": (f"{NULL} flow=3", "flow_id=2"),
    "flow_sleep": (f"{NULL} flow=3", "flow_sleep=100"),
    "thinktime_spin": (f"{NULL} thinktime=5", "thinktime_spin=2"),
    "thinktime_blocks": (f"{NULL} thinktime=5", "thinktime_blocks=2"),
    "thinktime_blocks_type": (f"{NULL} thinktime=5", "thinktime_blocks_type=issue"),
    "thinktime_iotime": (f"{NULL} thinktime=5", "thinktime_iotime=2"),
    "refill_buffers": (NULL, "refill_buffers"),
    "buffer_pattern": (NULL, "buffer_pattern=66"),
    "zero_buffers": (NULL, "zero_buffers"),
    "scramble_buffers": (NULL, "scramble_buffers=0"),
    "buffer_compress_percentage": (NULL, "buffer_compress_percentage=10"),
    "dedupe_percentage": (NULL, "dedupe_percentage=10"),
    "verify": (f"{NULL} rw=write", "verify=md5"),
    "do_verify": (VERIFIED, "do_verify=0"),
    "verify_only": (VERIFIED, "verify_only"),
    "verify_interval": (VERIFIED, "verify_interval=1k"),
    "verify_offset": (VERIFIED, "verify_offset=100"),
    "verify_pattern": (VERIFIED, "verify_pattern=0xab"),
    "verify_pattern_interval": (f"{VERIFIED} verify_pattern=%o", "verify_pattern_interval=512"),
    "verify_async": (f"{RING} iodepth=4 rw=read verify=crc32c", "verify_async=2"),
    "verify_async_cpus": (f"{RING} iodepth=4 rw=read verify=crc32c verify_async=1", "verify_async_cpus=0"),
    "verify_backlog": (VERIFIED, "verify_backlog=8"),
    "verify_backlog_batch": (f"{VERIFIED} verify_backlog=8", "verify_backlog_batch=2"),
    "verify_state_save": (VERIFIED, "verify_state_save=1"),
    "trim_percentage": (f"{VERIFIED} trim_backlog=8", "trim_percentage=5"),
    "trim_verify_zero": (f"{VERIFIED} trim_percentage=5 trim_backlog=8", "trim_verify_zero=0"),
    "trim_backlog": (f"{VERIFIED} trim_percentage=5 trim_backlog=8", "trim_backlog=9"),
    "trim_backlog_batch": (f"{VERIFIED} trim_percentage=5 trim_backlog=8", "trim_backlog_batch=2"),
    "verify_write_sequence": (VERIFIED, "verify_write_sequence=0"),
    "verify_fatal": (VERIFIED, "verify_fatal=1"),
    "verify_dump": (VERIFIED, "verify_dump=1"),
    "cpus_allowed": (NULL, "cpus_allowed=0"),
    "cpumask": (NULL, "cpumask=1"),
    "cpus_allowed_policy": (f"{NULL} cpus_allowed=0,1", "cpus_allowed_policy=split"),
    "nice": (NULL, "nice=5"),
    "prio": (NULL, "prio=3"),
    "prioclass": (NULL, "prioclass=3"),
    "direct": (RING, "direct=1"),
    "buffered": (f"{RING} direct=1", "buffered=1"),
    "invalidate": (RING, "invalidate=0"),
    "pre_read": (RING, "pre_read=1"),
    "sync": (NULL, "sync=dsync"),
    "fsync": (NULL, "fsync=1"),
    "fdatasync": (NULL, "fdatasync=1"),
    "sync_file_range": (NULL, "sync_file_range=write:8"),
    "end_fsync": (NULL, "end_fsync=1"),
    "fsync_on_close": (NULL, "fsync_on_close=1"),
    "stonewall": (NULL, "stonewall"),
    "group_reporting": (f"{NULL} numjobs=2", "group_reporting"),
    "new_group": (f"{NULL} group_reporting", "new_group"),
}  # fmt: skip
"""Options that change the plan: the lines of both jobs, and the line that is added to the second."""

JSON: dict[str, tuple[str, str]] = {
    "description": (NULL, "description=text"),
    "percentile_list": (NULL, "percentile_list=50"),
    "clat_percentiles": (NULL, "clat_percentiles=0"),
    "slat_percentiles": (NULL, "slat_percentiles=1"),
    "lat_percentiles": (NULL, "lat_percentiles=1"),
    "gtod_reduce": (NULL, "gtod_reduce=1"),
    "disable_lat": (NULL, "disable_lat=1"),
    "disable_clat": (NULL, "disable_clat=1"),
    "disable_slat": (NULL, "disable_slat=1"),
    "unified_rw_reporting": (MIXED, "unified_rw_reporting=1"),
}
"""Options that change the results as JSON."""

TABLE = {
    name: JSON[name]
    for name in (
        "percentile_list", "clat_percentiles", "slat_percentiles", "gtod_reduce", "disable_lat", "disable_clat",
        "unified_rw_reporting",
    )
}  # fmt: skip
"""Options that change the table. It always has the percentiles of lat."""

LOGS: dict[str, tuple[str, str]] = {
    "write_bw_log": (NULL, "write_bw_log"),
    "write_lat_log": (NULL, "write_lat_log"),
    "write_iops_log": (NULL, "write_iops_log"),
    "write_hist_log": (f"{NULL} log_hist_msec=100", "write_hist_log"),
    "per_job_logs": (f"{NULL} write_bw_log", "per_job_logs=0"),
    "disable_bw_measurement": (f"{NULL} write_bw_log=x", "disable_bw_measurement=1"),
    "log_avg_msec": (f"{NULL} write_bw_log", "log_avg_msec=100"),
    "log_hist_coarseness": (f"{NULL} write_hist_log log_hist_msec=100", "log_hist_coarseness=2"),
    "write_iolog": (NULL, "write_iolog=requests.log"),
    "log_max_value": (f"{NULL} write_lat_log log_avg_msec=100", "log_max_value=both"),
    "log_offset": (f"{NULL} write_lat_log", "log_offset=1"),
    "log_prio": (f"{NULL} write_lat_log", "log_prio=1"),
    "log_hist_msec": (f"{NULL} write_hist_log log_hist_msec=100", "log_hist_msec=200"),
}
"""Options that change the logs or their lines."""

REPLAY = {
    "read_iolog": "read_iolog=other.log",
    "replay_no_stall": "replay_no_stall=1",
    "replay_redirect": "replay_redirect=model:p4800x-375g",
    "replay_scale": "replay_scale=2",
    "replay_align": "replay_align=8k",
    "replay_time_scale": "replay_time_scale=200",
    "replay_skip": "replay_skip=write",
    "replay_pacing": "replay_pacing=closed",
    "replay_addresses": "replay_addresses=fit",
}
"""Options that change what is replayed: the line that is added to a job with a trace."""

NONE = {
    "thread": "Accepted: workers are always threads.",
    "io_submit_mode": "In fio, offload keeps a rate although I/Os wait. iogauge's rates are always kept, so both are "
    "the same; offload is refused for a synchronous engine with a depth, whose I/Os fio then makes in parallel.",
    "iomem_align": "Accepted if it divides 4096: all buffers are aligned to that.",
    "log_entries": "Accepted: no request waits for memory of a log.",
    "log_compression": "Accepted: requests are logged in few bytes anyway.",
    "log_compression_cpus": "Accepted: no thread compresses logs.",
    "clocksource": "Accepted: the fastest clock that passes its check is used.",
    "gtod_cpu": "Accepted: each worker reads the clock itself.",
    "significant_figures": "Accepted: a figure has as many digits as its interval supports.",
    "read_iolog_chunked": "Accepted: a trace is always read in pieces.",
    "experimental_verify": "Accepted: writes are always remembered, 8 to 12 bytes a block, so that ones that overlap "
    "are verified, too.",
    "verifysort": "Accepted: what was written is always read back as fio orders it.",
    "verifysort_nr": "Accepted, as verifysort.",
}
"""Options without effect, and their help text."""

AROUND = {"unlink", "unlink_each_loop", "exec_prerun", "exec_postrun", "stamp_log", "verify_state_load"}
"""Options whose effect is beside a run: ``tests/fast/cli/run/test_around_a_run.py``, of stamps
``tests/fast/verifying/test_stamped_runs.py``."""


def jobs(common: str, line: str = "") -> JobFile:
    """Return two jobs, the second with one more line."""
    lines = "\n".join(common.split())
    return parse(f"[first]\n{lines}\n[second]\n{lines}\n" + "\n".join(line.split()), source="t", environ={})


def planned(job_file: JobFile) -> RunPlan:
    drive = Opened(fd=3, size_bytes=1 << 30, writable=True, is_block_device=False)
    return make_plan(
        job_file,
        {need.path: drive for need in needs(job_file)},
        seed=1,
        interval_ns=10**9,
        give_up_ns=10**9,
        request_log=False,
        cpus=(0, 1, 2, 3),
    )


def reported(job_file: JobFile) -> tuple[Any, str]:
    """Return the results as JSON and as a table."""
    reads = builders.tally({50_000: 20_000})
    slat = {Kind.SLAT: builders.histogram({700: 20_000})}
    reads = reads.model_copy(update={"histograms": reads.histograms | slat})
    rows = [builders.row(job.name, {Direction.READ: reads}, index=i) for i, job in enumerate(job_file.jobs)]
    record = builders.record(rows, jobs=job_file, plan=planned(job_file))
    stats = IntervalStats(interval_ns=10**9)
    jobs = jsonplus.document(record, stats, plus=True)["jobs"]
    for job in jobs:
        del job["job options"]
    return jobs, table.render(record, stats)


def logged(job_file: JobFile, directory: Path) -> dict[str, str]:
    """Return the logs of a second in which the second job completed I/Os, by name."""
    directory.mkdir()
    claimed = fio_logs.claim(job_file, Claims(), directory=directory)
    logs = fio_logs.FioLogs(job_file, claimed)
    for index in range(10):
        tallies = {Direction.READ: builders.tally({50_000: 5})}
        logs.interval(builders.interval(index, tallies, row=1, interval_ns=10**8))
    logs.close()
    spill = Pieces([{"row": 1, "start_ns": 0, "done_ns": 50_000}])
    request_logs.convert(spill, jobs=job_file, plan=planned(job_file), parquet=None, logs=claimed)
    return {path.name: path.read_text() for path in directory.iterdir()}


@pytest.mark.parametrize("name", PLAN)
def test_an_option_changes_the_plan(name: str) -> None:
    common, line = PLAN[name]
    assert planned(jobs(common)) != planned(jobs(common, line))


@pytest.mark.parametrize("name", JSON)
def test_an_option_changes_the_results(name: str) -> None:
    common, line = JSON[name]
    before, after = reported(jobs(common))[0], reported(jobs(common, line))[0]
    assert before != after
    assert before[0] == after[0]


@pytest.mark.parametrize("name", TABLE)
def test_an_option_changes_the_table(name: str) -> None:
    common, line = TABLE[name]
    assert reported(jobs(common))[1] != reported(jobs(common, line))[1]


@pytest.mark.parametrize("name", LOGS)
def test_an_option_changes_the_logs(name: str, tmp_path: Path) -> None:
    common, line = LOGS[name]
    assert logged(jobs(common), tmp_path / "before") != logged(jobs(common, line), tmp_path / "after")


def replayed(*lines: str) -> tuple[Any, ...]:
    """Return what a job with a trace issues, on which drives, and how it is paced."""
    text = "\n".join(
        ["[j]", "read_iolog=t.log", "replay_redirect=model:p4800x-750g", "replay_addresses=fold", *lines]
    )
    job_file = with_traces(parse(text, source="t", environ={}))
    (job,) = job_file.jobs
    drive = Opened(fd=3, size_bytes=1 << 20, writable=True, is_block_device=True)
    with ExitStack() as stack:
        (plan,) = open_rows(job_file, dict.fromkeys(job.filenames, drive), stack).values()
        rows = os.pread(plan.fd, plan.rows * 32, 0)
    return job.filenames, rows, plan.pacing


@pytest.mark.parametrize("name", REPLAY)
def test_an_option_changes_the_replay(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for log, size in (("t.log", 4096), ("other.log", 512)):
        Path(log).write_text(f"fio version 3 iolog\n5 a read 4096 {size}\n9 a write 2097152 {size}\n")
    assert replayed() != replayed(REPLAY[name])


def test_every_option_has_an_effect_or_a_help_text_that_denies_one() -> None:
    seen = [*PLAN, *JSON, *LOGS, *REPLAY, *NONE]
    assert len(seen) == len(set(seen))
    assert set(seen) | AROUND == {option.name for option in OPTIONS}
    assert {option.name: option.help for option in OPTIONS if option.name in NONE} == NONE


def test_every_line_sets_the_option_of_its_key() -> None:
    lines = {name: line for name, (_, line) in (PLAN | JSON | LOGS).items()} | REPLAY
    for name, line in lines.items():
        assert line.split()[0].partition("=")[0] == name
