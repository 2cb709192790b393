"""``iogauge web``: show saved reviews and running measurements as pages.

Serve the reviews in DIRECTORY and below it as pages on this computer, until Ctrl-C. Open the link that is printed: it
has a token, without which the server shows nothing. The pages list and find reviews, show and compare them, draw any
figure, ask in SQL, show running measurements, and show drive models. They load nothing from other computers.

The pages only read. With --allow-start they also plan, start, end and resume reviews, and write notes; a review that
destroys data needs the drive's serial number, typed on the page.

Only this computer reaches the server. To reach it from another one, use 'ssh -L 8384:localhost:8384 HOST', or name an
--address with a --certificate. --name adds a name by which browsers may call the server:
'localhost:9000' for 'ssh -L 9000:localhost:8384 HOST'.

DIRECTORY may be a collection (iogauge collect), also one at s3://: the pages then show its figures.

The index of the reviews is kept in DIRECTORY, as .iogauge-index.duckdb, that of a collection in ~/.cache. It can be
removed at any time.

--export writes the list, the reports, a comparison, charts and the models as files, for a web server or a publication:
of all reviews, or of each --review. Running measurements, SQL and starting reviews need the server.

    iogauge web reviews

    iogauge web reviews --export site --review optane --review flash
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli.terminal import process, status, streams

if TYPE_CHECKING:
    from iogauge.web.settings import Settings


def web(
    directory: Annotated[
        str,
        typer.Argument(
            metavar="[DIRECTORY]",
            help="Where the reviews are, or a collection.  [default: here]",
            show_default=False,
        ),
    ] = ".",
    port: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="The port of the server; 0: any free one.  [default: 8384, or the next free one]",
            min=0,
            max=65535,
        ),
    ] = None,
    address: Annotated[str, typer.Option(metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--name",
            metavar="HOST[:PORT]",
            help="A name by which browsers may call the server, with the port that they use; repeatable.",
        ),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The server's certificate for TLS (PEM).")
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The private key of the certificate (PEM), if it is in another file."
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Take the token from this file.  [default: one of your own, made at first use]",
        ),
    ] = None,
    allow_start: Annotated[
        bool, typer.Option("--allow-start", help="Let the pages start and end reviews, and write notes.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(metavar="DIRECTORY", help="Write pages as files in this directory, and serve nothing."),
    ] = None,
    reviews: Annotated[
        list[Path] | None,
        typer.Option("--review", metavar="DIRECTORY", help="Export only this review; repeatable."),
    ] = None,
) -> None:
    """Serve until interrupted, or write files."""
    from iogauge.index.collection.place import is_collection
    from iogauge.web import session
    from iogauge.web.settings import PORT, Settings

    process.begin()
    if reviews and export is None:
        raise status.UsageError("--review chooses what --export writes", hint="add --export DIRECTORY")
    if key and not certificate:
        raise status.UsageError("--key needs --certificate", hint="add --certificate FILE")
    if export is not None:
        _export(Path(directory), export, reviews or [])
        return
    settings = Settings(
        directory=Path(directory),
        token=session.read_token(token_file) if token_file else session.own_token(),
        address=address,
        port=PORT if port is None else port,
        names=tuple(names or ()),
        certificate=certificate,
        key=key,
        allow_start=allow_start,
    )
    if allow_start and is_collection(directory):
        raise status.UsageError(
            "--allow-start starts reviews in a directory, and a collection is only read",
            hint="leave it out, or name a directory",
        )
    _serve(settings, directory)


def _serve(settings: Settings, place: str) -> None:
    from iogauge.index import Index
    from iogauge.web import server
    from iogauge.web.app import make_app
    from iogauge.web.refreshing import Refresher

    sock = server.bind(settings)
    starter = None
    if settings.allow_start:
        from iogauge.web.starting import Starter

        starter = Starter(settings.directory)
    with (
        Index.open(place, say=streams.say) as index,
        Refresher(index, say=streams.say, at_once=not index.reviews(limit=0).total) as refresher,
    ):
        settings = replace(settings, directory=index.directory)
        app = make_app(settings, index, refresher=refresher, starter=starter, say=streams.say)
        link = server.link_of(settings, sock)
        server.serve(settings, app, sock, on_ready=lambda: streams.show(f"{link}\n"))


def _export(directory: Path, site: Path, reviews: list[Path]) -> None:
    from iogauge.cli.terminal.report_progress import ReportProgress
    from iogauge.web.export import write_site

    with ReportProgress() as progress:
        first = write_site(directory, site, chosen=reviews, say=streams.say, on_progress=progress)
    streams.show(f"{first}\n")
