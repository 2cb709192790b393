"""Files of rungs: what they may hold, and what is said of those that do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge import catalog
from iogauge.catalog.ladders import load_ladder
from iogauge.errors import IogaugeError


def written(folder: Path, text: str) -> str:
    path = folder / "rungs.toml"
    path.write_text(text)
    return str(path)


def test_settings_are_written_as_in_profiles_or_flat(tmp_path: Path) -> None:
    ladder = load_ladder(
        written(
            tmp_path,
            """
            [[rung]]
            name = "one"
            [rung.settings]
            cpu.governor = "performance"
            block.nomerges = { value = 2, source = "ours" }
            [[rung]]
            name = "two"
            settings = { "cpu.turbo_intel/cpu.boost" = "off" }
            """,
        )
    )
    one, two = ladder.rung
    assert one.settings == {"cpu.governor": "performance", "block.nomerges": 2}
    assert two.settings == {"cpu.turbo_intel/cpu.boost": "off"}
    assert ladder.title == "your own rungs"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "rung: is missing"),
        ("rung = []", "rung"),
        ("[[rung]]\nsettings = {a = 1}", "rung.1.name: is missing"),
        ('[[rung]]\nname = "x"', "rung.1.settings: is missing"),
        ('[[rung]]\nname = "x"\nsettings = {}', "rung.1.settings"),
        ('[[rung]]\nname = "x"\nsettings = {a.b = [1]}', "rung.1.settings.a.b"),
        ('[[rung]]\nname = "x"\nsettings = {a = 1}\nmore = 2', "rung.1.more: is not known"),
        ('[[rung]]\nname = "stock"\nsettings = {a = 1}', "the name 'stock' is taken"),
        (2 * '[[rung]]\nname = "x"\nsettings = {a = 1}\n', "the name 'x' is taken"),
        (
            '[[rung]]\nname = "a/b"\nsettings = {a = 1}\n[[rung]]\nname = "A b"\nsettings = {a = 2}',
            "as 'a/b'",
        ),
        ('[[rung]]\nname = "Stock  again"\nsettings = {a = 1}', "as 'stock again'"),
        ('[[rung]]\nname = "two\\nlines"\nsettings = {a = 1}', "cannot be a rung's name"),
        ('[[rung]]\nname = "/../"\nsettings = {a = 1}', "cannot be a rung's name"),
        ("not toml", "not TOML"),
    ],
)
def test_what_is_no_ladder_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(IogaugeError) as caught:
        load_ladder(written(tmp_path, text))
    assert problem in str(caught.value)
    assert caught.value.hint


def test_an_unknown_ladder_names_those_that_there_are() -> None:
    with pytest.raises(IogaugeError) as caught:
        load_ladder("nothing")
    assert "published-linux" in str(caught.value.hint)


def test_the_published_ladder_has_machine_models_and_is_none_itself() -> None:
    ladder = load_ladder()
    machines = [ladder.stock, *(rung.machine for rung in ladder.rung)]
    assert len(machines) == 6
    assert set(machines) <= set(catalog.shipped("machine"))
    with pytest.raises(IogaugeError, match="no model"):
        catalog.load("published-linux")
