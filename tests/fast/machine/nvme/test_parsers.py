"""Identify, features and logs from images: what is reported comes out with its unit, what is not is None."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.errors import IogaugeError
from iogauge.machine.nvme import features, identify, logs
from iogauge.machine.nvme.admin import status_text
from iogauge.machine.nvme.features import IdleTransition
from iogauge.machine.nvme.fields import MalformedError
from tests import nvme_images as images


def test_a_controller() -> None:
    parsed = identify.parse_controller(images.laptop().structures[1])
    assert (parsed.model, parsed.serial, parsed.firmware, parsed.version) == ("Laptop SSD", "L1", "F2", "1.4")
    assert parsed.pci_vendor == 0x1234
    assert parsed.transfer_pages == 128
    assert (parsed.warning_C, parsed.critical_C) == (85, 95)
    assert (parsed.thermal_lowest_C, parsed.thermal_highest_C) == (0, 100)
    assert (parsed.host_memory_bytes, parsed.host_memory_least_bytes) == (64 << 20, 8 << 20)
    assert parsed.capacity_bytes == 1_000_204_886_016
    assert parsed.unallocated_bytes is None
    assert parsed.apst
    assert parsed.permissive
    assert parsed.write_cache
    assert parsed.admin_commands == ("security", "format", "firmware download", "self-test")
    assert "dataset management (trim)" in parsed.io_commands
    assert "verify" not in parsed.io_commands
    assert parsed.format_attributes == ("can erase cryptographically",)
    assert parsed.sanitize == ("crypto erase", "block erase", "overwrite")
    assert (parsed.error_entries, parsed.firmware_slots) == (64, 3)


def test_power_states() -> None:
    first, second, third, fourth = identify.parse_controller(images.laptop().structures[1]).power_states
    assert (first.max_W, first.idle_W, first.active_W, first.active_workload) == (6.2, 0.45, 5.5, 1)
    assert (second.state, second.max_W, second.read_latency_rank) == (1, 4.0, 1)
    # A latency or a power of zero is not reported.
    assert (second.entry_us, second.exit_us, second.idle_W, second.active_W) == (None, None, None, None)
    assert second.operational
    # The fourth bit of the scale: 0.1 mW instead of 10 mW.
    assert (third.operational, third.max_W) == (False, 0.05)
    assert (fourth.max_W, fourth.entry_us, fourth.exit_us) == (0.005, 5000, 45000)


def test_a_controller_that_reports_nothing() -> None:
    parsed = identify.parse_controller(images.controller())
    nothing = (
        "model", "serial", "firmware", "version", "transfer_pages", "capacity_bytes", "warning_C", "critical_C",
        "thermal_lowest_C", "thermal_highest_C", "host_memory_bytes", "host_memory_least_bytes",
    )  # fmt: skip
    assert {getattr(parsed, name) for name in nothing} == {None}
    (state,) = parsed.power_states
    assert state.max_W is None


def test_a_namespace() -> None:
    parsed = identify.parse_namespace(images.laptop().structures[0])
    assert parsed.block_bytes == 512
    assert parsed.size_bytes == parsed.capacity_bytes == 1_000_204_886_016
    assert parsed.used_bytes == 256_000_000_000
    assert parsed.thin
    assert [(entry.data_bytes, entry.performance) for entry in parsed.formats] == [
        (512, "good"),
        (4096, "best"),
    ]
    assert parsed.eui64 == b"12345678".hex()
    assert parsed.nguid is None
    assert parsed.boundary_bytes is None


def test_a_namespace_with_many_formats_has_its_index_in_two_places() -> None:
    data = images.namespace(nsze=10, nlbaf=20, flbas=1 << 5 | 2, lbaf18=12 << 16 | 8)
    parsed = identify.parse_namespace(data)
    assert (parsed.format, parsed.block_bytes, parsed.size_bytes) == (18, 4096, 40960)
    assert parsed.formats[18].metadata_bytes == 8


def test_a_namespace_that_is_not_active_has_no_size() -> None:
    parsed = identify.parse_namespace(bytes(4096))
    assert (parsed.size_bytes, parsed.used_bytes, parsed.block_bytes) == (None, None, None)


def test_an_empty_namespace_uses_nothing() -> None:
    assert identify.parse_namespace(images.namespace(nsze=8, lbaf0=9 << 16)).used_bytes == 0


def test_smart() -> None:
    parsed = logs.parse_smart(images.laptop(critical_warning=0b1001, warning_temp_time=5).logs[2])
    assert parsed.critical == (
        "the media are read-only",
        "the spare capacity is below its threshold",
    )
    assert (parsed.temperature_C, parsed.spare_percent, parsed.spare_threshold_percent) == (41, 100, 10)
    assert (parsed.read_bytes, parsed.written_bytes) == (1_024_000_000_000, 512_000_000_000)
    assert (parsed.power_on_h, parsed.power_cycles, parsed.busy_min) == (1234, 321, 660)
    assert (parsed.warning_min, parsed.critical_min) == (5, 0)
    assert parsed.sensors_C == (41, *[None] * 6, 47)
    assert parsed.light_throttles is None


def test_smart_of_128_bits() -> None:
    most = (1 << 128) - 1
    assert logs.parse_smart(images.smart(host_reads=most)).read_commands == most


def test_time_above_a_temperature_that_the_drive_has_no_limit_for_is_not_counted() -> None:
    limitless = identify.parse_controller(images.controller())
    parsed = logs.parse_smart(images.smart(), limitless)
    assert (parsed.warning_min, parsed.critical_min) == (None, None)
    critical = identify.parse_controller(images.controller(cctemp=370))
    parsed = logs.parse_smart(images.smart(), critical)
    assert (parsed.warning_min, parsed.critical_min) == (None, 0)


def test_errors_are_the_drives_own_and_empty_entries_are_none() -> None:
    media, command = logs.parse_errors(images.laptop().logs[1] + bytes(64))
    assert (media.number, media.status, media.queue, media.command_id) == (2, "unrecovered read error", 3, 7)
    assert (media.block, media.namespace) == (4096, 1)
    assert (command.status, command.queue, command.command_id) == ("invalid field in the command", None, None)


def test_firmware_slots() -> None:
    slots = logs.parse_firmware(images.laptop().logs[3])
    assert (slots.active, slots.after_reset, slots.revisions[:3]) == (1, 2, ("F2", "F3", None))
    assert logs.parse_firmware(bytes(512)).active is None


def test_apst_has_only_the_states_that_are_left() -> None:
    parsed = features.parse_apst(1, images.apst(ps0=(3, 100), ps3=(4, 2000), ps4=(5, 0)))
    assert parsed.enabled
    assert parsed.transitions == (IdleTransition(0, 3, 100), IdleTransition(3, 4, 2000))


def test_a_host_memory_buffer_that_is_off_has_no_size() -> None:
    data = (16384).to_bytes(4, "little") + bytes(8) + (16).to_bytes(4, "little") + bytes(4080)
    parsed = features.parse_host_memory(1, data)
    assert (parsed.enabled, parsed.size_bytes, parsed.pieces) == (True, 64 << 20, 16)
    off = features.parse_host_memory(0, data)
    assert (off.enabled, off.size_bytes, off.pieces) == (False, None, None)


def test_texts_cannot_move_a_terminals_cursor() -> None:
    assert identify.parse_controller(images.controller(mn="a\x1b[2Jb")).model == "a?[2Jb"


PARSERS: dict[str, tuple[int, Callable[[bytes], object]]] = {
    "controller": (4096, identify.parse_controller),
    "namespace": (4096, identify.parse_namespace),
    "smart": (512, logs.parse_smart),
    "errors": (256, logs.parse_errors),
    "firmware": (512, logs.parse_firmware),
    "apst": (256, lambda data: features.parse_apst(data[0], data)),
    "host memory": (4096, lambda data: features.parse_host_memory(data[0], data)),
}


@pytest.mark.parametrize("name", PARSERS)
@given(seed=st.integers(0), head=st.binary(max_size=300))
def test_any_bytes_are_parsed_or_refused(name: str, seed: int, head: bytes) -> None:
    size, parse = PARSERS[name]
    data = (head + random.Random(seed).randbytes(size))[:size]
    try:
        assert parse(data) == parse(data)
    except MalformedError as error:
        assert str(error)  # noqa: PT017 (either is right)


@pytest.mark.parametrize("name", PARSERS)
@given(data=st.binary(max_size=600).filter(lambda data: len(data) % 64))
def test_a_structure_of_another_size_is_refused(name: str, data: bytes) -> None:
    with pytest.raises(IogaugeError, match="bytes"):
        PARSERS[name][1](data)


@given(value=st.integers(0, 0xFFFF_FFFF))
def test_any_value_of_a_feature_is_parsed(value: int) -> None:
    assert 0 <= features.parse_power(value).state < 32
    assert features.parse_queues(value).submission >= 1
    assert features.parse_coalescing(value).completions >= 1
    limits = (features.parse_thresholds(value, value), features.parse_thermal(value))
    assert all(
        temperature is None or temperature > -273 for limit in limits for temperature in vars(limit).values()
    )


@given(
    state=st.fixed_dictionaries(
        {"mp": st.integers(0, 0xFFFF), "flags": st.integers(0, 3), "enlat": st.integers(0, 0xFFFF_FFFF)}
    )
)
def test_a_power_state_comes_back_as_it_was_built(state: dict[str, int]) -> None:
    (parsed,) = identify.parse_controller(images.controller(state)).power_states
    assert parsed.entry_us == (state["enlat"] or None)
    assert parsed.operational == (state["flags"] < 2)
    scale = 10_000 if state["flags"] & 1 else 100
    assert math.isclose((parsed.max_W or 0) * scale, state["mp"], abs_tol=1e-9)


@given(st.integers(0, 0xFFFF))
def test_every_status_has_words(status: int) -> None:
    assert status_text(status)
