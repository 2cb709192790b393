"""The table of options is complete and consistent, and agrees with the reference and the examples."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.schema import EngineKind, Job
from iogauge.workload import BY_NAME, OPTIONS, load, parse
from iogauge.workload.options import known
from iogauge.workload.options.reference import page

ROOT = Path(__file__).resolve().parents[3]

REQUIRED = """
    filename rw bs bssplit bsrange ba iodepth iodepth_batch iodepth_batch_complete_min
    iodepth_batch_complete_max iodepth_low numjobs thread size io_size offset offset_increment runtime
    time_based ramp_time startdelay loops number_ios stonewall group_reporting new_group exitall rwmixread
    rwmixwrite random_distribution percentage_random norandommap randrepeat randseed allrandrepeat
    refill_buffers zero_buffers scramble_buffers buffer_compress_percentage dedupe_percentage cpus_allowed
    cpus_allowed_policy rate rate_iops rate_min rate_process thinktime percentile_list clat_percentiles
    slat_percentiles lat_percentiles write_bw_log write_lat_log write_iops_log write_hist_log log_avg_msec
    log_hist_msec direct sync fsync fdatasync ioengine hipri fixedbufs registerfiles sqthread_poll
    continue_on_error
"""
"""Options that have to be supported."""
ALIASES = """
    readwrite blocksize blocksize_range blockalign iodepth_batch_submit iodepth_batch_complete io_limit fileoffset
    timeout ratemin wait_for_previous allrandrepeat
"""
"""fio's other names of the supported options."""


def test_every_required_option_is_supported() -> None:
    assert set(REQUIRED.split()) | set(ALIASES.split()) <= BY_NAME.keys()


def test_names_are_unique_and_not_also_unsupported() -> None:
    names = [name for option in OPTIONS for name in (option.name, *option.aliases)]
    assert len(names) == len(set(names))
    assert not BY_NAME.keys() & (known.ALL | known.COMMANDS)
    assert not {engine.value for engine in EngineKind} & known.ENGINES


def test_defaults_and_hints_belong_to_unsupported_names() -> None:
    assert known.AT_DEFAULT.keys() | known.HINTS.keys() <= known.ALL
    assert known.ENGINE_HINTS.keys() <= known.ENGINES


def test_every_field_of_a_job_can_be_set() -> None:
    lines = """
        description=x
        filename=/a
        rw=randrw:2
        bsrange=1k-2k
        ba=512
        ioengine=io_uring
        iodepth=8
        iodepth_batch=2
        iodepth_batch_complete_min=1
        iodepth_batch_complete_max=2
        iodepth_low=4
        numjobs=2
        thread
        size=1m
        io_size=2m
        offset=1m
        offset_increment=1m
        runtime=5
        time_based
        ramp_time=1
        startdelay=1
        loops=2
        number_ios=5
        stonewall
        group_reporting
        new_group
        exitall
        rwmixread=10
        random_distribution=zipf
        percentage_random=50
        randseed=5
        refill_buffers
        buffer_pattern="text"
        zero_buffers
        scramble_buffers=0
        buffer_compress_percentage=10
        dedupe_percentage=10
        cpus_allowed=0
        cpus_allowed_policy=split
        nice=5
        prio=3
        prioclass=2
        rate=1m
        rate_min=1k
        rate_process=poisson
        thinktime=5
        thinktime_spin=2
        thinktime_blocks=2
        thinktime_blocks_type=issue
        thinktime_iotime=2
        percentile_list=50
        gtod_reduce=1
        clat_percentiles=0
        slat_percentiles=1
        lat_percentiles=1
        unified_rw_reporting=mixed
        per_job_logs=0
        write_bw_log
        write_lat_log
        write_iops_log
        write_hist_log
        log_avg_msec=5
        log_hist_msec=5
        direct=1
        invalidate=0
        sync=dsync
        fsync=1
        fdatasync=1
        end_fsync=1
        fsync_on_close=1
        fadvise_hint=random
        hipri
        fixedbufs
        registerfiles
        sqthread_poll
        sqthread_poll_cpu=0
        continue_on_error=all
        ignore_error=EIO,ENOSPC
        exitall_on_error
        exit_what=all
        exec_prerun=true
        exec_postrun=true
        unlink=1
        mem=mmaphuge
        hugepage-size=1g
        lockmem=1m
        numa_mem_policy=local
        uncached=1
        nowait=1
        latency_target=50us
        latency_window=1s
        latency_percentile=99.9
        latency_run=1
        max_latency=2ms,5
        steadystate=iops:5%
        sync_file_range=write:4
        steadystate_duration=10
        steadystate_ramp_time=5
        steadystate_check_interval=2
        log_hist_coarseness=1
        log_window_value=max
        log_offset=1
        log_prio=1
        write_iolog=t.log
    """
    job = parse("[j]\n" + lines, source="t", environ={}).jobs[0]
    rated_lines = "rate_iops=5\nrw=write\nverify=md5\nverify_only\nverify_state_save=1\nverify_state_load=1"
    rated = parse(f"[j]\n{rated_lines}", source="t", environ={}).jobs[0]
    other_lines = """
        directory=/mnt
        pre_read=1
        nrfiles=3
        openfiles=2
        ioengine=io_uring
        cmdprio_bssplit=4k/10
        filename_format=x.$filenum
        file_service_type=random:2
        filesize=1m-2m
        create_only=1
        flow_id=2
        flow_sleep=5
        unlink_each_loop=1
        numa_cpu_nodes=0
        read_iolog=t
        read_iolog_chunked
        replay_no_stall
        replay_redirect=/b
        replay_scale=2
        replay_align=512
        replay_time_scale=200
        replay_skip=trim
        replay_addresses=fold
    """
    other = parse("[j]\n" + other_lines, source="t", environ={}).jobs[0]
    zoned_lines = """
        ioengine=libaio
        direct=1
        atomic=1
        zonesize=64k
        zonerange=128k
        zoneskip=64k
        rate_iops_min=2
        cmdprio_percentage=10
        cmdprio_class=2
        cmdprio=3
        wait_for=j
        do_verify=0
        verify_interval=1k
        verify_offset=100
        verify_pattern=%o66
        verify_pattern_interval=512
        verify_async=2
        verify_async_cpus=0
        verify_backlog=8
        verify_backlog_batch=2
        trim_percentage=5
        trim_verify_zero=0
        trim_backlog=8
        trim_backlog_batch=2
        verify_write_sequence=0
        verify_fatal=1
        verify_dump=1
    """
    zoned = parse("[j]\n[k]\n" + zoned_lines, source="t", environ={}).jobs[1]
    stamped = parse("[j]\nsize=1m\nrw=write\nverify=stamp\nstamp_log=a", source="t", environ={}).jobs[0]
    flowing = parse("[j]\nflow=3\nfile_service_type=zipf", source="t", environ={}).jobs[0]
    default = Job(name="j")
    changed = {
        field
        for field in Job.model_fields
        for one in (job, rated, other, zoned, stamped, flowing)
        if getattr(one, field) != getattr(default, field)
    }
    assert Job.model_fields.keys() == changed


def test_the_reference_is_current() -> None:
    path = ROOT / "docs/options.md"
    assert path.read_text() == page(), "write iogauge.workload.options.reference.page() to docs/options.md"


def test_the_reference_has_every_name_and_every_default() -> None:
    text = page()
    assert all(f"`{name}`" in text for name in BY_NAME)
    assert all(option.help.endswith(".") and option.default and option.kind.syntax for option in OPTIONS)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.fio")), ids=lambda path: path.name)
def test_examples_can_be_parsed_and_begin_with_a_comment(path: Path) -> None:
    assert load(path, environ={"TARGET": "/dev/nvme0n1"}).jobs
    assert path.read_text().startswith("; ")


def test_there_are_examples() -> None:
    assert (ROOT / "examples/write-pressure.fio").exists()
