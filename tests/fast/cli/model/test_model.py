"""``iogauge model``: what there is, every number of it, and a file of one's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from iogauge import catalog
from iogauge.cli import main
from iogauge.library.models.described import quantity


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command that succeeds prints; nothing on stderr."""
    assert main(["model", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_lists_every_model_on_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    table, behind = said(capsys, "list").rstrip().rsplit("\n\n", 1)
    lines = table.splitlines()
    names = [line.split()[0] for line in lines if line]
    assert names == ["drive", *catalog.shipped("drive"), "machine", *catalog.shipped("machine")]
    (optane,) = (line for line in lines if line.startswith("p4800x-375g "))
    assert " ".join(optane.split()) == "p4800x-375g p4800x Intel Optane SSD DC P4800X 375GB"
    assert (
        " ".join(behind.split())
        == "unless a target names a machine, drives are behind anandtech-linux; ram is behind ideal"
    )
    assert max(map(len, lines)) <= 80


def test_lists_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    models = json.loads(said(capsys, "list", "--json"))
    assert [model["name"] for model in models["drives"]] == catalog.shipped("drive")
    assert [model["name"] for model in models["machines"]] == catalog.shipped("machine")
    assert {"name": "ideal", "also": [], "title": "a machine that costs nothing", "version": 1} in models[
        "machines"
    ]


def test_shows_every_number_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "show", "p4800x")
    words = " ".join(out.split())
    model = catalog.drive("p4800x")
    for place, entry in model.entries():
        assert f"{place} {quantity(place, entry.value)} {entry.kind} {entry.source}" in words
    assert "media.family xpoint" in words
    assert model.notes in words
    assert (
        out.splitlines()[-1]
        == f"digest {catalog.digest(*(file.parameters for file in catalog.pair('p4800x')))}"
    )
    assert (
        max(len(line) for line in out.splitlines() if not line.startswith("file ")) <= 80
    )  # a path is as long as it is


def test_shows_a_machine_alone_and_behind_a_drive(capsys: pytest.CaptureFixture[str]) -> None:
    alone = said(capsys, "show", "linux-governor")
    assert alone.startswith("machine linux-governor: ")
    assert "changes  linux-stock" in alone
    both = said(capsys, "show", "ram@linux-governor")
    assert both.startswith("drive ram: ")
    assert "\nmachine linux-governor: " in both


def test_shows_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    models = json.loads(said(capsys, "show", "p4800x@ideal", "--json"))
    assert list(models) == ["drive", "machine", "sha256"]
    capacity = models["drive"]["parameters"][0]
    assert (capacity["parameter"], capacity["value"], capacity["kind"]) == (
        "capacity_bytes",
        375083606016,
        "published",
    )
    assert {"parameter": "media.family", "value": "xpoint"} in models["drive"]["parameters"]
    (stall,) = (
        parameter
        for parameter in models["drive"]["parameters"]
        if parameter["parameter"] == "media.read_stalls.0.mean_ns"
    )
    assert len(stall["range"]) == 2


@pytest.mark.parametrize("name", ["p4800x-750g", "linux-turbo-off-3ghz"])
def test_a_new_model_is_the_old_one_and_stands_alone(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert said(capsys, "new", "--from", name) == f"{name}.toml\n"
    made, model = catalog.load(f"{name}.toml"), catalog.load(name)
    assert made.tree == model.tree
    assert (made.base, made.also, made.machine) == (None, (), model.machine)
    assert made.title == f"like {model.title}"
    assert f"{name}.toml" in said(capsys, "show", f"./{name}.toml")


def test_a_new_model_runs_as_its_head_says(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "new", "--from", "p4800x", "--output", "mine.toml")
    head = [line[2:].strip() for line in Path("mine.toml").read_text().splitlines() if line.startswith("#")]
    (run,) = (line for line in head if line.startswith("iogauge run "))
    arguments = run.replace("--runtime=10", "--runtime=10ms").split()[1:]
    assert main([*arguments, "-v"]) == 0
    assert "modelled   mine (version 1) behind anandtech-linux (version 1)" in capsys.readouterr().out


def test_a_new_model_overwrites_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.toml").write_text("precious")
    assert main(["model", "new", "--from", "p4800x", "--output", "mine.toml"]) == 1
    assert capsys.readouterr().err.startswith("error: mine.toml: exists\nhint: ")
    assert Path("mine.toml").read_text() == "precious"


def test_a_wrong_parameter_is_named_wherever_it_is_met(capsys: pytest.CaptureFixture[str]) -> None:
    text = catalog.to_toml(catalog.drive("p4800x"))
    Path("mine.toml").write_text(text.replace("read_chunk_ns = { value = ", "read_chunk_ns = { value = -"))
    for arguments in (
        ["model", "show", "mine.toml"],
        ["model", "new", "--from", "mine.toml", "--output", "other.toml"],
        ["run", "--name=x", "--filename=model:mine.toml", "--number_ios=1"],
        ["review", "model:mine.toml", "--output", "saved"],
    ):
        assert main(arguments) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert "mine.toml: parameters: media.read_chunk_ns is -" in err.splitlines()[0]
        assert err.splitlines()[1].startswith("hint: ")
    assert sorted(path.name for path in Path().iterdir()) == ["mine.toml"]


@pytest.mark.parametrize(
    ("place", "value", "shown"),
    [
        ("capacity_bytes", 375083606016, "375.1 GB"),
        ("media.buffer_bytes", 16 << 20, "16 MiB"),
        ("media.channel_Bps", 400_000_000, "400.0 MB/s"),
        ("media.erase_ns", 3_000_000, "3.000 ms"),
        ("power.idle_W", 5.25, "5.25 W"),
        ("thermal.throttle_C", 70, "70 C"),
        ("thermal.rise_C_per_W", 4.5, "4.5 C/W"),
        ("thermal.time_constant_s", 120, "120 s"),
        ("media.refresh.lasts_h", 3, "3 h"),
        ("media.over_provisioning", 0.07, "0.07"),
        ("media.rpm", 7200, "7,200"),
        ("polls", False, "no"),
    ],
)
def test_a_number_has_the_unit_that_its_place_ends_with(place: str, value: float, shown: str) -> None:
    assert quantity(place, value) == shown
