"""What is wrong with a SATA drive, by its own account."""

from __future__ import annotations

from collections.abc import Iterator

from iogauge.machine.ata.read import AtaAnswers


def problems(answers: AtaAnswers) -> list[str] | None:
    """Return what is wrong, a clause for each, the worst first; None if the drive did not say."""
    if answers.healthy is None and answers.attributes is None:
        return None
    return list(_problems(answers))


def _problems(answers: AtaAnswers) -> Iterator[str]:
    if answers.healthy is False:
        yield "SMART predicts that the drive fails soon"
    for attribute in answers.attributes or ():
        if attribute.failing:
            name = attribute.name or f"attribute {attribute.id}"
            yield f"{name}: SMART's value {attribute.value} has reached the threshold {attribute.threshold}"
    if counters := answers.statistics:
        if counters.used_percent is not None and counters.used_percent >= 100:
            yield f"{counters.used_percent} % of the media's specified life is used"
        limit, now = counters.limit_C, counters.temperature_C
        if limit is not None and now is not None and now > limit:
            yield f"{now} C, above its limit of {limit} C"
