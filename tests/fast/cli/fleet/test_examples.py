"""The examples of fleets: the hosts file is read, and the manifest names options and secrets that there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from iogauge.fleet.hosts import load_hosts

EXAMPLES = Path(__file__).parents[4] / "examples" / "fleet"


@pytest.fixture(scope="module")
def objects() -> dict[str, Any]:
    """The manifest's objects by kind."""
    text = (EXAMPLES / "kubernetes.yaml").read_text("utf-8")
    return {part["kind"]: part for part in yaml.safe_load_all(text)}


def container(part: dict[str, Any]) -> dict[str, Any]:
    (only,) = part["spec"]["template"]["spec"]["containers"]
    return only


def test_the_hosts_file_is_read() -> None:
    hosts = load_hosts(EXAMPLES / "hosts.toml")
    assert [host.name for host in hosts] == ["r1", "r2", "r3"]
    assert hosts[0].labels == {"zone": "a", "rack": "7"}
    assert hosts[2].labels == {"zone": "b", "rack": "12"}
    assert hosts[2].targets == ("/dev/nvme4n1",)
    assert hosts[0].slots == {"/dev/nvme0n1": "bay 1", "/dev/nvme1n1": "bay 2"}
    assert hosts[2].slots == {"/dev/nvme4n1": "bay 5"}
    assert hosts[1].address == "192.0.2.7"


@pytest.mark.parametrize(("kind", "program"), [("Deployment", "scheduler"), ("DaemonSet", "worker")])
def test_the_manifest_names_options_of_dask(objects: dict[str, Any], kind: str, program: str) -> None:
    from distributed.cli import dask_scheduler, dask_worker

    command = {"scheduler": dask_scheduler, "worker": dask_worker}[program].main
    known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    started = container(objects[kind])
    assert started["command"] == ["dask", program]
    options = {argument.partition("=")[0] for argument in started["args"] if argument.startswith("--")}
    assert options <= known
    assert {"--tls-ca-file", "--tls-cert", "--tls-key"} <= options


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet"])
def test_every_mount_has_its_volume_and_selectors_fit(objects: dict[str, Any], kind: str) -> None:
    part = objects[kind]
    volumes = {volume["name"] for volume in part["spec"]["template"]["spec"]["volumes"]}
    assert {mount["name"] for mount in container(part)["volumeMounts"]} == volumes
    assert part["spec"]["selector"]["matchLabels"] == part["spec"]["template"]["metadata"]["labels"]


def test_the_worker_finds_the_scheduler_and_has_the_name_of_its_node(objects: dict[str, Any]) -> None:
    service = objects["Service"]
    (port,) = service["spec"]["ports"]
    args = container(objects["DaemonSet"])["args"]
    assert args[0] == f"tls://{service['metadata']['name']}:{port['port']}"
    assert "--name=$(NODE)" in args
    assert service["spec"]["selector"] == objects["Deployment"]["spec"]["selector"]["matchLabels"]


def test_each_key_is_in_a_secret_that_the_comment_makes(objects: dict[str, Any]) -> None:
    comment = (EXAMPLES / "kubernetes.yaml").read_text("utf-8").partition("apiVersion")[0]
    for kind in ("Deployment", "DaemonSet"):
        pod = objects[kind]["spec"]["template"]["spec"]
        (secret,) = [volume["secret"]["secretName"] for volume in pod["volumes"] if "secret" in volume]
        made = comment.partition(f"generic {secret} ")[2].partition("kubectl")[0]
        files = [arg.partition("=/keys/")[2] for arg in container(objects[kind])["args"] if "=/keys/" in arg]
        assert len(files) == 3
        assert all(f"--from-file=keys/{file}" in made for file in files)
