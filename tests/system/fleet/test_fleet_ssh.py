"""A fleet of computers that are reached by ssh: network namespaces with an ssh server each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from iogauge.fleet import open_fleet
from tests.refusals import sh
from tests.system.fleet import fleets
from tests.system.fleet.conftest import HOSTS
from tests.system.fleet.network import CONTROLLER, Network

pytestmark = pytest.mark.fleet

IOS = 3000
LOG_IN_WITHOUT_A_CERTIFICATE = """
import ssl, socket, sys

context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=20) as plain:
    try:
        with context.wrap_socket(plain) as connection:
            print("answered", connection.recv(1))
    except ssl.SSLError as error:
        print(error.reason)
"""


def hosts_file(home: Path, network: Network, python: str = sys.executable) -> str:
    """Write the file of hosts, of which the second has this Python."""
    text = f'[defaults]\nuser = "root"\npython = "{sys.executable}"\n'
    for host, its_python in zip(HOSTS, (sys.executable, python), strict=True):
        text += f'[[host]]\nname = "{host}"\naddress = "{network.address(host)}"\npython = "{its_python}"\n'
        text += f'targets = ["{home}/{host}.bin"]\nlabels = {{ zone = "{host}" }}\n'
    (home / "hosts.toml").write_text(text)
    return "hosts.toml"


def review(home: Path, network: Network, hosts: str) -> fleets.Command:
    plan = fleets.plan(home, ios=IOS)
    return fleets.review(home, "--hosts", hosts, *plan, "--output", "saved", on=network.on(CONTROLLER))


def ports(network: Network, host: str) -> list[str]:
    """Return the ports of TCP on which a computer answers others, but not its ssh server's."""
    lines = sh(*network.on(host), "ss", "-H", "-l", "-t", "-n").splitlines()
    pairs = [line.split()[3].rpartition(":") for line in lines]
    return sorted(
        {port for address, _, port in pairs if port != "22" and address not in ("127.0.0.1", "[::1]")}
    )


def test_a_fleet_reached_by_ssh_and_nobody_else_gets_in(home: Path, servers: Network) -> None:
    fleet = review(home, servers, hosts_file(home, servers))
    fleet.until("A few writes")
    for computer in (CONTROLLER, *HOSTS):
        listening = ports(servers, computer)
        assert listening
        for port in listening:
            answer = subprocess.run(
                [
                    *servers.on(CONTROLLER),
                    *(sys.executable, "-c", LOG_IN_WITHOUT_A_CERTIFICATE, servers.address(computer), port),
                ],
                capture_output=True,
                text=True,
                check=True,
            )
            assert answer.stdout.strip() == "TLSV13_ALERT_CERTIFICATE_REQUIRED"
    assert fleet.status() == 0, fleet.stderr
    assert fleets.outcomes(home / "saved") == dict.fromkeys(HOSTS, "done")
    fleets.require_whole_steps(home / "saved", ios=IOS)
    saved = open_fleet(home / "saved")
    assert [host.address for host in saved.hosts] == [servers.address(host) for host in HOSTS]
    assert {group.name for group in saved.merged(saved.steps[0], by="zone")} == set(HOSTS)


def test_a_host_with_another_version_is_refused(home: Path, servers: Network) -> None:
    package = home / "older" / "iogauge"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "0.0.1"\n')
    python = home / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={home}/older exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    fleet = review(home, servers, hosts_file(home, servers, str(python)))
    assert fleet.status() == 1
    assert "r2 refuses: it has iogauge 0.0.1, and the controller" in fleet.stderr
    login = f"root@{servers.address('r2')}"
    assert f"{login}: && ssh {login} '{python} -m pip install" in fleet.stderr
    # --yes goes on with the others.
    assert fleets.outcomes(home / "saved") == {"r1": "done", "r2": "refused"}


def test_a_host_that_cannot_be_reached_refuses_as_others_do(home: Path, servers: Network) -> None:
    hosts = Path(home / hosts_file(home, servers))
    away = servers.address("r2").rpartition(".")[0] + ".99"
    hosts.write_text(
        f'{hosts.read_text()}[[host]]\nname = "away"\naddress = "{away}"\ntargets = ["{home}/away.bin"]\n'
    )
    where = ("--hosts", hosts.name, *fleets.plan(home, ios=IOS))
    on = servers.on(CONTROLLER)
    alone = fleets.Command(home, *on, *fleets.IOGAUGE, "fleet", "review", *where, "--output", "none")
    assert alone.status() == 1
    assert f"away refuses: no ssh connection to root@{away}: " in alone.stderr
    assert "not started, since not all hosts can begin" in alone.stderr
    assert not (home / "none").exists()
    fleet = fleets.review(home, *where, "--output", "saved", on=on)
    assert fleet.status() == 1
    assert fleets.outcomes(home / "saved") == {"r1": "done", "r2": "done", "away": "refused"}
    assert "away (refused: no ssh connection" in " ".join(fleet.stdout.split())
