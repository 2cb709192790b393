"""Builds NVMe data structures from named fields, and answers admin commands from images.

The tables repeat the specification's names and offsets (NVM Express Base Specification 2.1, Identify and Get Log Page)
and share nothing with the parsers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from iogauge.machine.nvme.admin import AdminError

RECORDED = Path(__file__).parent / "fast" / "machine" / "nvme" / "qemu-nvme.json"
"""A recording of QEMU's NVMe drive (7.2). Zeros at the ends are left out."""

Fields = Mapping[str, int | str]

CONTROLLER = {
    "vid": (0, 2), "sn": (4, 20), "mn": (24, 40), "fr": (64, 8), "mdts": (77, 1), "cntlid": (78, 2), "ver": (80, 4),
    "ctratt": (96, 4), "oacs": (256, 2), "frmw": (260, 1), "elpe": (262, 1), "npss": (263, 1), "apsta": (265, 1),
    "wctemp": (266, 2), "cctemp": (268, 2), "hmpre": (272, 4), "hmmin": (276, 4), "tnvmcap": (280, 16),
    "unvmcap": (296, 16), "hctma": (322, 2), "mntmt": (324, 2), "mxtmt": (326, 2), "sanicap": (328, 4), "nn": (516, 4),
    "oncs": (520, 2), "fna": (524, 1), "vwc": (525, 1),
}  # fmt: skip
POWER_STATE = {
    "mp": (0, 2), "flags": (3, 1), "enlat": (4, 4), "exlat": (8, 4), "rrt": (12, 1), "rrl": (13, 1), "rwt": (14, 1),
    "rwl": (15, 1), "idlp": (16, 2), "ips": (18, 1), "actp": (20, 2), "apws": (22, 1),
}  # fmt: skip
NAMESPACE = {
    "nsze": (0, 8), "ncap": (8, 8), "nuse": (16, 8), "nsfeat": (24, 1), "nlbaf": (25, 1), "flbas": (26, 1),
    "dps": (29, 1), "noiob": (46, 2), "nguid": (104, 16), "eui64": (120, 8),
    **{f"lbaf{number}": (128 + 4 * number, 4) for number in range(64)},
}  # fmt: skip
SMART = {
    "critical_warning": (0, 1), "temperature": (1, 2), "avail_spare": (3, 1), "spare_thresh": (4, 1),
    "percent_used": (5, 1), "data_units_read": (32, 16), "data_units_written": (48, 16), "host_reads": (64, 16),
    "host_writes": (80, 16), "ctrl_busy_time": (96, 16), "power_cycles": (112, 16), "power_on_hours": (128, 16),
    "unsafe_shutdowns": (144, 16), "media_errors": (160, 16), "num_err_log_entries": (176, 16),
    "warning_temp_time": (192, 4), "critical_comp_time": (196, 4), "temp_sensor1": (200, 2), "temp_sensor8": (214, 2),
    "thm_temp1_trans_count": (216, 4), "thm_temp2_trans_count": (220, 4), "thm_temp1_total_time": (224, 4),
    "thm_temp2_total_time": (228, 4),
}  # fmt: skip
ERROR = {
    "error_count": (0, 8), "sqid": (8, 2), "cmdid": (10, 2), "status_field": (12, 2), "lba": (16, 8), "nsid": (24, 4),
}  # fmt: skip
FIRMWARE = {"afi": (0, 1), **{f"frs{number}": (8 * number, 8) for number in range(1, 8)}}


def image(layout: Mapping[str, tuple[int, int]], size: int, fields: Fields) -> bytes:
    """Return a structure of ``size`` bytes with these fields. Texts are padded with blanks."""
    data = bytearray(size)
    for name, value in fields.items():
        at, length = layout[name]
        content = value.to_bytes(length, "little") if isinstance(value, int) else value.encode().ljust(length)
        assert len(content) == length, name
        data[at : at + length] = content
    return bytes(data)


def controller(*states: Fields, **fields: int | str) -> bytes:
    """Return Identify Controller with these power states, at least one."""
    data = bytearray(image(CONTROLLER, 4096, {"npss": max(len(states) - 1, 0), **fields}))
    for number, state in enumerate(states):
        data[2048 + 32 * number : 2080 + 32 * number] = image(POWER_STATE, 32, state)
    return bytes(data)


def namespace(**fields: int | str) -> bytes:
    """Return Identify Namespace."""
    return image(NAMESPACE, 4096, fields)


def smart(**fields: int | str) -> bytes:
    """Return the SMART log."""
    return image(SMART, 512, fields)


def errors(*entries: Fields) -> bytes:
    """Return the error log with these entries."""
    return b"".join(image(ERROR, 64, entry) for entry in entries)


def firmware(**fields: int | str) -> bytes:
    """Return the log of the firmware slots."""
    return image(FIRMWARE, 512, fields)


def apst(**idle: tuple[int, int]) -> bytes:
    """Return the table of APST: ``ps0=(3, 100)`` goes from state 0 to 3 after 100 ms."""
    data = bytearray(256)
    for name, (state, idle_ms) in idle.items():
        at = 8 * int(name.removeprefix("ps"))
        data[at : at + 8] = (state << 3 | idle_ms << 8).to_bytes(8, "little")
    return bytes(data)


@dataclass
class Images:
    """Answers admin commands from images, refuses what it has no image of, and keeps a list of what was requested."""

    structures: dict[int, bytes] = field(default_factory=dict)
    features: dict[tuple[int, int], tuple[int, bytes]] = field(default_factory=dict)
    logs: dict[int, bytes] = field(default_factory=dict)
    namespace_id: int = 1
    requests: list[str] = field(default_factory=list)

    def identify(self, structure: int, namespace_id: int = 0) -> bytes:
        self.requests.append(f"identify {structure:02x}h of {namespace_id}")
        return _answer(self.structures, structure, "Identify: invalid field in the command")

    def feature(self, feature: int, *, selector: int = 0, data_bytes: int = 0) -> tuple[int, bytes]:
        self.requests.append(f"feature {feature:02x}h")
        value, data = _answer(
            self.features, (feature, selector), "Get features: invalid field in the command"
        )
        return value, data.ljust(data_bytes, b"\0")

    def log_page(self, page: int, size_bytes: int) -> bytes:
        self.requests.append(f"log {page:02x}h")
        return _answer(self.logs, page, "Get log page: invalid log page")[:size_bytes].ljust(
            size_bytes, b"\0"
        )


def recorded() -> Images:
    """Return the recording of QEMU's drive."""
    drive = json.loads(RECORDED.read_text())
    return Images(
        structures={
            int(name): bytes.fromhex(text).ljust(4096, b"\0") for name, text in drive["identify"].items()
        },
        features={
            (int(name.partition(":")[0]), int(name.partition(":")[2])): (value, b"")
            for name, value in drive["feature"].items()
        },
        logs={int(name): bytes.fromhex(text).ljust(512, b"\0") for name, text in drive["log"].items()},
        namespace_id=drive["namespace"],
    )


def laptop(**smart_fields: int) -> Images:
    """Return a drive with everything that QEMU's lacks: sleeping states, APST, host memory, thermal management."""
    return Images(
        structures={
            1: controller(
                {"mp": 620, "rrt": 0, "idlp": 4500, "ips": 1 << 6, "actp": 550, "apws": 2 << 6 | 1},
                {"mp": 400, "rrt": 1, "rrl": 1, "rwt": 1, "rwl": 1},
                {"mp": 500, "flags": 3, "enlat": 500, "exlat": 1500, "rrt": 2, "rrl": 2, "rwt": 2, "rwl": 2},
                {"mp": 50, "flags": 3, "enlat": 5000, "exlat": 45000, "rrt": 3, "rrl": 3, "rwt": 3, "rwl": 3},
                vid=0x1234, sn="L1", mn="Laptop SSD", fr="F2", ver=0x010400, mdts=7, elpe=63, apsta=1, ctratt=2,
                wctemp=358, cctemp=368, hmpre=16384, hmmin=2048, hctma=1, mntmt=273, mxtmt=373, sanicap=7, nn=1,
                oacs=0b10111, oncs=0b1011101, fna=0b100, vwc=7, frmw=0b10110, tnvmcap=1_000_204_886_016,
            ),
            0: namespace(
                nsze=1_953_525_168, ncap=1_953_525_168, nuse=500_000_000, nsfeat=1, nlbaf=1, lbaf0=9 << 16 | 2 << 24,
                lbaf1=12 << 16, eui64="12345678",
            ),
        },
        features={
            (2, 0): (1 << 5, b""),
            (4, 0): (353, b""),
            (4, 1 << 20): (268, b""),
            (6, 0): (0, b""),
            (7, 0): (7 << 16 | 15, b""),
            (8, 0): (2 << 8 | 7, b""),
            (12, 0): (1, apst(ps0=(2, 100), ps1=(2, 100), ps2=(3, 2000))),
            (13, 0): (1, bytes([0, 64, 0, 0]) + bytes(8) + bytes([16])),
            (16, 0): (348 << 16 | 353, b""),
            (17, 0): (1, b""),
        },
        logs={
            1: errors(
                {"error_count": 2, "sqid": 3, "cmdid": 7, "status_field": 0x281 << 1, "lba": 4096, "nsid": 1},
                {"error_count": 1, "sqid": 0xFFFF, "cmdid": 0xFFFF, "status_field": 2 << 1},
            ),
            2: smart(**{
                "temperature": 314, "avail_spare": 100, "spare_thresh": 10, "percent_used": 3,
                "data_units_read": 2_000_000, "data_units_written": 1_000_000, "host_reads": 55_000_000,
                "host_writes": 44_000_000, "ctrl_busy_time": 660, "power_cycles": 321, "power_on_hours": 1234,
                "unsafe_shutdowns": 12, "num_err_log_entries": 2, "temp_sensor1": 314, "temp_sensor8": 320,
                **smart_fields,
            }),
            3: firmware(afi=0x21, frs1="F2", frs2="F3"),
        },
    )  # fmt: skip


def _answer(images: Mapping, name: object, refusal: str):
    if name not in images:
        raise AdminError(f"the drive refused {refusal}")
    return images[name]
