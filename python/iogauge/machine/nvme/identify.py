"""Parses Identify Controller (CNS 01h) and Identify Namespace (CNS 00h).

Source: NVM Express Base Specification 2.1, "Identify Controller Data Structure" and "Power State Descriptor Data
Structure"; NVM Command Set Specification 1.1, "Identify Namespace Data Structure" and "LBA Format Data Structure".
Offsets count bytes from the beginning.
"""

from __future__ import annotations

from dataclasses import dataclass

from iogauge.machine.nvme.fields import MalformedError, bits, celsius, check_size, number, reported, text

CONTROLLER = 0x01
NAMESPACE = 0x00
FORMATS_ALL, ERASES_ALL = "formats all namespaces together", "erases all namespaces together"
ERASES_BY_KEY = "can erase cryptographically"
CRYPTO_ERASE, BLOCK_ERASE, OVERWRITE = "crypto erase", "block erase", "overwrite"
_SIZE = 4096
_UNIT_BYTES = 4096
"""Unit of the sizes of a host memory buffer."""
_MOST_STATES = 32
_STATE_BYTES = 32
_BLOCK_BITS = range(9, 33)
"""A block has at least 512 bytes; more than 4 GiB is no block of any drive."""


@dataclass(frozen=True)
class PowerState:
    """One power state. Powers are in watts, latencies in microseconds; None: not reported."""

    state: int
    operational: bool
    """Whether the drive processes I/O in this state."""
    max_W: float | None
    entry_us: int | None
    """The longest time that entering the state takes."""
    exit_us: int | None
    idle_W: float | None
    active_W: float | None
    active_workload: int | None
    """The workload that ``active_W`` was measured with, 1 or 2."""
    read_throughput_rank: int
    """Rank among the states; 0 is the best."""
    read_latency_rank: int
    write_throughput_rank: int
    write_latency_rank: int


@dataclass(frozen=True)
class Controller:
    """Identify Controller. Temperatures are in degrees Celsius, sizes in bytes; None: not reported."""

    model: str | None
    serial: str | None
    firmware: str | None
    version: str | None
    """The specification that the drive follows."""
    pci_vendor: int
    controller_id: int
    transfer_pages: int | None
    """The largest transfer, in pages of the smallest size that the drive supports, mostly 4 KiB; None: no limit."""
    namespaces: int
    """The largest number that a namespace can have."""
    capacity_bytes: int | None
    unallocated_bytes: int | None
    """Capacity that no namespace has; None: not reported, or none."""
    power_states: tuple[PowerState, ...]
    apst: bool
    """Whether it can enter low-power states by itself (Autonomous Power State Transition)."""
    permissive: bool
    """Whether the host can forbid it to exceed the power of a non-operational state for background work."""
    warning_C: int | None
    critical_C: int | None
    thermal_management: bool
    """Whether the host can choose the temperatures at which it throttles."""
    thermal_lowest_C: int | None
    thermal_highest_C: int | None
    write_cache: bool
    """Whether it has a volatile write cache."""
    host_memory_bytes: int | None
    """The host memory buffer that it prefers; None: it uses none."""
    host_memory_least_bytes: int | None
    admin_commands: tuple[str, ...]
    """Optional admin commands (OACS)."""
    io_commands: tuple[str, ...]
    """Optional I/O commands and features (ONCS)."""
    format_attributes: tuple[str, ...]
    """What a format does (FNA)."""
    sanitize: tuple[str, ...]
    """Sanitize operations that it supports (SANICAP)."""
    error_entries: int
    """How many entries its error log holds."""
    firmware_slots: int


@dataclass(frozen=True)
class BlockFormat:
    """A block format that a namespace can have; None: this format is not available now."""

    data_bytes: int | None
    metadata_bytes: int
    performance: str
    """Relative to the other formats: best, better, good or degraded."""


@dataclass(frozen=True)
class Namespace:
    """Identify Namespace. Sizes are in bytes; None: not reported, or its block size is unknown."""

    size_bytes: int | None
    capacity_bytes: int | None
    """Blocks that may be allocated; less than the size if the namespace is thinly provisioned."""
    used_bytes: int | None
    """Blocks that are allocated now. Trimmed blocks count as free if the drive tracks them."""
    thin: bool
    formats: tuple[BlockFormat, ...]
    format: int
    """The index of the format in use."""
    boundary_bytes: int | None
    """A request that crosses a multiple of this is slower."""
    protection: int
    """Type of end-to-end protection in use, 1 to 3; 0: none."""
    nguid: str | None
    eui64: str | None

    @property
    def block_bytes(self) -> int | None:
        """The size of a logical block."""
        return self.formats[self.format].data_bytes if self.format < len(self.formats) else None


def parse_controller(data: bytes) -> Controller:
    """Parse Identify Controller, 4096 bytes. Raises MalformedError."""
    check_size(data, _SIZE, "Identify Controller structure")
    states = data[263] + 1
    if states > _MOST_STATES:
        raise MalformedError(f"Identify Controller names {states} power states; there can be {_MOST_STATES}")
    host_memory = number(data, 272, 4)
    thermal = bool(data[322] & 1)
    return Controller(
        pci_vendor=number(data, 0, 2),
        serial=text(data, 4, 20),
        model=text(data, 24, 40),
        firmware=text(data, 64, 8),
        transfer_pages=1 << data[77] if data[77] else None,
        controller_id=number(data, 78, 2),
        version=_version(number(data, 80, 4)),
        permissive=bool(number(data, 96, 4) >> 1 & 1),
        admin_commands=bits(number(data, 256, 2), _ADMIN_COMMANDS),
        firmware_slots=data[260] >> 1 & 7,
        error_entries=data[262] + 1,
        power_states=tuple(
            _power_state(index, data[at : at + _STATE_BYTES])
            for index, at in enumerate(range(2048, 2048 + states * _STATE_BYTES, _STATE_BYTES))
        ),
        apst=bool(data[265] & 1),
        warning_C=celsius(number(data, 266, 2)),
        critical_C=celsius(number(data, 268, 2)),
        host_memory_bytes=reported(host_memory * _UNIT_BYTES),
        host_memory_least_bytes=reported(number(data, 276, 4) * _UNIT_BYTES),
        capacity_bytes=reported(number(data, 280, 16)),
        unallocated_bytes=reported(number(data, 296, 16)),
        thermal_management=thermal,
        thermal_lowest_C=celsius(number(data, 324, 2)) if thermal else None,
        thermal_highest_C=celsius(number(data, 326, 2)) if thermal else None,
        sanitize=bits(number(data, 328, 4), _SANITIZE),
        namespaces=number(data, 516, 4),
        io_commands=bits(number(data, 520, 2), _IO_COMMANDS),
        format_attributes=bits(data[524], _FORMAT),
        write_cache=bool(data[525] & 1),
    )


def parse_namespace(data: bytes) -> Namespace:
    """Parse Identify Namespace of the NVM command set, 4096 bytes. Raises MalformedError."""
    check_size(data, _SIZE, "Identify Namespace structure")
    formats = data[25] + 1
    if formats > 64:
        raise MalformedError(f"Identify Namespace names {formats} block formats; there can be 64")
    # Bits 6:5 extend the index where there are more formats than four bits can count.
    index = data[26] & 15 | (data[26] >> 5 & 3) << 4 if formats > 16 else data[26] & 15
    block_formats = tuple(_block_format(number(data, 128 + 4 * place, 4)) for place in range(formats))
    block_bytes = block_formats[index].data_bytes if index < formats else None

    def in_bytes(blocks: int) -> int | None:
        return blocks * block_bytes if block_bytes else None

    size_bytes = in_bytes(number(data, 0, 8))
    return Namespace(
        size_bytes=size_bytes or None,
        capacity_bytes=in_bytes(number(data, 8, 8)) or None,
        used_bytes=in_bytes(number(data, 16, 8)) if size_bytes else None,
        thin=bool(data[24] & 1),
        formats=block_formats,
        format=index,
        boundary_bytes=in_bytes(number(data, 46, 2)) or None,
        protection=data[29] & 7,
        nguid=_identifier(data[104:120]),
        eui64=_identifier(data[120:128]),
    )


def _power_state(state: int, data: bytes) -> PowerState:
    flags = data[3]
    power = number(data, 0, 2)
    active_W = _watts(number(data, 20, 2), data[22] >> 6)
    return PowerState(
        state=state,
        operational=not flags & 2,
        max_W=power / (10_000 if flags & 1 else 100) if power else None,
        entry_us=reported(number(data, 4, 4)),
        exit_us=reported(number(data, 8, 4)),
        read_throughput_rank=data[12] & 31,
        read_latency_rank=data[13] & 31,
        write_throughput_rank=data[14] & 31,
        write_latency_rank=data[15] & 31,
        idle_W=_watts(number(data, 16, 2), data[18] >> 6),
        active_W=active_W,
        active_workload=reported(data[22] & 7) if active_W else None,
    )


def _watts(power: int, scale: int) -> float | None:
    """Return a power by its scale: 1 is 0.1 mW, 2 is 10 mW, others report nothing."""
    divisor = {1: 10_000, 2: 100}.get(scale)
    return power / divisor if power and divisor else None


def _version(number: int) -> str | None:
    """Return the version as the specifications write it; drives before version 1.2 report none."""
    major, minor, third = number >> 16, number >> 8 & 255, number & 255
    return (f"{major}.{minor}.{third}" if third else f"{major}.{minor}") if number else None


def _block_format(word: int) -> BlockFormat:
    exponent = word >> 16 & 255
    return BlockFormat(
        data_bytes=1 << exponent if exponent in _BLOCK_BITS else None,
        metadata_bytes=word & 0xFFFF,
        performance=("best", "better", "good", "degraded")[word >> 24 & 3],
    )


def _identifier(data: bytes) -> str | None:
    return data.hex() if any(data) else None


_ADMIN_COMMANDS = {
    0: "security",
    1: "format",
    2: "firmware download",
    3: "namespace management",
    4: "self-test",
    5: "directives",
    6: "management interface",
    7: "virtualization management",
    8: "doorbell buffer",
    9: "LBA status",
    10: "lockdown",
}
_IO_COMMANDS = {
    0: "compare",
    1: "write uncorrectable",
    2: "dataset management (trim)",
    3: "write zeroes",
    4: "saved features",
    5: "reservations",
    6: "timestamp",
    7: "verify",
    8: "copy",
}
_FORMAT = {0: FORMATS_ALL, 1: ERASES_ALL, 2: ERASES_BY_KEY}
_SANITIZE = {0: CRYPTO_ERASE, 1: BLOCK_ERASE, 2: OVERWRITE}
