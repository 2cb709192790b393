"""The token: where it is kept, and which files are no token."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.web import session


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_token_is_made_once_and_only_its_owner_reads_it(state: Path) -> None:
    token = session.own_token()
    assert session.own_token() == token
    path = state / "iogauge" / "web-token"
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(token) >= 32


def test_a_token_that_others_can_read_is_replaced(state: Path) -> None:
    token = session.own_token()
    (state / "iogauge" / "web-token").chmod(0o644)
    assert session.own_token() != token
    assert (state / "iogauge" / "web-token").stat().st_mode & 0o777 == 0o600


def test_a_token_that_cannot_be_kept_is_new_each_time(state: Path) -> None:
    state.write_text("a file is in the way")
    assert session.own_token() != session.own_token()


@pytest.mark.parametrize(
    ("content", "mode", "why"),
    [
        (b"short", 0o600, "at least 16"),
        (b"\xff" * 40, 0o600, "no token can be read"),
        ("é" * 40, 0o600, "at least 16"),
        (b"a long enough token", 0o640, "others may read"),
    ],
)
def test_a_file_that_is_no_token_is_refused(
    tmp_path: Path, content: bytes | str, mode: int, why: str
) -> None:
    path = tmp_path / "token"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
    with pytest.raises(IogaugeError, match=why) as refused:
        session.read_token(path)
    assert refused.value.hint


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IogaugeError, match="no token can be read"):
        session.read_token(tmp_path / "none")


def test_only_the_token_and_its_cookie_are_accepted() -> None:
    assert session.is_token("secret", "secret")
    assert not session.is_token("secre", "secret")
    assert session.is_cookie(session.cookie_of("secret"), "secret")
    assert not session.is_cookie("secret", "secret")
    assert not session.is_cookie("\udcff", "secret")
