"""What the options of verify mean together, and which jobs cannot be verified as they ask."""

from __future__ import annotations

import pytest

from iogauge.errors import IogaugeError
from iogauge.execution.plans.verifying import verify_plan
from iogauge.schema import Checksum, Direction, Job, VerifyTrims
from iogauge.workload import parse, to_fio
from iogauge.workload.verification import header_bytes, interval_bytes


def job(*lines: str) -> Job:
    text = "\n".join(("[j]", "ioengine=null", "size=1m", "rw=write", *lines))
    return parse(text, source="t", environ={}).jobs[0]


NOT_ALONE = (Checksum.PATTERN, Checksum.PATTERN_HDR, Checksum.STAMP)
"""Those that need another option."""


@pytest.mark.parametrize(
    ("word", "checksum"),
    [
        *((checksum.value, checksum) for checksum in Checksum if checksum not in NOT_ALONE),
        ("crc32c-intel", Checksum.CRC32C),
    ],
)
def test_every_checksum_is_read_by_its_name_in_fio(word: str, checksum: Checksum) -> None:
    assert job(f"verify={word}").verify is checksum


def test_no_verification_is_the_default_and_can_be_said() -> None:
    assert job().verify is None
    assert job("verify=0", "verify_async=0", "verify_state_save=0").verify is None


def test_a_job_reads_back_what_it_writes_unless_it_says_otherwise() -> None:
    assert job("verify=md5").directions == {Direction.READ, Direction.WRITE}
    assert job("verify=md5", "do_verify=0").directions == {Direction.WRITE}
    assert not job("verify=md5", "verify_only").changes_targets
    assert job("verify=md5", "rw=read").changes_targets is False


def test_a_share_of_what_was_written_is_trimmed() -> None:
    made = job("verify=md5", "trim_percentage=30", "trim_backlog=8")
    assert made.directions == set(Direction) - {Direction.SYNC}
    plan = verify_plan(made, number=1)
    assert plan is not None
    assert plan.trims == VerifyTrims(percentage=30, backlog=8, batch=8, reads_zeroes=True)
    rarer = job(
        "verify=md5", "trim_percentage=30", "trim_backlog=8", "trim_backlog_batch=2", "trim_verify_zero=0"
    )
    plan = verify_plan(rarer, number=1)
    assert plan is not None
    assert plan.trims == VerifyTrims(percentage=30, backlog=8, batch=2, reads_zeroes=False)


@pytest.mark.parametrize("lines", [["verify=md5"], ["trim_percentage=30", "trim_backlog=8"]], ids=" ".join)
def test_without_a_share_or_verify_nothing_is_trimmed(lines: list[str]) -> None:
    assert Direction.TRIM not in job(*lines).directions


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["bs=4k"], 4096),
        (["bs=4k", "verify_interval=512"], 512),
        (["bs=4k", "verify_interval=1m"], 4096),
        (["bs=4k", "verify_interval=3000"], 4096),
        (["bsrange=4k-16k"], 4096),
        (["bsrange=6k-8k"], 2048),
        (["rw=rw", "bs=1k,4k", "verify_interval=2k"], 1024),
        (["rw=read", "bs=1k", "verify_interval=512"], 512),
    ],
)
def test_headers_are_as_far_apart_as_fios(lines: list[str], expected: int) -> None:
    assert interval_bytes(job("verify=crc32c", *lines)) == expected


def test_a_pattern_without_a_checksum_has_headers() -> None:
    made = job("verify_pattern=0xdead")
    assert (made.verify, made.verify_pattern) == (Checksum.PATTERN_HDR, "dead")
    assert header_bytes(Checksum.PATTERN) == 0


def test_a_pattern_with_the_offset_in_it_is_written_as_it_was_read() -> None:
    made = job("verify=pattern", 'verify_pattern="abc"%o0xdeadbeef-1')
    assert made.verify_pattern == "616263" + 8 * "00" + "deadbeef" + "ffffffff"
    assert made.verify_pattern_offsets == (3,)
    text = to_fio(
        parse("[j]\nioengine=null\nsize=1m\nverify=pattern\nverify_pattern=%o66", source="t", environ={})
    )
    assert "verify_pattern=%o0x42" in text


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["verify=pattern"], "needs verify_pattern"),
        (["verify=sha512", "bs=128"], "needs blocks of at least"),
        (["verify=md5", "verify_offset=60", "bs=64"], "overlaps"),
        (["verify_only"], "has nothing to verify"),
        (["verify=md5", "verify_only", "do_verify=0"], "does nothing"),
        (["verify=md5", "verify_only", "time_based", "runtime=1"], "cannot know how far"),
        (["verify=md5", "read_iolog=x"], "read_iolog"),
        (["verify=crc9"], "crc9"),
        (["verify=md5", "verify_state_load=1"], "an earlier run"),
        (["verify=md5", "verify_state_load=1", "rw=read"], "an earlier run"),
        (["verify=md5", "verify_state_load=1", "verify_only", "loops=2"], "not supported with loops"),
        (["verify=md5", "trim_percentage=101", "trim_backlog=1"], "trim_percentage"),
        (["verify=md5", "trim_percentage=5"], "trims nothing without trim_backlog"),
        (["verify=md5", "trim_percentage=5", "trim_backlog=1", "do_verify=0"], "without do_verify"),
        (["verify=md5", "trim_percentage=5", "trim_backlog=1", "verify_only"], "cannot know which blocks"),
    ],
)
def test_what_cannot_be_verified_is_refused_by_name_with_a_hint(lines: list[str], words: str) -> None:
    with pytest.raises(IogaugeError, match=words) as refused:
        job(*lines)
    assert refused.value.hint
