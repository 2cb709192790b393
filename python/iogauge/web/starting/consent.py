"""What a user types and confirms before a review that writes may begin: the same as on the command line."""

from __future__ import annotations

from dataclasses import dataclass

from iogauge.errors import UsageError
from iogauge.library.drive.listed import confirmations
from iogauge.reviews.manifest import only_reads
from iogauge.schema import Manifest, TargetFacts
from iogauge.text.option import option


@dataclass(frozen=True)
class Consent:
    """A target that a review writes to."""

    path: str
    model: str
    needs_serial: bool
    """Whether its content is lost: the user types its serial number. Otherwise its path is needed only to overwrite a
    file that iogauge did not make."""
    has_serial: bool
    """Whether it has one of its own; otherwise its path stands for it."""


def consents(manifest: Manifest) -> list[Consent]:
    """Return the targets of a review that writes, drive models left out; none if it is known to only read."""
    written = () if only_reads(manifest) else manifest.targets
    return [_consent(target) for target in written if not target.modelled]


def _consent(target: TargetFacts) -> Consent:
    block = target.kind == "block"
    names = confirmations(target.path) if block else ()
    return Consent(target.path, target.model or "", block, has_serial=bool(names) and names[0] != target.path)


def check(needed: list[Consent], *, typed: dict[str, str], confirmed: bool) -> list[str]:
    """Return what the review may destroy, as the user typed it.

    Raises UsageError if a serial number is missing or wrong, or if the user did not confirm that targets are written.
    """
    for consent in needed:
        text = typed.get(consent.path, "")
        if consent.needs_serial and text not in confirmations(consent.path):
            what = "serial number" if consent.has_serial else "path"
            reason = f"the {what} typed is not the drive's" if text else f"no {what} was typed"
            raise UsageError(
                f"{consent.path}: its content will be lost, and {reason}",
                hint=f"type the {what} of the drive exactly, as for {option('destroy')}",
            )
    if needed and not confirmed:
        raise UsageError(
            "the writes to these targets are not confirmed", hint="read the plan, then tick the box"
        )
    return [text for consent in needed if (text := typed.get(consent.path, ""))]
