"""``iogauge judge``: say whether drives are good enough for a use.

Say whether the targets of saved reviews are good enough for a use: yes, no, or not shown. --for names a profile: wal,
etcd, oltp, key-value, vms, analytics, backup, ceph-osd, or a TOML file of your own. Each of its criteria is judged by
the 95 % interval of a saved figure, never by its value alone. Without --for, the profiles are those that the reviews
were made for, else all of which something was measured; the answers of several are a table.

'iogauge review TARGET --for wal' measures what a profile needs. Drive models, published figures and the other targets
of these reviews are references on the same scale; they decide nothing.

The exit status is 0 if all answers are yes, 3 if one is no, and otherwise 1.

    iogauge judge saved --for wal
"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from iogauge.cli.terminal import process, status, streams


def judge(
    reviews: Annotated[
        list[str], typer.Argument(metavar="REVIEW...", help="Saved reviews.", show_default=False)
    ],
    use: Annotated[
        list[str] | None,
        typer.Option(
            "--for", metavar="PROFILE", help="A profile such as wal, or your own TOML file; repeatable."
        ),
    ] = None,
    as_markdown: Annotated[bool, typer.Option("--md", help="Print Markdown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Print the verdicts."""
    from iogauge.library.reading import judge as library

    process.begin()
    if as_json and as_markdown:
        raise status.UsageError("--json excludes --md", hint="leave one of them out")
    verdicts = library.judge(reviews, use=use or ())
    if as_json:
        streams.show(json.dumps(verdicts.to_dict(), indent=2, allow_nan=False) + "\n")
    else:
        streams.show(verdicts.to_markdown() if as_markdown else verdicts.to_text())
    answers = {verdict.answer for verdict in verdicts}
    if "no" in answers:
        raise typer.Exit(status.VIOLATED)
    if "not shown" in answers:
        raise typer.Exit(status.ERROR)
