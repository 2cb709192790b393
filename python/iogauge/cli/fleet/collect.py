"""``iogauge collect``: the figures of many reviews in one place.

Collect the figures of the reviews in each SOURCE and below it, for a page, a query or a comparison of all of them.

SOURCE is a directory, such as one of a fleet with its hosts, or an address such as s3://bucket/reviews. COLLECTION is a
directory, perhaps a shared one, or an address; it is made if it is missing. Reviews that it has as they are are not
read again, so collect as often as you like, and from any number of computers at once. A review that went on is
collected again, and its newest figures count. A damaged review is named and left out; the exit status is then 1.

A collection has figures, manifests and notes. The reviews themselves stay where they are; --with-reviews copies them,
too: their reports and tested comparisons need them.

Addresses with s3:// and gs:// work as they are, with the credentials and AWS_ENDPOINT_URL of the environment; other
stores need fsspec and its package of that store.

    iogauge collect reviews fleet-1 --output /shared/collection

    iogauge query 'select drives, value from reviews' /shared/collection

    iogauge web /shared/collection
"""

from __future__ import annotations

from typing import Annotated

import typer

from iogauge.cli.terminal import process, status, streams


def collect(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...", help="Directories or addresses with reviews.", show_default=False
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="COLLECTION", help="The collection to add to.", show_default=False
        ),
    ],
    with_reviews: Annotated[
        bool, typer.Option("--with-reviews", help="Copy the reviews, too, not only their figures.")
    ] = False,
) -> None:
    """Collect, and print how many reviews were added."""
    from iogauge.cli.terminal.report_progress import ReportProgress
    from iogauge.library.reading.collect import collect as library

    process.begin()
    with ReportProgress("collect") as progress:
        result = library(sources, output, with_reviews=with_reviews, on_progress=progress)
    for error in result.skipped:
        streams.say(error.render(kind="warning"))
    streams.show(f"{result}\n")
    if result.skipped:
        raise typer.Exit(status.ERROR)
