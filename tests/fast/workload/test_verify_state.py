"""The file that says how far a job's writes came: what is read is what was written, and damage is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.schema import CompletedWrite, VerifyState
from iogauge.store import verify_state

STATE = VerifyState(
    writes=7,
    depth=2,
    completed=(
        CompletedWrite(target=0, offset_bytes=4096),
        CompletedWrite(target=1, offset_bytes=1 << 40),
        CompletedWrite(target=1, offset_bytes=0),
    ),
)


def test_what_was_saved_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    content = verify_state.encoded(STATE, job="a/b", index=3, files=2)
    Path("local-a.b-3-verify.state").write_bytes(content)
    assert verify_state.load("a/b", 3) == STATE
    with pytest.raises(IogaugeError, match=r"local-a\.b-0-verify\.state: .* no such file") as refused:
        verify_state.load("a/b", 0)
    assert refused.value.hint


@pytest.mark.parametrize("at", [0, 8, 16, 24, 40, 130])
def test_any_damage_is_found(at: int) -> None:
    content = bytearray(verify_state.encoded(STATE, job="j", index=0, files=2))
    content[at] ^= 1
    with pytest.raises(ValueError, match=r"version|checksum|cut off"):
        verify_state.decoded(bytes(content))
    with pytest.raises(ValueError, match="cut off"):
        verify_state.decoded(content[:at] if at else b"")


def test_a_newer_version_is_named() -> None:
    content = bytearray(verify_state.encoded(STATE, job="j", index=0, files=2))
    content[0] = 7
    with pytest.raises(ValueError, match="its version is 7; only version 3"):
        verify_state.decoded(bytes(content))
