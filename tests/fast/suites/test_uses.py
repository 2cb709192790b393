"""What a profile names must be a suite's: otherwise it is refused with its place, before anything is judged or run."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.catalog.profiles import load_profile, profile_names
from iogauge.cli import main
from iogauge.errors import UsageError
from iogauge.reviews.manifest import new_manifest
from iogauge.suites import SUITES
from iogauge.suites.uses import check_profile
from tests import builders

WRITES = "write, then fdatasync"


def profile(path: Path, suite: str, series: str, at: float) -> str:
    """Write a profile with one criterion at a position, and return its path."""
    path.write_text(
        f'title = "a"\nuse = "b"\n[[criterion]]\nname = "c"\nsuite = "{suite}"\nseries = "{series}"\nat = {at}\n'
        'quantity = "iops"\nat_least = 1\nsource = "ours"\n'
    )
    return str(path)


@pytest.mark.parametrize(
    ("suite", "series", "at", "problem", "hint"),
    [
        (
            "comit-latency",
            WRITES,
            1,
            "criterion.1.suite: there is no suite",
            "did you mean 'commit-latency'?",
        ),
        ("commit-latency", f"{WRITES}k", 1, "criterion.1.series: ", f"did you mean '{WRITES}'?"),
        ("mixed", "reads", 70, "criterion.1.series: mixed has no", "leave it out: there is only one"),
        ("commit-latency", WRITES, 3, "criterion.1.at: ", "positions: 1, 2, 4, 8, 16"),
        ("tenants", "boots", 4, "criterion.1.series: ", "beside others that clone images, "),
    ],
)
def test_a_typo_is_refused_by_judge_and_review(
    suite: str,
    series: str,
    at: float,
    problem: str,
    hint: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    own = profile(tmp_path / "own.toml", suite, series, at)
    for command in (["judge", "nothing"], ["review", "model:ram"], ["plan", "model:ram"]):
        assert main([*command, "--for", own]) == 2
        error, remedy = capsys.readouterr().err.splitlines()
        assert error.startswith(f"error: {own}: {problem}")
        assert remedy.startswith(f"hint: {hint}")


@pytest.mark.parametrize(
    ("suite", "series", "at"),
    [
        *(("write-pressure", "", 123), ("tenants", "beside others that boot", 3), ("own.py", "mine", 1)),
        *(("stack-overhead", "4 KiB random reads, depth 1", 2), ("mixed", "", 70)),
    ],
)
def test_positions_that_follow_from_the_target_are_not_refused(
    suite: str, series: str, at: float, tmp_path: Path
) -> None:
    check_profile(load_profile(profile(tmp_path / "own.toml", suite, series, at)))


@pytest.mark.parametrize("name", profile_names())
def test_profiles_of_iogauge_name_what_there_is(name: str) -> None:
    check_profile(load_profile(name))


def test_a_review_says_where_a_suite_lacks_the_position_on_this_target(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"no step of mixed on /dev/nvme0n1 is at a position that the profile"
    ):
        new_manifest(
            [SUITES["mixed"]],
            [builders.target("/dev/nvme0n1", kind="block", size_bytes=10**12)],
            seed=1,
            command=(),
            machine=builders.manifest([]).machine,
            ceiling=None,
            use=[load_profile(profile(tmp_path / "own.toml", "mixed", "", 71))],
        )
