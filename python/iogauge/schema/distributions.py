"""Where the random offsets of a job go: fio's ``random_distribution``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from iogauge.schema.base import Model, Percent


class UniformDistribution(Model):
    """``random``: every block of the region is as likely as any other."""

    kind: Literal["random"] = "random"


class ZipfDistribution(Model):
    """``zipf:theta[/center]``. ``center`` in [0, 1] rotates the hottest block there; else blocks are scattered."""

    kind: Literal["zipf"] = "zipf"
    theta: Annotated[float, Field(gt=0)]
    center: Annotated[float, Field(ge=0, le=1)] | None = None


class ParetoDistribution(Model):
    """``pareto:h[/center]``, h in (0, 1)."""

    kind: Literal["pareto"] = "pareto"
    h: Annotated[float, Field(gt=0, lt=1)]
    center: Annotated[float, Field(ge=0, le=1)] | None = None


class NormalDistribution(Model):
    """``normal:deviation[/center]``: deviation in percent of the region, centred on ``center`` or its middle."""

    kind: Literal["normal"] = "normal"
    deviation_percent: Percent
    center: Annotated[float, Field(ge=0, le=1)] | None = None


class Zone(Model):
    """One zone of ``zoned``: ``access_percent`` of the I/Os go to the next ``size_percent`` of the region."""

    access_percent: Percent
    size_percent: Percent


class ZonedDistribution(Model):
    """``zoned:50/5:30/15:20/80``: both columns add up to 100."""

    kind: Literal["zoned"] = "zoned"
    zones: tuple[Zone, ...]


FileDistribution = Annotated[
    UniformDistribution | ZipfDistribution | ParetoDistribution | NormalDistribution,
    Field(discriminator="kind"),
]
"""How likely each file of a job is. As in fio, ``normal`` is a bell as wide as a twelfth of the files, to which the
deviation adds a uniform share."""

Distribution = Annotated[
    UniformDistribution | ZipfDistribution | ParetoDistribution | NormalDistribution | ZonedDistribution,
    Field(discriminator="kind"),
]
