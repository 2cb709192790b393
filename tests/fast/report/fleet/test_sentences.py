"""The answer on a fleet in words: what is slow, who is missing, how even it was."""

from __future__ import annotations

from dataclasses import replace

from iogauge.report.fleet.sentences import answer, circumstances, findings, how_it_ran, late
from iogauge.report.fleet.tables import hosts
from iogauge.report.fleet.view import Share, Start
from tests.fast.report.fleet.made_up import empty, fleet, healthy


def test_the_answer_names_what_is_slow_and_who_is_missing() -> None:
    assert answer(fleet()) == (
        "1 host is slow: r4 (1.180x, 1.140 to 1.220; 8 drives). "
        "1 of 72 drives is slow: r7-nvme3 of host r7 (1.31x, 1.22 to 1.40). "
        "1 host is missing: r9 (lost: no answer for 10 s, 3 steps complete)."
    )


def test_a_host_whose_review_still_runs_has_not_ended() -> None:
    view = replace(healthy(), hosts=(replace(healthy().hosts[0], outcome="planned", why=""),))
    assert "1 host is missing: r1 (not ended)." in answer(view)
    assert hosts(view).rows[0][1] == "not ended"


def test_a_healthy_fleet_has_no_finding() -> None:
    assert answer(healthy()) == "None of 16 drives is slow beside its peers."
    assert findings(healthy()) == []


def test_many_are_counted_after_the_first() -> None:
    view = fleet()
    slow = [
        replace(view.slow[0], name=f"d{number} of host r1", slowness=2 - number / 10) for number in range(5)
    ]
    missing = [replace(view.hosts[8], name=f"m{number}") for number in range(5)]
    text = answer(replace(view, slow=tuple(slow), hosts=(*view.hosts[:8], *missing)))
    assert "5 of 72 drives are slow: d0 of host r1" in text
    assert "and 2 more. 5 hosts are missing: m0" in text
    assert "d3" not in text
    assert "m3" not in text


def test_slow_at_times_is_said() -> None:
    view = fleet()
    assert "1.22 to 1.40; at times)" in answer(replace(view, slow=(replace(view.slow[0], at_times=True),)))


def test_without_peers_the_reason_is_the_answer() -> None:
    view = fleet()
    alone = tuple(replace(drive, slowness=None, rate=None) for drive in view.drives[:2])
    unjudged = replace(view, drives=alone, slow=(), undecided=("Model X has 2 drives.",))
    assert answer(unjudged).startswith(
        "The hosts together had a p99 of 210 us (mixed.reads-100, read). "
        "No drive was judged: Model X has 2 drives. 1 host is missing"
    )
    assert answer(empty()).startswith(
        "No drive was judged: no host has measured anything. 10 hosts are missing"
    )


def test_findings_are_the_widest_first() -> None:
    host, drive = findings(fleet())
    assert host.startswith("Host r4: the latency of its 8 drives")
    assert (
        drive == "Drive r7-nvme3 of host r7: slow throughout: 1.31x (1.22 to 1.40) the latency of its peers."
    )


def test_what_is_left_out_and_what_differs_is_said() -> None:
    _, excluded, differing = circumstances(fleet())
    assert excluded == "Not all hosts ran for 2 s, which the fleet's figures leave out."
    assert differing.startswith("Hosts differ in kernel, governor,")


def test_seconds_without_all_hosts_count_once_for_both_directions() -> None:
    view = fleet()
    reads = [group for group in view.groups if group.by == "fleet"]
    writes = [replace(group, direction="write") for group in reads]
    _, excluded, _ = circumstances(replace(view, groups=(*reads, *writes)))
    assert excluded == "Not all hosts ran for 2 s, which the fleet's figures leave out."


def test_a_step_without_a_common_second_is_named() -> None:
    view = fleet()
    group, *others = view.groups
    empty_group = replace(group, requests=0, iops=None, mean_ns=None, p50_ns=None, p99_ns=None, excluded_s=60)
    sentences = circumstances(replace(view, groups=(empty_group, *others)))
    assert sentences[1] == "Not all hosts ran for 1 min 01 s, which the fleet's figures leave out."
    assert sentences[2] == "Without figures, since its hosts never ran all at the same time: mixed.reads-100."


def shared(mode: str, lowest: float) -> list[str]:
    view = fleet()
    first, second, *others = view.groups
    even = replace(first, lowest=Share(host="r1", iops=99e3), highest=Share(host="r2", iops=100e3))
    uneven = replace(second, lowest=Share(host="r5", iops=lowest), highest=Share(host="r2", iops=100e3))
    return how_it_ran(replace(view, mode=mode, groups=(even, uneven, *others)))


def test_how_evenly_hosts_shared_is_said_of_the_least_even_step() -> None:
    _, shares, _ = shared("together", 80e3)
    assert shares == (
        "Hosts shared least evenly at mixed.reads-70 (read): from 80,000 (r5) to 100,000 (r2) IOPS, a ratio of 1.25; "
        "4,012,000 IOPS in all."
    )
    assert "a host had none" in shared("together", 0.0)[1]
    assert len(shared("staggered", 80e3)) == 2, "those who come later have less by intention"


def test_lateness_is_that_of_99_in_100_starts_early_or_late() -> None:
    starts = [
        Start(host=f"r{number}", step="1", late_ns=-1e3 if number else 9e9, bound_ns=number)
        for number in range(200)
    ]
    assert late(starts) == (1e3, 199)
