"""Lists the options and engines that only fio supports, so that each is refused by name and never ignored.

Only names are listed, as facts of fio's interface. Real job files set a few of these options to fio's default, which
changes nothing; ``AT_DEFAULT`` lists them, and they are accepted at that value.

Source: option tables of fio (options.c, engines/*.c, init.c) up to version 3.42.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


AT_DEFAULT: Final[Mapping[str, frozenset[str]]] = {
    name: _words(values)
    for name, values in {
        "allow_mounted_write": "0",
        "bs_is_seq_rand": "0",
        "bs_unaligned": "0",
        "buffer_compress_chunk": "512",
        "bwavgtime": "500",
        "cmd_type": "nvme",
        "create_fsync": "0 1",
        "create_on_open": "0 1",
        "create_serialize": "0 1",
        "dedupe_mode": "repeat",
        "disk_util": "1",
        "error_dump": "0",
        "fallocate": "native none posix keep truncate 0 1",
        "file_append": "0",
        "fill_device": "0",
        "iopsavgtime": "500",
        "log_store_compressed": "0",
        "nonvectored": "1",
        "overwrite": "0 1",
        "rate_cycle": "1000",
        "rw_sequencer": "sequential",
        "serialize_overlap": "0",
        "softrandommap": "0 1",
        "stats": "1",
        "threads": "1",
        "unique_filename": "1",
        "unit_base": "0 8",
        "verify_header_seed": "0 1",
        "verify_policy": "completed",
    }.items()
}
"""Options that are accepted at these values, which have no effect or the same as fio's default.

``verify_header_seed`` has no effect beside the number of a write, which is always checked, and ``softrandommap`` none
if there is memory for the map.
Files are always laid out in full, so it does not matter how fio would allocate or overwrite them."""

HINTS: Final[Mapping[str, str]] = {
    "allow_mounted_write": "name what may be overwritten, by serial number or path, with iogauge's own option destroy",
    "bs_unaligned": "list the sizes with bssplit, in multiples of the smallest",
    "buffer_compress_chunk": "remove it: only the default size is supported",
    "fallocate": "remove it: files are laid out in full before the jobs begin, never sparse",
    "fill_device": "use size, such as size=100%",
    "flow_watermark": "remove it: it has no effect in fio, either",
    "ioscheduler": "set it in /sys/block before the run",
    "ramp_size": "use ramp_time",
    "softrandommap": "use norandommap=1",
    "thinkcycles": "use thinktime with thinktime_spin",
    "threads": "use thread or numjobs: this is an option of a built-in profile, which fio ignores in a job",
    "verify_policy": "remove it: all completed writes are verified",
}
"""What to do instead, for options that have an alternative."""

ENGINES: Final = _words(
    """
    cpuio dev-dax dfs dircreate dirdelete dirstat e4defrag exec external falloc filecreate filedelete filestat
    ftruncate gfapi gfapi_async http ime_aio ime_psync ime_psyncv libblkio libcufile libhdfs libhipfile
    libiscsi libpmem libzbc mtd nbd net netsplice nfs page_fault rados rbd rdma sg solarisaio
    splice windowsaio xnvme
    """
)
"""Engines of fio that iogauge does not have."""

ENGINE_HINTS: Final[Mapping[str, str]] = {
    "splice": "use psync with direct=0",
}

OPTIONS: Final = _words(
    """
    allow_file_create allow_mounted_write block_error_percentiles blocksize_unaligned bs_is_seq_rand
    bs_unaligned buffer_compress_chunk bwavgtime cgroup cgroup_nodelete cgroup_weight comm
    create_fsync create_on_open create_serialize data_placement dataplacement dedupe_global dedupe_mode
    dedupe_working_set_percentage disk_util
    dp_scheme end_syncfs error_dump
    fallocate fdp fdp_pli fdp_pli_select file_append filetype fill_device fill_fs
    flow_watermark gid
    gpu_dev_id ignore_zone_limits
    iopsavgtime ioscheduler job_max_open_zones job_start_clock_id lockfile log_alternate_epoch
    log_alternate_epoch_clock_id
    log_issue_time log_store_compressed log_unix_epoch max_open_zones
    merge_blktrace_file merge_blktrace_iters merge_blktrace_scalars num_range
    offset_align opendir overwrite percentage_sequential plid_select plids
    priohint profile ramp_size random_sequence_stride rate_cycle
    rate_ignore_thinktime ratecycle read_beyond_wp
    recover_zbd_write_error
    rw_sequencer rwmixcycle serialize_overlap softrandommap spr_cs spr_num_regions spr_op
    sprandom stats thinkcycles uid unique_filename unit_base
    verify_header_seed
    verify_policy
    write_barrier write_hint write_zone_remainder zone_reset_frequency zone_reset_threshold zonecapacity
    """
)
"""Options of jobs."""

ENGINE_OPTIONS: Final = _words(
    """
    apptag apptag_mask arguments bindname brick busy_poll cdb_len chunck_size chunk_size clientname clustername
    cmd_type cmdprio_hint conf cont cpuchunks cpuload cpumode
    cuda_io deac donorname exit_on_io_done force_async gpu_dev_ids grace_time hdfs_use_direct hdfsdirectory
    hipri_percentage hostname http_host http_mode http_object_mode http_pass http_s3_key http_s3_keyid http_s3_region
    http_s3_security_token http_s3_sse_customer_algorithm http_s3_sse_customer_key http_s3_storage_class
    http_swift_auth_token http_user http_verbose https initiator inplace interface libaio_vectored libblkio_driver
    libblkio_force_enable_completion_eventfd libblkio_num_entries libblkio_path libblkio_pre_connect_props
    libblkio_pre_start_props libblkio_queue_size libblkio_vectored libblkio_wait_mode libblkio_write_zeroes_on_trim
    listen md_per_io_size mss namenode nfs_url no_completion_thread nodelay nonvectored object_class pi_act
    pi_chk pingpong pool port program proto protocol rbd_encryption_format rbd_encryption_passphrase rbdname read_mode
    readfua rocm_io sg_write_mode single-instance single_instance skip_bad stat_type std_redirect stream_id svcl thp
    touch_objects ttl uri userspace_reap verb verify_bytchk verify_mode volume window_size write_mode
    writefua xnvme_admin xnvme_async xnvme_be xnvme_dev_nsid xnvme_dev_subnqn xnvme_iovec xnvme_mem xnvme_sync
    """
)
"""Options of engines."""

COMMANDS: Final = _words(
    """
    alloc-size append-terse aux-path bandwidth-log client cmdhelp cpuclock-test crctest daemonize debug enghelp eta
    eta-interval eta-newline help idle-prof inflate-log latency-log max-jobs memcpytest merge-blktrace-only minimal
    output output-format parse-only readonly remote-config section server server-internal showcmd status-interval
    terse-version trigger trigger-file trigger-remote trigger-timeout version warnings-fatal
    """
)
"""Options of fio's command line that do not belong to a job."""

PROFILE_OPTIONS: Final = _words(
    """
    block device-names dir large-block-op-kbytes load numruns prep read-req-num-512-blocks test-duration threads
    threads-per-queue
    """
)
"""Options of fio's built-in profiles. fio also accepts them in job files, where they have no effect."""

ALL: Final = OPTIONS | ENGINE_OPTIONS | PROFILE_OPTIONS
"""Every option that fio accepts in a job file and iogauge does not support."""
