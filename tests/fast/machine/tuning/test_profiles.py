"""Profiles: those of iogauge, and what is wrong with a user's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.errors import IogaugeError, UsageError
from iogauge.machine.tuning.profile import load_profile, profile_names
from iogauge.machine.tuning.settings import SETTINGS

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize("name", profile_names())
def test_every_setting_of_a_profile_has_its_source(name: str) -> None:
    profile = load_profile(name)
    assert profile.title
    assert profile.source
    assert [value.id for value in profile.settings if not value.source] == []


def test_the_published_profile_is_the_last_rung() -> None:
    wanted = {value.id: value.wanted for value in load_profile("published-linux").settings}
    assert wanted == {
        "cpu.governor": "performance",
        "load.irqbalance": "stopped",
        "interrupts.affinity": "queues",
        "cpu.turbo_intel": "off",
        "cpu.boost": "off",
        "cpu.frequency_range": "3000000",
    }


def test_a_profile_of_your_own(tmp_path: Path) -> None:
    path = tmp_path / "quiet.toml"
    path.write_text(
        'title = "Quiet"\n[settings]\ncpu.governor = "performance"\n'
        'kernel.stat_interval = {value = 10, source = "me"}\n'
    )
    profile = load_profile(str(path))
    assert (profile.name, profile.title) == ("quiet", "Quiet")
    assert [(value.id, value.wanted, value.source) for value in profile.settings] == [
        ("cpu.governor", "performance", ""),
        ("kernel.stat_interval", "10", "me"),
    ]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            'title = "x"\n[settings]\ncpu.govenor = "x"\n',
            "no setting 'cpu.govenor'",
            "did you mean cpu.governor?",
        ),
        ('title = "x"\n[settings]\ncpu.boost = "maybe"\n', "cpu.boost cannot be 'maybe'", "it is on or off"),
        ('title = "x"\n[settings]\nblock.nomerges = 3\n', "block.nomerges cannot be '3'", "it is 0 to 2"),
        ('title = "x"\n[settings]\ncpu.boost = true\n', "cpu.boost must be text, a whole number", "write"),
        (
            'title = "x"\n[settings]\ncpu.boost = {value = "on", why = "x"}\n',
            "cpu.boost must be text",
            "write",
        ),
        ('title = "x"\n[settings]\n', "has no settings", "add"),
        ('title = "x"\n', "settings is missing", "[settings]"),
        ('[settings]\ncpu.boost = "on"\n', "title is missing", "title"),
        ('title = "x"\nrungs = 1\n[settings]\ncpu.boost = "on"\n', "rungs is not known", "[settings]"),
        ('title = "x"\nsettings = 1\n', "settings must be an object", "[settings]"),
        ("title = ", "not TOML", "toml.io"),
    ],
)
def test_what_is_wrong_with_a_profile_is_said(tmp_path: Path, text: str, message: str, hint: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(IogaugeError) as caught:
        load_profile(str(path))
    assert message in str(caught.value)
    assert hint in (caught.value.hint or "")


def test_a_name_that_there_is_not() -> None:
    with pytest.raises(UsageError, match="no profile 'latncy'") as caught:
        load_profile("latncy")
    assert caught.value.hint == "did you mean latency?"
    with pytest.raises(IogaugeError, match="no such file"):
        load_profile("./missing.toml")


def test_the_page_lists_every_setting() -> None:
    page = (ROOT / "docs/tuning.md").read_text()
    assert [
        name for name, setting in SETTINGS.items() if f"| `{name}` | {setting.values} |" not in page
    ] == []
