"""Profiles: what a file may say, and that iogauge's name positions that their suites have."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.catalog.profiles import Criterion, load_profile, profile_names
from iogauge.errors import UsageError
from iogauge.reviews.manifest import new_manifest
from iogauge.suites import SUITES
from iogauge.suites.tenants import FIRST, NEIGHBOURS
from tests import builders

CRITERION = {"name": "a", "suite": "mixed", "at": 70, "source": "ours: a test"}


@pytest.mark.parametrize("name", profile_names())
def test_every_position_of_a_profile_is_planned_by_its_suite(name: str) -> None:
    profile = load_profile(name)
    target = builders.target("/dev/nvme0n1", kind="block", size_bytes=10**12, model="Flash 9000")
    manifest = new_manifest(
        [SUITES[suite] for suite in profile.suites],
        [target],
        seed=1,
        command=(),
        machine=builders.manifest([]).machine,
        ceiling=None,
        use=(profile,),
    )
    planned = {(plan.suite, step.series, step.at) for plan in manifest.plans for step in plan.steps}
    # The steps of this suite follow from its search.
    planned |= {("tenants", others.series, float(count)) for others in NEIGHBOURS for count in FIRST}
    wanted = {(criterion.suite, criterion.series, criterion.at) for criterion in profile.criterion}
    assert wanted <= planned


@pytest.mark.parametrize("name", profile_names())
def test_every_limit_says_whose_it_is(name: str) -> None:
    for criterion in load_profile(name).criterion:
        assert criterion.source.startswith(("ours: ", "etcd's ", "Aerospike's "))


@pytest.mark.parametrize(
    ("quantity", "limit", "value"),
    [
        ("p99", {"at_most": "1.5ms"}, 1.5e6),
        ("p99.9", {"at_most": "10us"}, 1e4),
        ("mean", {"at_most": "2s"}, 2e9),
        ("iops", {"at_least": 500}, 500),
        ("iops", {"at_least": "500"}, 500),
        ("rate", {"at_least": "1.5GB/s"}, 1.5e9),
        ("rate", {"at_least": "100 MB/s"}, 1e8),
    ],
)
def test_limits_are_read_with_their_units(quantity: str, limit: dict[str, object], value: float) -> None:
    criterion = Criterion.model_validate({**CRITERION, "quantity": quantity, **limit})
    assert criterion.limit == value
    assert criterion.upper == ("at_most" in limit)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('quantity = "p99"', "needs at_most or at_least, and not both"),
        ('quantity = "p99"\nat_most = "1ms"\nat_least = "1us"', "needs at_most or at_least, and not both"),
        ('quantity = "p99"\nat_most = "10"', "lacks its unit"),
        ('quantity = "p99"\nat_most = "10 parsecs"', "'10 parsecs' is not a time"),
        ('quantity = "p99"\nat_most = "-1"', "1: '-1' is not a time$"),
        ('quantity = "p0"\nat_most = "10ms"', "is none of mean, p99"),
        ('quantity = "p100"\nat_most = "10ms"', "is none of mean, p99"),
        ('quantity = "iops"\nat_least = "many"', "not a number of requests"),
        ('quantity = "iops"\nat_least = "0"', "must be above 0"),
        ('quantity = "rate"\nat_least = "100"', "not a rate"),
        ('quantity = "mean"\nat_most = "1ms"\nbeyond = 1', "is not known"),
        ('quantity = "mean"\nat_most = true', "must be text"),
    ],
)
def test_a_wrong_criterion_is_refused_with_its_place(line: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        f'title = "a"\nuse = "b"\n[[criterion]]\nname = "c"\nsuite = "mixed"\nat = 70\nsource = "ours"\n{line}\n'
    )
    with pytest.raises(UsageError, match=reason) as refused:
        load_profile(str(path))
    assert "criterion.1" in str(refused.value)
    assert refused.value.hint


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="no profile 'etdc'") as refused:
        load_profile("etdc")
    assert refused.value.hint == "did you mean etcd?"
