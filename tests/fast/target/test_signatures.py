"""Content is recognised wherever its kind keeps its magic, and random data never is."""

from __future__ import annotations

import os
import random
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.target.signatures import _MAGICS, reader_of, signatures

SIZE = 8 << 20


def found_in(image: bytes | bytearray) -> list[str]:
    return signatures(
        lambda offset, length: bytes(image[offset : offset + length]) if offset >= 0 else b"", len(image)
    )


def image_with(*parts: tuple[int, bytes]) -> bytearray:
    image = bytearray(SIZE)
    for offset, data in parts:
        image[offset : offset + len(data)] = data
    return image


def ext_superblock(*, compatible: int = 0, incompatible: int = 0) -> bytes:
    head = bytearray(1024)
    struct.pack_into("<II", head, 0, 128, 1024)
    struct.pack_into("<III", head, 24, 2, 2, 8192)
    head[56:58] = b"\x53\xef"
    struct.pack_into("<I", head, 76, 1)
    struct.pack_into("<II", head, 92, compatible, incompatible)
    return bytes(head)


@pytest.mark.parametrize(("kind", "offset", "magic"), _MAGICS, ids=lambda value: str(value)[:24])
def test_every_magic_is_found_at_its_place(kind: str, offset: int, magic: bytes) -> None:
    def read(at: int, length: int) -> bytes:
        """Zeros but for the magic, however large that makes the device."""
        before, after = max(0, offset - at), max(0, at - offset)
        return (bytes(before) + magic[after:] + bytes(length))[:length] if length > before else bytes(length)

    assert kind in signatures(read, max(SIZE, offset + SIZE))


@pytest.mark.parametrize(
    ("kind", "features"),
    [
        ("ext2", {}),
        ("ext3", {"compatible": 4}),
        ("ext4", {"incompatible": 0x40}),
        ("ext journal", {"incompatible": 8}),
    ],
)
def test_ext_by_its_features(kind: str, features: dict[str, int]) -> None:
    assert found_in(image_with((1024, ext_superblock(**features)))) == [kind]


def test_the_magic_of_ext_alone_is_not_ext() -> None:
    assert found_in(image_with((1024 + 56, b"\x53\xef"))) == []


@pytest.mark.parametrize(
    ("kind", "from_end", "magic"),
    [
        ("md raid (0.90)", 64 << 10, b"\xfc\x4e\x2b\xa9"),
        ("md raid (0.90)", 64 << 10, b"\xa9\x2b\x4e\xfc"),
        ("md raid (1.0)", 8 << 10, b"\xfc\x4e\x2b\xa9"),
        ("GPT partition table", 512, b"EFI PART"),
        ("GPT partition table", 4096, b"EFI PART"),
        ("Intel RAID member", 1024, b"Intel Raid ISM Cfg Sig. "),
        ("DDF RAID member", 512, b"\xde\x11\xde\x11"),
    ],
)
def test_what_is_kept_at_the_end(kind: str, from_end: int, magic: bytes) -> None:
    assert found_in(image_with((SIZE - from_end, magic))) == [kind]


@pytest.mark.parametrize("label", [0, 256 << 10, SIZE - (512 << 10), SIZE - (256 << 10)])
@pytest.mark.parametrize("order", ["<Q", ">Q"])
def test_zfs_by_any_of_its_four_labels(label: int, order: str) -> None:
    assert found_in(image_with((label + (128 << 10) + 5 * 1024, struct.pack(order, 0x00BAB10C)))) == [
        "zfs member"
    ]


def test_partition_tables() -> None:
    entry = struct.pack("<B3sB3sII", 0, b"\0\1\1", 0x83, b"\0\2\2", 2048, 4096)
    assert found_in(image_with((446 + 16, entry), (510, b"\x55\xaa"))) == ["MBR partition table"]
    assert found_in(image_with((510, b"\x55\xaa"))) == ["empty MBR partition table"]
    assert found_in(image_with((446, b"\x7f" + entry[1:]), (510, b"\x55\xaa"))) == []
    assert found_in(image_with((446, entry))) == []


def test_a_boot_sector_of_fat_is_no_partition_table() -> None:
    assert found_in(image_with((82, b"FAT32   "), (510, b"\x55\xaa"))) == ["vfat"]


def test_a_sun_label_needs_its_checksum() -> None:
    sector = bytearray(512)
    sector[508:510] = b"\xda\xbe"
    assert found_in(image_with((0, bytes(sector)))) == []
    sector[510:] = b"\xda\xbe"
    assert found_in(image_with((0, bytes(sector)))) == ["Sun disk label"]


def test_several_kinds_are_all_named_once() -> None:
    image = image_with((0, b"LUKS\xba\xbe"), (512, b"EFI PART"), (SIZE - 512, b"EFI PART"))
    assert found_in(image) == ["LUKS", "GPT partition table"]


@given(st.integers(min_value=0, max_value=2**32))
def test_random_data_holds_nothing(seed: int) -> None:
    """Ours is random data; so is what a purged or encrypted drive shows."""
    data = random.Random(seed).randbytes(1 << 16)
    assert found_in(data) == []


@given(st.integers(min_value=0, max_value=2**32))
def test_random_data_around_a_chance_magic_holds_nothing(seed: int) -> None:
    """Two bytes match by chance on one drive in 65,536: the fields around them must decide."""
    draw = random.Random(seed)
    data = bytearray(draw.randbytes(1 << 13))
    data[1024 + 56 : 1024 + 58] = b"\x53\xef"
    data[510:512] = b"\x55\xaa"
    data[446] = draw.randrange(1, 0x80)  # the status byte of an entry is 00 or 80
    data[1024 + 24 + 3] |= 0x80  # a block size of 2**31 times a kilobyte
    assert found_in(data) == []


@pytest.mark.parametrize("size", [0, 1, 511, 512, 4096, 65536, 100_000])
def test_small_devices(size: int) -> None:
    assert found_in(bytes(size)) == []


def test_reading_through_a_descriptor(tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(image_with((0, b"XFSB")))
    fd = os.open(tmp_path / "image", os.O_RDONLY)
    try:
        assert signatures(reader_of(fd), SIZE) == ["xfs"]
    finally:
        os.close(fd)


def test_an_unreadable_device_is_an_error_not_a_blank_one() -> None:
    def broken(offset: int, length: int) -> bytes:
        raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output"):
        signatures(broken, SIZE)
