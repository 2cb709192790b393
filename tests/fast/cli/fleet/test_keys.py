"""``fleet keys``: the files of an authority, a controller and the named hosts, for their owner alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.cli import main


def test_keys_are_made_and_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = tmp_path / "keys"
    assert main(["fleet", "keys", str(keys), "--host=r1"]) == 0
    assert capsys.readouterr().out == f"{keys}\n"
    names = {path.name for path in keys.iterdir()}
    assert names == {f"{name}{end}" for name in ("ca", "controller", "r1") for end in (".pem", "-key.pem")}
    assert {path.stat().st_mode & 0o777 for path in keys.iterdir()} == {0o600}
    authority = (keys / "ca.pem").read_bytes()
    assert main(["fleet", "keys", str(keys), "--host=r2"]) == 0
    assert (keys / "ca.pem").read_bytes() == authority
    assert main(["fleet", "keys", str(keys), "--host=r2"]) == 1
    assert "r2" in capsys.readouterr().err
