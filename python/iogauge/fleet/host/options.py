"""The options of a host's review, from those of its fleet."""

from __future__ import annotations

from iogauge.errors import UsageError
from iogauge.fleet.host.messages import HostRequest
from iogauge.library.options import ReviewOptions


def options_of(request: HostRequest) -> ReviewOptions:
    """Return the options of a host's review, with its seed. Raises UsageError if there is an unknown one."""
    known = set(ReviewOptions.__annotations__) - {"seed"}
    if unknown := set(request.options) - known:
        raise UsageError(
            f"{', '.join(sorted(unknown))}: no option of a host's review",
            hint=f"there are {', '.join(sorted(known))}",
        )
    options: ReviewOptions = {**request.options, "seed": request.seed}  # type: ignore[typeddict-item]
    return options
