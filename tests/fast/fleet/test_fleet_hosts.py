"""The file that lists the hosts of a fleet: what it says, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.errors import IogaugeError
from iogauge.fleet.hosts import HostEntry, load_hosts

GOOD = """
[defaults]
user = "bench"
targets = ["/dev/nvme0n1"]
labels = { zone = "a", rack = "1" }
slots = { "/dev/nvme0n1" = "bay 1" }

[[host]]
name = "db1"

[[host]]
name = "db2"
address = "192.0.2.7"
user = "root"
port = 2222
python = "/opt/iogauge/bin/python"
targets = ["/dev/nvme1n1", "model:p4800x"]
labels = { rack = "7" }
slots = { "/dev/nvme1n1" = "bay 2" }
directory = "/var/lib/iogauge"
"""


def hosts(directory: Path, text: str) -> tuple[HostEntry, ...]:
    path = directory / "hosts.toml"
    path.write_text(text)
    return load_hosts(path)


def test_hosts_have_what_the_file_says_and_the_defaults(tmp_path: Path) -> None:
    first, second = hosts(tmp_path, GOOD)
    assert first == HostEntry(
        name="db1",
        address="db1",
        user="bench",
        targets=("/dev/nvme0n1",),
        labels={"zone": "a", "rack": "1"},
        slots={"/dev/nvme0n1": "bay 1"},
    )
    assert (first.login, second.login) == ("bench@db1", "root@192.0.2.7")
    assert second.labels == {"zone": "a", "rack": "7"}
    # It has targets of its own, so the slot of the common one is of no use to it.
    assert second.slots == {"/dev/nvme1n1": "bay 2"}
    assert second.targets == ("/dev/nvme1n1", "model:p4800x")
    assert (second.port, second.python, second.directory) == (
        2222,
        "/opt/iogauge/bin/python",
        "/var/lib/iogauge",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "lists no host"),
        ("host = []", "lists no host"),
        ("host = 1", "lists no host"),
        ("[host]\nname = 'a'", "lists no host"),
        ("host = [1]", "host 1: must be a table"),
        ("defaults = 1\n[[host]]\nname = 'a'", "defaults: must be a table"),
        ("[defaults]\nname = 'a'", "hosts share no name"),
        ("[defaults]\naddress = 'a'", "hosts share no name"),
        ("[hosts]\n", "hosts is not known"),
        ("[[host]]", "host 1: name is missing"),
        ("[[host]]\nname = 1", "host 1: name must be text"),
        ("[[host]]\nname = '../x'", r"host 1 \(../x\): name must have letters"),
        ("[[host]]\nname = ''", "name must have letters"),
        ("[[host]]\nname = 'a'\naddress = '-oProxyCommand=x'", "address must be a host name"),
        ("[[host]]\nname = 'a'\naddress = 'x y'", "address must be a host name"),
        ('[[host]]\nname = "a"\nuser = "x\\n"', "user must be the name of a user"),
        ("[[host]]\nname = 'a'\nport = 0", "port must be at least 1"),
        ("[[host]]\nname = 'a'\nport = 65536", "port must be at most 65535"),
        ("[[host]]\nname = 'a'\nport = 'x'", "port must be a whole number"),
        ("[[host]]\nname = 'a'\ntargets = 'x'", "targets must be a list"),
        ("[[host]]\nname = 'a'\ntargets = ['']", "targets must be a list of drives"),
        ("[[host]]\nname = 'a'\nlabels = { zone = 1 }", "labels must be text"),
        ("[[host]]\nname = 'a'\nlabels = { 'a b' = 'x' }", "labels must have words as names"),
        ("[[host]]\nname = 'a'\nslots = { '/dev/sda' = '' }", "slots must have"),
        ("[[host]]\nname = 'a'\nslots = 'bay 1'", "slots must be"),
        ("[defaults.slots]\n'/dev/sda' = '1'\n[[host]]\nname = 'a'\nslots = 3", "slots must be"),
        ("[[host]]\nname = 'a'\npassword = 'x'", "password is not known"),
        ("[[host]]\nname = 'a'\n[[host]]\nname = 'a'", "two hosts are called a"),
        ("[[host]]\nname = 'a'\n[[host]]\nname = 'b'\naddress = 'a'", "a and b have the same address"),
        ("not toml", "not TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_a_hint(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(IogaugeError, match=message) as refused:
        hosts(tmp_path, text)
    assert refused.value.hint
    assert "hosts.toml" in str(refused.value)


def test_a_missing_file_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(IogaugeError, match="no such file") as refused:
        load_hosts(tmp_path / "none.toml")
    assert refused.value.hint


def test_computers_behind_one_address_have_ports_of_their_own(tmp_path: Path) -> None:
    text = "".join(
        f"[[host]]\nname = 'c{port}'\naddress = '127.0.0.1'\nport = {port}\n" for port in (2201, 2202)
    )
    assert len(hosts(tmp_path, text)) == 2


WORDS = st.sampled_from(
    [
        "[[host]]",
        "[defaults]",
        "[host]",
        "name",
        "labels",
        "targets",
        "port",
        "=",
        "'a'",
        "['x']",
        "22",
        "-1",
        "{",
        "}",
    ]
)


@given(text=st.one_of(st.text(max_size=80), st.lists(WORDS, max_size=12).map("\n".join)))
def test_any_text_is_read_or_refused_with_a_hint(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("hosts") / "hosts.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert read_or_hint(path)


VALUES = st.recursive(
    st.one_of(
        st.integers(-1, 70000), st.booleans(), st.sampled_from(["a", "b", "", "-x", "x y", "\n", "../a"])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(["zone", "a b"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(
    tables=st.lists(
        st.dictionaries(st.sampled_from([*HostEntry.model_fields, "other"]), VALUES, max_size=4), max_size=3
    )
)
def test_any_table_is_read_or_refused_with_a_hint(
    tmp_path_factory: pytest.TempPathFactory, tables: list[dict[str, object]]
) -> None:
    path = tmp_path_factory.mktemp("hosts") / "hosts.toml"
    path.write_text("".join(f"[[host]]\n{''.join(map(line, table.items()))}" for table in tables))
    assert read_or_hint(path)


def read_or_hint(path: Path) -> tuple[HostEntry, ...] | str | None:
    """Return the hosts of a file, at least one, or the hint of the error."""
    try:
        return load_hosts(path)
    except IogaugeError as error:
        return error.hint


def line(item: tuple[str, object]) -> str:
    return f"{item[0]} = {toml(item[1])}\n"


def toml(value: object) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{name}" = {toml(inner)}' for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return '"' + value.replace("\n", "\\n") + '"' if isinstance(value, str) else str(value)
