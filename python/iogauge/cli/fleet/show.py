"""``iogauge fleet show``: print which drives of a saved fleet are slow, and its merged figures.

Print what 'iogauge fleet review' printed at its end, judged again by this version of iogauge: which drives, hosts and
models are slow beside their peers, which hosts are missing, and the percentiles of all hosts together. It fits on one
screen; --verbose prints every table: figures by host, model, firmware and label, starts, hosts and events.

'iogauge show DIRECTORY/hosts/HOST' shows the review of one host.

    iogauge fleet show saved --verbose
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli.fleet.arguments import SavedFleet
from iogauge.cli.terminal import process, streams
from iogauge.cli.terminal.shared_options import Verbose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iogauge.report.fleet.view import FleetView


def show(
    directory: SavedFleet,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    verbose: Verbose = False,
) -> None:
    """Print a saved fleet."""
    from iogauge.cli.brief.screen import EVERYTHING
    from iogauge.fleet import open_fleet
    from iogauge.fleet.shown import view_of

    process.begin()
    view = view_of(open_fleet(directory), every_group=verbose or as_json)
    print_view(view, as_json=as_json, verbose=verbose, last=(EVERYTHING,))


def print_view(view: FleetView, *, as_json: bool, verbose: bool, last: Sequence[str]) -> None:
    """Print a fleet as JSON, in full, or on one screen that ends with the lines ``last``."""
    import json
    from dataclasses import asdict

    from iogauge.cli.brief.fleet import fleet_lines
    from iogauge.report.fleet.text import fleet_text

    columns = streams.columns()
    if as_json:
        streams.show(f"{json.dumps(asdict(view), indent=2, allow_nan=False)}\n")
    elif verbose:
        streams.show(fleet_text(view, columns=columns))
    else:
        streams.show("".join(f"{line}\n" for line in fleet_lines(view, columns=columns, last=last)))
