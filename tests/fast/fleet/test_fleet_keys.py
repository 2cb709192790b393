"""The certificates of a fleet."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError, UsageError
from iogauge.fleet.dask.security import open_to_all, require_tls, security_for
from iogauge.fleet.keys import key_files, make_keys


def test_a_fleet_gets_an_authority_and_a_certificate_for_each_host(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    make_keys(folder, ["db1", "db2"])
    names = {path.name for path in folder.iterdir()}
    assert names == {
        f"{name}{kind}.pem" for name in ("ca", "controller", "db1", "db2") for kind in ("", "-key")
    }
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in folder.iterdir())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for name in ("controller", "db1", "db2"):
        certificate = str(folder / f"{name}.pem")
        verify = ["openssl", "verify", "-x509_strict", "-CAfile", str(folder / "ca.pem"), certificate]
        assert subprocess.run(verify, check=False, capture_output=True, text=True).returncode == 0


def test_hosts_can_join_and_nothing_is_overwritten(tmp_path: Path) -> None:
    make_keys(tmp_path / "keys", "db1")
    before = {path: path.read_bytes() for path in (tmp_path / "keys").iterdir()}
    make_keys(tmp_path / "keys", ["db2"])
    with pytest.raises(IogaugeError, match="exists"):
        make_keys(tmp_path / "keys", ["db3", "db1"])
    after = {path: path.read_bytes() for path in (tmp_path / "keys").iterdir()}
    assert {path: after[path] for path in before} == before
    assert {path.name for path in after.keys() - before.keys()} == {"db2.pem", "db2-key.pem"}


@pytest.mark.parametrize("name", ["", "../db1", "ca", "controller", "db1-key", "a b"])
def test_a_name_that_is_no_hosts_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        make_keys(tmp_path / "keys", [name])
    assert not (tmp_path / "keys").exists()


def test_a_missing_key_says_how_to_make_it(tmp_path: Path) -> None:
    make_keys(tmp_path / "keys", ["db1"])
    with pytest.raises(IogaugeError, match="no such key") as missing:
        key_files(tmp_path / "keys", "db2")
    assert missing.value.hint == f"make it: iogauge.fleet.make_keys('{tmp_path / 'keys'}', ['db2'])"


def test_half_an_authority_is_refused(tmp_path: Path) -> None:
    make_keys(tmp_path / "keys", ["db1"])
    (tmp_path / "keys/ca-key.pem").unlink()
    with pytest.raises(IogaugeError, match="authority cannot be read"):
        make_keys(tmp_path / "keys", ["db2"])


@pytest.mark.parametrize("address", ["tcp://192.0.2.1:8786", "tcp://db1:8786", "db1:8786", "ucx://db1:1"])
def test_beyond_loopback_nothing_goes_without_tls(address: str) -> None:
    with pytest.raises(UsageError):
        require_tls(address)
    with pytest.raises(UsageError):
        security_for(address, None)


def test_tls_needs_keys_and_keys_need_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(UsageError, match="TLS needs"):
        security_for("tls://192.0.2.1:8786", None)
    make_keys(tmp_path / "keys")
    with pytest.raises(UsageError, match="is for a scheduler with TLS"):
        security_for("tcp://127.0.0.1:8786", tmp_path / "keys")
    assert security_for("tls://192.0.2.1:8786", tmp_path / "keys").require_encryption
    assert not security_for("tcp://127.0.0.1:8786", None).require_encryption


def test_on_loopback_root_needs_tls_and_others_are_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(UsageError, match="every user of this computer can run code as root") as refused:
        require_tls("tcp://127.0.0.1:8786")
    assert refused.value.hint
    assert "make_keys" in refused.value.hint
    require_tls("tls://127.0.0.1:8786")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    require_tls("tcp://127.0.0.1:8786")
    assert "can run code as you" in open_to_all("tcp://127.0.0.1:8786")
    assert open_to_all("tls://127.0.0.1:8786") == ""
