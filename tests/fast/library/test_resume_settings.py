"""A review of a real file is resumed: it says first which settings changed, and goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.library.options import ReviewOptions
from iogauge.library.review import begin, reopen
from iogauge.machine.audit import audits_of
from iogauge.schema import Audit
from iogauge.store import Review

SMALL: ReviewOptions = {"suites": ["mixed"], "size": "1m", "runtime": "20ms", "seed": 7}


@pytest.fixture
def saved(tmp_path: Path) -> Review:
    """A review that has begun, and has no steps yet."""
    return begin(
        [str(tmp_path / "drive.bin")],
        (),
        output=tmp_path / "r",
        destroy=(),
        command=(),
        on_plan=lambda _: None,
        say=lambda _: None,
        **SMALL,
    )


def said(saved: Review) -> list[str]:
    """Return what is said of settings when the review is resumed."""
    messages: list[str] = []
    assert reopen(saved.path, (), destroy=(), say=messages.append).manifest.seed == 7
    return [message for message in messages if "since this review began" in message and "setting" in message]


def with_values(audits: tuple[Audit, ...], **values: str) -> tuple[Audit, ...]:
    """Return the audits with other values of some settings of the machine."""
    machine, *drives = audits
    facts = tuple(
        fact.model_copy(update={"value": value, "meaning": value, "verdict": "recorded"})
        if (value := values.get(fact.id.replace(".", "_")))
        else fact
        for fact in machine.facts
    )
    return (machine.model_copy(update={"facts": facts}), *drives)


def test_settings_that_changed_are_named(saved: Review) -> None:
    begun = with_values(
        audits_of(saved.manifest.targets),
        kernel_command_line="quiet",
        kernel_version="2.6.0",
        load_average="0",
    )
    saved.save_audits(begun)
    (message,) = said(saved)
    assert message.startswith(
        "warning: 2 settings changed since this review began, so its steps may not be comparable: kernel was 2.6.0"
    )
    assert "kernel command line was quiet, and is " in message


def test_nothing_is_said_where_nothing_changed_or_nothing_is_known(saved: Review) -> None:
    assert said(saved) == []
    saved.save_audits(audits_of(saved.manifest.targets))
    assert said(saved) == []
