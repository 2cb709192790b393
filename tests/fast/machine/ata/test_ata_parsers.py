"""SMART and statistics: what drives answer, and any bytes at all: parsed or refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.errors import IogaugeError
from iogauge.machine.ata.command import AtaError, Command, Registers, parse_health, parse_sense
from iogauge.machine.ata.health import problems
from iogauge.machine.ata.identity import parse_identity, words_of
from iogauge.machine.ata.read import AtaAnswers, read_answers
from iogauge.machine.ata.smart import Attribute, parse_attributes
from iogauge.machine.ata.statistics import Statistics, parse_pages, parse_statistics
from tests.fast.machine.ata import ata_images as images

SECTOR = st.binary(min_size=512, max_size=512)


def answers(drive: images.Images) -> AtaAnswers:
    read, unread = read_answers(drive)
    assert unread == []
    return read


def test_all_that_a_drive_answers() -> None:
    drive = answers(images.ssd(a5=10))
    assert (drive.power_mode, drive.healthy) == ("active or idle", True)
    assert drive.attributes == (
        Attribute(5, "reallocated sectors", 100, 100, 10, 0, prefail=True),
        Attribute(9, "power-on hours", 99, 99, None, 1234, prefail=True),
        Attribute(241, "blocks written", 99, 99, None, 2**47, prefail=True),
    )
    assert drive.statistics == Statistics(
        power_cycles=321, power_on_h=1234, written_bytes=4_096_000_000, write_commands=44, read_bytes=8_192_000_000,
        read_commands=55, temperature_C=41, highest_C=66, lowest_C=-5, over_min=0, limit_C=70, used_percent=3,
    )  # fmt: skip


def test_only_what_the_drive_says_it_has_is_asked_for() -> None:
    drive = images.ssd()
    drive.answers = dict(drive.answers) | {(Command.IDENTIFY_DEVICE, 0): images.identity({82: 0, 85: 0})}
    read = answers(drive)
    assert drive.sent == [Command.CHECK_POWER_MODE, Command.IDENTIFY_DEVICE]
    assert (read.healthy, read.attributes, read.statistics) == (None, None, None)


def test_whether_it_slept_is_asked_first() -> None:
    drive = images.ssd()
    drive.power = 0
    assert answers(drive).power_mode == "standby"
    assert drive.sent[0] is Command.CHECK_POWER_MODE


def test_what_is_refused_is_unread_and_the_rest_is_read() -> None:
    drive = images.ssd()
    drive.answers = {
        key: data for key, data in drive.answers.items() if key[0] is not Command.SMART_READ_THRESHOLDS
    }
    read, unread = read_answers(drive)
    assert [(item.what, item.why) for item in unread] == [
        ("SMART's thresholds", "the drive refused SMART READ THRESHOLDS")
    ]
    assert read.attributes is not None
    assert read.attributes[0].threshold is None


def test_nothing_is_read_of_a_drive_that_does_not_say_what_it_is() -> None:
    read, unread = read_answers(images.Images({}, power=None))
    assert read == AtaAnswers()
    assert [item.what for item in unread] == ["the power mode", "IDENTIFY DEVICE"]


@pytest.mark.parametrize(
    ("drive", "expected"),
    [
        (images.ssd(), []),
        (images.ssd(a5=0), []),
        (images.ssd(health=images.FAILING), ["SMART predicts that the drive fails soon"]),
        (images.ssd(a9=99), ["power-on hours: SMART's value 99 has reached the threshold 99"]),
    ],
)
def test_what_is_wrong(drive: images.Images, expected: list[str]) -> None:
    assert problems(answers(drive)) == expected


def test_wear_and_heat_are_wrong() -> None:
    counters = Statistics(used_percent=100, temperature_C=71, limit_C=70)
    assert problems(AtaAnswers(healthy=True, statistics=counters)) == [
        "100 % of the media's specified life is used",
        "71 C, above its limit of 70 C",
    ]
    assert problems(AtaAnswers(statistics=counters)) is None, "SMART did not say"


def test_a_statistic_that_is_not_valid_is_not_reported() -> None:
    data = bytearray(images.page(5, temperature=41))
    data[8 + 7] = 0x80  # supported, and not valid
    assert parse_statistics({5: bytes(data)}, sector_bytes=512).temperature_C is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (bytes(511), "returned 511 bytes, not 512"),
        (bytes(511) + b"\1", "returned data with a wrong checksum"),
    ],
)
def test_damaged_smart_data_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(AtaError, match=message):
        parse_attributes(data)
    with pytest.raises(AtaError, match=f"SMART READ THRESHOLDS {message}"):
        parse_attributes(bytes(512), data)


def test_a_page_of_another_number_is_refused() -> None:
    with pytest.raises(AtaError, match="page 1 says that it is page 5"):
        parse_statistics({1: images.page(5)}, sector_bytes=512)
    with pytest.raises(AtaError, match="page 0 has 3 bytes"):
        parse_pages(b"\0\0\0")


@given(SECTOR)
def test_any_sector_is_parsed_or_refused(data: bytes) -> None:
    checked = images.summed(bytearray(data))
    for attribute in parse_attributes(checked, checked):
        assert 0 < attribute.id < 256
        assert 0 <= attribute.raw < 2**48
    for number in (1, 5, 7):
        counters = parse_statistics({number: data[:2] + bytes([number]) + data[3:]}, sector_bytes=512)
        for value in (counters.temperature_C, counters.highest_C, counters.lowest_C):
            assert value is None or -128 <= value < 128
    assert len(parse_pages(data[:2] + b"\0" + data[3:])) <= 255
    try:
        identity = parse_identity(words_of(data))
    except IogaugeError:
        assert data[510] == 0xA5
    else:
        assert identity.sector_bytes >= 0
        assert identity.queue_depth is None or 1 <= identity.queue_depth <= 32


@given(st.binary(max_size=64))
def test_any_sense_data_are_parsed_or_refused(sense: bytes) -> None:
    try:
        registers = parse_sense(sense, "SMART RETURN STATUS")
    except AtaError:
        return
    assert 0 <= registers.count < 256
    assert 0 <= registers.block < 1 << 24


@given(st.integers(0, 2**24 - 1))
def test_only_two_verdicts_count(block: int) -> None:
    if block >> 8 in (0xC24F, 0xF42C):
        assert parse_health(Registers(0, block)) is (block >> 8 == 0xC24F)
    else:
        with pytest.raises(AtaError, match="neither of its two verdicts"):
            parse_health(Registers(0, block))


def test_both_formats_of_sense_data() -> None:
    descriptor = bytes([0x72, 1, 0, 0x1D, 0, 0, 0, 14, 9, 12, 0, 0, 0, 0x80, 0, 1, 0, 0x4F, 0, 0xC2, 0, 0x50])
    assert parse_sense(descriptor, "x") == Registers(0x80, 0xC24F01)
    fixed = bytes([0x70, 0, 1, 0, 0x50, 0, 0x80, 10, 0, 1, 0x4F, 0xC2, 0x00, 0x1D])
    assert parse_sense(fixed, "x") == Registers(0x80, 0xC24F01)
    with pytest.raises(AtaError, match="the drive refused x"):
        parse_sense(descriptor[:21] + b"\x51", "x")


def test_the_identity_has_the_links_sleep_and_the_sectors() -> None:
    identity = parse_identity(
        words_of(images.identity({76: 0x2306, 78: 0x0108, 79: 0x0108, 84: 0x4020, 106: 0x5000, 117: 2048}))
    )
    assert (identity.host_sleep, identity.device_sleep, identity.deeper_sleep, identity.dev_sleep) == (
        True,
    ) * 4
    assert (identity.logs, identity.sector_bytes) == (True, 4096)
    with pytest.raises(IogaugeError, match="wrong checksum"):
        words_of(images.identity({255: 0x00A5}))
    with pytest.raises(IogaugeError, match="returned 3 bytes"):
        words_of(b"abc")
