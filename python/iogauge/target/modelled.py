"""A drive model as a target: nothing is opened, and nothing can be lost."""

from __future__ import annotations

import json

from iogauge import models
from iogauge.schema import ModelFacts, TargetFacts
from iogauge.target.handle import Target


class ModelTarget(Target):
    """A drive model, and the machine in front of it, as the core takes them. Always writable."""

    def __init__(self, facts: TargetFacts, *, drive: str, machine: str, machine_name: str) -> None:
        super().__init__(-1, facts=facts, writable=True)
        self.drive = drive
        """The drive's parameters as JSON."""
        self.machine = machine
        """The machine's parameters as JSON."""
        self.machine_name = machine_name


def is_model(path: str) -> bool:
    """Tell whether a target's name means a model.

    >>> is_model("model:p4800x"), is_model("/dev/nvme0n1")
    (True, False)
    """
    return path.startswith(models.PREFIX)


def open_model(path: str) -> ModelTarget:
    """Load the drive and the machine that ``path`` names. Raises IogaugeError where there is no such model.

    >>> open_model("model:ram@ideal").facts.kind
    'model'
    """
    drive_name, machine_name = models.split(path)
    drive = models.drive(drive_name)
    machine = models.machine(machine_name or drive.machine or "ideal")
    parameters = (drive.parameters, machine.parameters)
    facts = TargetFacts(
        path=path,
        kind="model",
        size_bytes=parameters[0].get("capacity_bytes", 0),
        model=drive.title,
        modelled=ModelFacts(
            drive=drive.name,
            drive_version=drive.version,
            machine=machine.name,
            machine_version=machine.version,
            machine_title=machine.title,
            sha256=models.digest(*parameters),
        ),
    )
    return ModelTarget(
        facts,
        drive=json.dumps(parameters[0]),
        machine=json.dumps(parameters[1]),
        machine_name=machine.name,
    )
