"""Drive models as objects: described, copied, fitted, compared, served; the commands print the same."""

from __future__ import annotations

import html
import json
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

import iogauge
from iogauge import catalog
from iogauge.cli import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["p4800x", "linux-governor", "ram@linux-governor", "model:p4800x"])
def test_a_model_is_what_show_prints(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    model = iogauge.model(name)
    assert main(["model", "show", name]) == 0
    assert capsys.readouterr().out == str(model)
    assert main(["model", "show", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(model.to_dict()))
    assert model.to_arrow().num_rows == sum(1 for file in model.files for _ in file.entries())
    assert model.files[0].title in html.unescape(model._repr_html_())


def test_a_place_is_a_value() -> None:
    model = iogauge.model("p4800x@ideal")
    assert model["media.family"] == "xpoint"
    assert model["capacity_bytes"] == 375083606016
    with pytest.raises(KeyError, match="nothing"):
        model["nothing"]


def test_a_copy_is_the_commands(folder: Path) -> None:
    assert iogauge.new_model("p4800x") == Path("p4800x-375g.toml")
    assert main(["model", "new", "--from=p4800x", "--output=other.toml"]) == 0
    mine, other = (Path(name).read_text() for name in ("p4800x-375g.toml", "other.toml"))
    assert mine == other.replace("other.toml", "p4800x-375g.toml")
    with pytest.raises(iogauge.IogaugeError, match="exists") as caught:
        iogauge.new_model("p4800x", "other.toml")
    assert caught.value.hint == "name another file, or remove it"


def test_models_are_compared_with_what_was_published(capsys: pytest.CaptureFixture[str]) -> None:
    news: list[iogauge.Progress] = []
    comparison = iogauge.compare_models(["optane-memory-32g"], on_progress=news.append)
    assert main(["model", "compare", "optane-memory-32g"]) == (0 if comparison.holds else 3)
    assert capsys.readouterr().out == str(comparison)
    table = comparison.to_arrow()
    assert table.num_rows == len(comparison.verdicts)
    assert all(table["holds"].to_pylist()) == comparison.holds
    assert comparison.to_markdown().startswith("**")
    assert news[0].event == "begin"
    assert {piece.number for piece in news[1:]} == set(range(1, news[1].steps + 1))


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A review of memory that answers in 20 us, beside a model of it whose number may be fitted."""
    place = tmp_path_factory.mktemp("reviewed")
    text = catalog.to_toml(catalog.drive("ram"))
    one = '{ value = 0, kind = "assumed", source = "by definition" }'
    for name, value in (("real", 20_000), ("guess", 5_000)):
        number = f'{{ value = {value}.0, kind = "fitted", start = 5000, range = [1000, 50000], source = "a guess" }}'
        (place / f"{name}.toml").write_text(text.replace(f"latency_ns = {one}", f"latency_ns = {number}"))
    iogauge.review(
        f"model:{place}/real.toml", suites=["write-pressure"], seed=1, runtime="50ms", output=place / "review"
    )
    return place


@pytest.mark.slow
def test_a_twin_is_fitted(reviewed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(reviewed / "guess.toml", ".")
    news: list[iogauge.Progress] = []
    twin = iogauge.fit_twin(reviewed / "review", "./guess.toml", "twin.toml", on_progress=news.append)
    assert iogauge.model("./twin.toml")["media.latency_ns"] == pytest.approx(20_000, rel=0.01)
    assert [number.free.place for number in twin.fitted.numbers] == ["media.latency_ns"]
    assert len(twin.figures) > 10
    assert {piece.event for piece in news} == {"begin", "trial"}
    assert str(news[-1]).endswith(" of their limits")
    file = f"--review={reviewed / 'review'}"
    assert main(["model", "fit", file, "--from=./guess.toml", "--output=again.toml"]) == 0
    assert capsys.readouterr().out.startswith(str(twin))


def test_what_cannot_be_fitted_is_refused(reviewed: Path) -> None:
    review = reviewed / "review"
    Path("kept.toml").write_text("kept")
    with pytest.raises(iogauge.UsageError, match=r"output twin: a model's file ends in \.toml"):
        iogauge.fit_twin(review, "ram", "twin")
    with pytest.raises(iogauge.IogaugeError, match="exists"):
        iogauge.fit_twin(review, "ram", "kept.toml")
    with pytest.raises(iogauge.IogaugeError, match="no number in it is fitted"):
        iogauge.fit_twin(review, "ram", "twin.toml")
    with pytest.raises(iogauge.UsageError, match="ram: no published figure is of this model"):
        iogauge.fit_published("models", "ram")
    assert [path.name for path in Path().iterdir()] == ["kept.toml"]


def test_a_model_is_served_until_the_block_ends() -> None:
    with iogauge.serve_model("p4800x", tcp="127.0.0.1:0", dilate=1_000_000, size="1g") as server:
        host, _, port = server.uri.removeprefix("nbd://").removesuffix("/p4800x").rpartition(":")
        with socket.create_connection((host, int(port))) as client:
            assert client.recv(8, socket.MSG_WAITALL) == b"NBDMAGIC"
        assert server.serving.size_bytes == 1 << 30
    assert server.stop().connections >= 1
    assert server.stop().requests == 0
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((host, int(port)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "socket='PATH', or tcp='127.0.0.1:10809'"),
        ({"socket": "x", "tcp": "127.0.0.1:0"}, "one place to listen at"),
        ({"socket": "x", "dilate": 0}, "dilate 0: must be from 1"),
        ({"socket": "x", "seed": -1}, "seed -1: must be at least 0"),
        ({"socket": "x", "size": "much"}, "size much"),
        ({"socket": "x", "store": "y", "memory": "1g"}, "leave out memory, or store"),
        ({"socket": "x", "allow_remote": True}, "allow_remote is about tcp"),
        ({"tcp": "10809"}, "tcp 10809: not HOST:PORT"),
        ({"name": "p4800x@ideal", "socket": "x"}, "iogauge.serve_model('p4800x')"),
    ],
)
def test_what_cannot_be_served_is_refused(folder: Path, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(iogauge.UsageError) as caught:
        iogauge.serve_model(**{"name": "p4800x", **arguments})
    assert words in f"{caught.value} {caught.value.hint}"
    assert list(folder.iterdir()) == []
