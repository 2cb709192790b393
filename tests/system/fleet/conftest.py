"""Fixtures for fleets of real processes, and of computers with an ssh server."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.refusals import sh
from tests.system.fleet import fleets
from tests.system.fleet.network import Network

HOSTS = ("r1", "r2")
SSHD = """
Port 22
HostKey {folder}/host-key
AuthorizedKeysFile {folder}/.ssh/id_ed25519.pub
SetEnv HOME={folder} XDG_STATE_HOME={folder}/state
PidFile none
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A folder that is the home of all processes of a test, which end with it."""
    with fleets.ended(tmp_path):
        yield tmp_path


@pytest.fixture
def network(home: Path) -> Iterator[Network]:
    """Two computers beside the controller's."""
    with Network(HOSTS) as made:
        yield made


@pytest.fixture
def servers(home: Path, network: Network) -> Iterator[Network]:
    """The same, each with an ssh server that knows the key of the user at home."""
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if sshd is None or not shutil.which("ssh-keygen"):
        pytest.skip("needs sshd: on Debian, apt-get install openssh-server")
    Path("/run/sshd").mkdir(exist_ok=True)
    (home / ".ssh").mkdir(mode=0o700)
    for key in ("host-key", ".ssh/id_ed25519"):
        sh("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(home / key))
    public = " ".join((home / "host-key.pub").read_text().split()[:2])
    (home / "sshd_config").write_text(SSHD.format(folder=home))
    lines = [f"{network.address(host)} {public}\n" for host in HOSTS]
    (home / ".ssh/known_hosts").write_text("".join(lines))
    started = []
    try:
        for host in HOSTS:
            command = [*network.on(host), sshd, "-D", "-e", "-f", str(home / "sshd_config")]
            server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            started.append(server)
            assert server.stderr is not None
            said = ""
            while "Server listening on 0.0.0.0" not in said:
                line = server.stderr.readline()
                assert line, said
                said += line
        yield network
    finally:
        for server in started:
            server.kill()
            server.wait()
