"""What follows the header of a block that is verified."""

from __future__ import annotations

from enum import StrEnum


class Checksum(StrEnum):
    """fio's ``verify``: what follows the header of a block, so that damage is found."""

    MD5 = "md5"
    CRC64 = "crc64"
    CRC32 = "crc32"
    CRC32C = "crc32c"
    CRC16 = "crc16"
    CRC7 = "crc7"
    SHA1 = "sha1"
    SHA256 = "sha256"
    SHA512 = "sha512"
    SHA3_224 = "sha3-224"
    SHA3_256 = "sha3-256"
    SHA3_384 = "sha3-384"
    SHA3_512 = "sha3-512"
    XXHASH = "xxhash"
    META = "meta"
    """The header alone."""
    PATTERN = "pattern"
    """A pattern, without a header."""
    PATTERN_HDR = "pattern_hdr"
    """A pattern after a header."""
    NULL = "null"
    """Nothing is written or checked."""
    STAMP = "stamp"
    """iogauge's own: a stamp in each sector, and a log of the writes. The run reads nothing back."""
