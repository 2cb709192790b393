"""A drive model as a target: no file is opened, and no data can be lost."""

from __future__ import annotations

from dataclasses import replace

from iogauge import catalog
from iogauge.catalog.state import begun_as, in_state
from iogauge.errors import IogaugeError
from iogauge.schema import ModelFacts, State, TargetFacts
from iogauge.target.handle import Target


class ModelTarget(Target):
    """A drive model, and the machine model in front of it. Always writable."""

    def __init__(self, facts: TargetFacts, *, drive: catalog.ModelFile, machine: catalog.ModelFile) -> None:
        super().__init__(-1, facts=facts, writable=True)
        self.drive = drive
        self.machine = machine


def is_model(path: str) -> bool:
    """Return whether a target's name means a model.

    >>> is_model("model:p4800x"), is_model("/dev/nvme0n1")
    (True, False)
    """
    return path.startswith(catalog.PREFIX)


def open_model(path: str, *, state: State = "as-is") -> ModelTarget:
    """Load the drive and the machine that ``path`` names. Raises IogaugeError if there is no such model.

    ``state`` is the state in which flash starts its runs; ``as-is`` means the drive file's. The ranges of parameters
    are not checked here: ``iogauge.execution.check_model`` does that.

    >>> open_model("model:ram@ideal").facts.kind
    'model'
    """
    drive, machine = catalog.pair(path)
    drive = replace(drive, tree=in_state(drive.tree, state))
    parameters = (drive.parameters, machine.parameters)
    size_bytes = parameters[0].get("capacity_bytes")
    if type(size_bytes) is not int or size_bytes <= 0:
        raise IogaugeError(
            f"{drive.path}: parameters.capacity_bytes is {size_bytes}", hint="it is a whole number of bytes"
        )
    facts = TargetFacts(
        path=path,
        kind="model",
        size_bytes=size_bytes,
        model=drive.title,
        modelled=ModelFacts(
            drive=drive.name,
            drive_version=drive.version,
            machine=machine.name,
            machine_version=machine.version,
            machine_title=machine.title,
            sha256=catalog.digest(*parameters),
            begun_as=begun_as(parameters[0]),
        ),
    )
    return ModelTarget(facts, drive=drive, machine=machine)
