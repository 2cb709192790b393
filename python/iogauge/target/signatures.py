"""Recognises the content of a block device by magic numbers: filesystems, volume and RAID members, partition tables.

A false alarm is better than a miss, but random data must never match. A magic of two bytes would match one random
device in 65,536, so short magics need plausible fields around them. ``blkid`` is used as well if it is installed,
because it knows more kinds.
Source: the on-disk format of each kind (kernel headers, UEFI 2.10 section 5.3, ECMA-119, ECMA-167, LVM2 and md docs).
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator

from iogauge.workload.numbers import KIB, MIB

Read = Callable[[int, int], bytes]
"""``read(offset, length)``: fewer bytes where the device ends; a negative offset gives none."""


_MAGICS: tuple[tuple[str, int, bytes], ...] = (
    ("xfs", 0, b"XFSB"),
    ("xfs log", 0, b"\xfe\xed\xba\xbe"),
    *(("btrfs", mirror + 64, b"_BHRfS_M") for mirror in (64 * KIB, 64 * MIB, 256 * KIB * MIB)),
    ("f2fs", 1024, b"\x10\x20\xf5\xf2"),
    ("f2fs", 4096 + 1024, b"\x10\x20\xf5\xf2"),
    ("exfat", 3, b"EXFAT   "),
    ("ntfs", 3, b"NTFS    "),
    ("refs", 3, b"\0\0\0ReFS\0"),
    ("BitLocker", 3, b"-FVE-FS-"),
    ("vfat", 54, b"FAT12   "),
    ("vfat", 54, b"FAT16   "),
    ("vfat", 54, b"FAT     "),
    ("vfat", 82, b"FAT32   "),
    ("erofs", 1024, b"\xe2\xe1\xf5\xe0"),
    ("squashfs", 0, b"hsqs"),
    ("squashfs", 0, b"sqsh"),
    ("cramfs", 0, b"\x45\x3d\xcd\x28"),
    ("romfs", 0, b"-rom1fs-"),
    ("jfs", 32 * KIB, b"JFS1"),
    ("reiserfs", 64 * KIB + 52, b"ReIsEr"),
    ("reiserfs", 8 * KIB + 52, b"ReIsEr"),
    ("reiser4", 64 * KIB, b"ReIsEr4"),
    ("nilfs2", 1024, b"\x02\0\0\0\0\0\x34\x34"),
    ("gfs2", 64 * KIB, b"\x01\x16\x19\x70\0\0\0\x01"),
    ("ocfs2", 1024, b"OCFSV2"),
    ("ocfs2", 2048, b"OCFSV2"),
    ("ocfs2", 4096, b"OCFSV2"),
    ("hfs+", 1024, b"H+\0\x04"),
    ("hfsx", 1024, b"HX\0\x05"),
    ("apfs", 32, b"NXSB"),
    ("ufs", 8 * KIB + 1372, b"\x54\x19\x01\0"),
    ("ufs2", 64 * KIB + 1372, b"\x19\x01\x54\x19"),
    ("vmfs volume", MIB, b"\x0d\xd0\x01\xc0"),
    ("vmfs", 2 * MIB, b"\x5e\xf1\xab\x2f"),
    ("bcache", 4096 + 24, bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81")),
    ("bcachefs", 4096 + 24, bytes.fromhex("c68573f666ce90a9d96a60cf803df7ef")),
    ("LUKS", 0, b"LUKS\xba\xbe"),
    *(("LUKS2 second header", 16 * KIB << shift, b"SKUL\xba\xbe") for shift in range(9)),
    *(("LVM2 physical volume", 512 * sector, b"LABELONE") for sector in range(4)),
    ("LVM1 physical volume", 0, b"HM\x01\0"),
    ("md raid (1.1)", 0, b"\xfc\x4e\x2b\xa9"),
    ("md raid (1.2)", 4096, b"\xfc\x4e\x2b\xa9"),
    ("Ceph BlueStore", 0, b"bluestore block device"),
    ("Oracle ASM", 32, b"ORCLDISK"),
    ("Stratis", 512 + 4, b"!Stra0tis\x86\xff\x02^"),
    ("VDO", 0, b"dmvdo001"),
    ("dm-verity", 0, b"verity\0\0"),
    ("dm-integrity", 0, b"integrt\0"),
    ("dm-snapshot", 0, b"SnAp\x01\0\0\0"),
    ("qcow image", 0, b"QFI\xfb"),
    *(
        (name, 32 * KIB + 2 * KIB * sector + 1, magic)
        for sector in range(4)
        for name, magic in (("iso9660", b"CD001"), ("udf", b"NSR02"), ("udf", b"NSR03"), ("udf", b"BEA01"))
    ),
    *(
        ("swap" if word.startswith(b"SWAP") else "hibernation image", page - 10, word)
        for page in (4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB)
        for word in (
            b"SWAPSPACE2",
            b"SWAP-SPACE",
            b"S1SUSPEND\0",
            b"S2SUSPEND\0",
            b"ULSUSPEND\0",
            b"LINHIB0001",
        )
    ),
    ("GPT partition table", 512, b"EFI PART"),
    ("GPT partition table", 4096, b"EFI PART"),
    ("Apple partition map", 512, b"PM\0\0"),
    ("BSD disk label", 512, b"\x57\x45\x56\x82"),
    ("BSD disk label", 64, b"\x57\x45\x56\x82"),
    ("SGI disk label", 0, b"\x0b\xe5\xa9\x41"),
)
"""Kind, offset in bytes, magic."""

_ZFS_LABEL_BYTES = 256 * KIB
_ZFS_MAGICS = tuple(struct.pack(order, 0x00BAB10C) for order in ("<Q", ">Q"))
_MD_MAGIC = 0xA92B4EFC


def signatures(read: Read, size_bytes: int) -> list[str]:
    """Return the distinct kinds of content recognised on a device of ``size_bytes``; empty: none.

    Raises OSError if the device cannot be read.

    >>> image = bytearray(1 << 20)
    >>> image[65600:65608] = b"_BHRfS_M"
    >>> signatures(lambda offset, length: bytes(image[offset : offset + length]), len(image))
    ['btrfs']
    """
    kinds = [kind for kind, offset, magic in _MAGICS if read(offset, len(magic)) == magic]
    for detect in (_ext, _md_at_the_end, _raid_firmware, _zfs, _gpt_backup, _mbr, _sun_label):
        kinds += detect(read, size_bytes)
    if not kinds and _empty_mbr(read):
        kinds.append("empty MBR partition table")
    return list(dict.fromkeys(kinds))


def blkid_signatures(fd: int, *, timeout_s: float = 20) -> list[str]:
    """Return what ``blkid -p`` recognises behind an open descriptor; empty if it is missing or recognises nothing."""
    program = shutil.which("blkid", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None:
        return []
    try:
        answer = subprocess.run(
            [program, "-p", "-o", "export", f"/proc/self/fd/{fd}"],
            pass_fds=(fd,),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    if answer.returncode == 8:
        return ["several contradicting signatures"]
    lines = answer.stdout.decode("utf-8", "replace").splitlines()
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    kinds = [values.get("TYPE"), f"{values['PTTYPE']} partition table" if "PTTYPE" in values else None]
    return [kind for kind in kinds if kind]


def _ext(read: Read, _: int) -> Iterator[str]:
    head = read(1024, 1024)
    if len(head) < 1024 or head[56:58] != b"\x53\xef":
        return
    inodes, blocks = struct.unpack_from("<II", head, 0)
    log_block, log_cluster, per_group = struct.unpack_from("<III", head, 24)
    revision = struct.unpack_from("<I", head, 76)[0]
    if inodes and blocks and log_block <= 6 and log_cluster <= 20 and per_group and revision <= 1:
        compatible, incompatible = struct.unpack_from("<II", head, 92)
        if incompatible & 0x8:
            yield "ext journal"
        elif incompatible & 0x40:
            yield "ext4"
        else:
            yield "ext3" if compatible & 0x4 else "ext2"


def _md_at_the_end(read: Read, size_bytes: int) -> Iterator[str]:
    at_090 = (size_bytes & ~(64 * KIB - 1)) - 64 * KIB
    if read(at_090, 4) in (struct.pack("<I", _MD_MAGIC), struct.pack(">I", _MD_MAGIC)):
        yield "md raid (0.90)"
    at_10 = ((size_bytes // 512 - 16) & ~7) * 512
    if read(at_10, 4) == struct.pack("<I", _MD_MAGIC):
        yield "md raid (1.0)"


def _raid_firmware(read: Read, size_bytes: int) -> Iterator[str]:
    if read(size_bytes - 1024, 24) == b"Intel Raid ISM Cfg Sig. ":
        yield "Intel RAID member"
    for distance in (512, 512 * 257):
        if read(size_bytes - distance, 4) in (b"\xde\x11\xde\x11", b"\x11\xde\x11\xde"):
            yield "DDF RAID member"


def _zfs(read: Read, size_bytes: int) -> Iterator[str]:
    """Detect ZFS: two labels at each end; the second half of a label is a ring of uberblocks of at least 1 KiB."""
    end = size_bytes - size_bytes % _ZFS_LABEL_BYTES
    for label in (0, _ZFS_LABEL_BYTES, end - 2 * _ZFS_LABEL_BYTES, end - _ZFS_LABEL_BYTES):
        ring = read(label + 128 * KIB, 128 * KIB) if label >= 0 else b""
        if any(ring[at : at + 8] in _ZFS_MAGICS for at in range(0, len(ring), KIB)):
            yield "zfs member"
            return


def _gpt_backup(read: Read, size_bytes: int) -> Iterator[str]:
    if any(read(size_bytes - block, 8) == b"EFI PART" for block in (512, 4096)):
        yield "GPT partition table"


def _mbr(read: Read, _: int) -> Iterator[str]:
    """Detect an MBR: it ends in 55 AA, and its four entries are empty or plausible."""
    entries = _mbr_entries(read)
    if any(map(any, entries)) and all(not any(entry) or _plausible_entry(entry) for entry in entries):
        yield "MBR partition table"


def _empty_mbr(read: Read) -> bool:
    """Return whether there is an MBR without entries. The boot sectors of FAT and NTFS look like one, too."""
    entries = _mbr_entries(read)
    return bool(entries) and not any(map(any, entries))


def _mbr_entries(read: Read) -> list[bytes]:
    sector = read(0, 512)
    if len(sector) < 512 or sector[510:] != b"\x55\xaa":
        return []
    return [sector[at : at + 16] for at in range(446, 510, 16)]


def _plausible_entry(entry: bytes) -> bool:
    start, sectors = struct.unpack_from("<II", entry, 8)
    # A start beyond the device is kept: tables of truncated or cloned disks are tables all the same.
    return entry[0] in (0, 0x80) and entry[4] != 0 and (start > 0 or sectors > 0)


def _sun_label(read: Read, _: int) -> Iterator[str]:
    """Detect a Sun label: the magic has only two bytes, but the label's 256 words XOR to zero."""
    sector = read(0, 512)
    if len(sector) < 512 or sector[508:510] != b"\xda\xbe":
        return
    checksum = 0
    for word in struct.unpack(">256H", sector):
        checksum ^= word
    if checksum == 0:
        yield "Sun disk label"


def reader_of(fd: int) -> Read:
    """Return a ``Read`` over an open descriptor."""

    def read(offset: int, length: int) -> bytes:
        return os.pread(fd, length, offset) if offset >= 0 else b""

    return read
