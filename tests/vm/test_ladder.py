"""``iogauge ladder`` on an emulated NVMe drive: rungs are set and undone, and stock does not differ from itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.vm.guest import Guest
from tests.vm.test_nvme import drive

RUNGS = """
title = "the block layer"

[[rung]]
name = "scheduler mq-deadline"
settings = { block.scheduler = "mq-deadline" }

[[rung]]
name = "completions anywhere"
settings = { block.rq_affinity = 0 }

[[rung]]
name = "turbo off"
settings = { "cpu.turbo_intel/cpu.boost" = "off" }
"""
RUNGS_FILE = "/tmp/rungs.toml"


@pytest.mark.release  # tests/system/test_ladder.py climbs one here, fast/suites/test_ladder.py names what it cannot set
def test_a_ladder_sets_and_undoes_its_rungs_and_names_what_the_machine_cannot_do(guest: Guest) -> None:
    path = drive(guest, "A1")
    queue = f"/sys/block/{Path(path).name}/queue"
    look = f"grep -o '\\[.*\\]' {queue}/scheduler; cat {queue}/rq_affinity"
    before = guest.sh(look)
    guest.run(f"cat > {RUNGS_FILE}", input=RUNGS).ok()
    said = guest.run(
        f"cd /tmp && iogauge ladder {path} --read-only --rungs {RUNGS_FILE} --runtime 300ms --size 64m --seed 1 "
        "--output ladder",
        patience_s=540,
    )
    out = said.ok()
    assert guest.sh(look) == before
    assert "scheduler mq-deadline" in out
    assert "turbo off" in out, "a rung that cannot be set is named"
    findings = json.loads(guest.iogauge("show --json /tmp/ladder").ok())
    effects = json.dumps(findings)
    assert "A/A" in effects
    print(out)  # what each rung is worth here, for whoever runs this by hand
    steps = guest.sh("ls /tmp/ladder/steps").split()
    assert len([name for name in steps if not name.endswith(".json")]) == 6 * 4, "six blocks, stock twice"
