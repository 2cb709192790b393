"""Reports of saved reviews: one page with charts, or Markdown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from iogauge.errors import IogaugeError, UsageError
from iogauge.library.options import StrPath, as_list, flat, profiles_named, require_choice
from iogauge.library.progress import OnProgress, Progress
from iogauge.library.public import public
from iogauge.library.reading.judge import profiles_of, verdicts_on
from iogauge.library.reading.judge_by import absolute, conclude_with
from iogauge.text.option import option

if TYPE_CHECKING:
    from iogauge.report.sections import Report
    from iogauge.results.review import OnProgress as OnPart
    from iogauge.store.outputs import Claims, Output

Format = Literal["html", "md"]
_SUFFIXES: dict[str, Format] = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md"}
"""The format of a report's file by the end of its name."""
MARGIN = 0.05
"""Differences up to this share are taken as none."""


@public
def write_report(
    reviews: StrPath | Sequence[StrPath],
    output: StrPath | None = None,
    *,
    format: Format | None = None,  # noqa: A002 (the command's own word)
    suites: Sequence[str] | str = (),
    margin: float | str = MARGIN,
    judge_by: Collection[StrPath] | StrPath = (),
    use: Sequence[StrPath] | StrPath = (),
    verbose: bool = False,
    on_progress: OnProgress = lambda _: None,
) -> Path:
    """Write a report of saved reviews, which compares all drives with the first; return the file written.

    Args:
        reviews: saved reviews, or their directories; ``"published"`` among them compares every drive with published
            figures of the same loads.
        output: the file to write; by default report.html (or report.md) in the review's directory or, of several, here.
        format: ``"html"``, one page that needs no network, or ``"md"``, Markdown. By default the suffix of ``output``
            decides; without a suffix it is ``"html"``.
        suites: the names of the suites to report; by default all.
        margin: treat smaller differences as none, a fraction or text such as ``"5%"``.
        judge_by: Python files with your own suites, which are run for their findings.
        use: profiles, such as ``"wal"``: the report begins with whether the drives are good enough for them. By default
            those that the reviews were made for.
        verbose: write all tables as Markdown; by default the answer and what else fits into 8 kB.
        on_progress: is called with each piece of news (``Progress``): parts that are done, and incomplete reviews.

    Raises:
        UsageError: an argument is invalid.
        IogaugeError: a review cannot be read, or a file must not be written.
        Interrupted: Ctrl-C, a KeyboardInterrupt.
    """
    if format is not None:
        require_choice("format", format, get_args(Format))
    place = None if output is None else Path(output)
    layout = format_of(place, format)
    names = flat([reviews])
    claims = output_claims(names, say=message(on_progress))
    page = claim_page(claims, names, place, format=layout)
    report = read_report(
        names,
        suites=as_list(suites),
        margin=fraction(margin, name="margin"),
        judge_by=as_list(judge_by),
        use=as_list(use),
        on_progress=on_progress,
    )
    page.write(written(report, format=layout, verbose=verbose, on_progress=on_progress).encode())
    return page.path


def read_report(
    names: Sequence[StrPath],
    *,
    suites: Sequence[str] = (),
    margin: float = MARGIN,
    judge_by: Collection[StrPath] = (),
    use: Sequence[str] = (),
    trusted: frozenset[str] = frozenset(),
    on_progress: OnProgress = lambda _: None,
    baseline: str | None = None,
) -> Report:
    """Read reviews into a report, and say which of them are incomplete.

    It has the verdicts for ``use``, or else for the uses that the reviews were made for. Raises UsageError for a use
    that there is not, and IogaugeError as ``Report.of`` does.
    """
    from iogauge.report.sections import Report

    say = message(on_progress)
    named = profiles_named(use)
    report = Report.of(
        [fspath(name) for name in names],
        conclude=conclude_with(absolute(judge_by) | trusted, lambda text: say(f"warning: {text}")),
        suites=suites,
        margin=margin,
        on_progress=parts("reading and judging", on_progress),
        baseline=baseline,
    )
    for drive in report.drives:
        if drive.missing:
            steps = ", ".join(step.id for step in drive.missing)
            say(f"warning: {drive.path} is incomplete: no step {steps}")
            say(f"hint: complete it: {drive.manifest.completed_by(str(drive.path))}")
    try:
        profiles = named or profiles_of(report.drives)
    except IogaugeError as error:
        say(f"warning: not judged: {error}")
        return report
    return replace(report, verdicts=verdicts_on(report.drives, profiles, every=bool(named)))


def written(
    report: Report,
    *,
    format: Format,  # noqa: A002
    verbose: bool = False,
    on_progress: OnProgress = lambda _: None,
) -> str:
    """Return a report as the text of a page, or as Markdown: a short one, or with ``verbose`` all of it."""
    from iogauge.report.markdown import markdown
    from iogauge.report.markdown_brief import brief
    from iogauge.report.page import render
    from iogauge.results.review import keep_computed
    from iogauge.verdicts.markdown import as_markdown

    if format == "html":
        text = render.page(report, on_progress=parts("drawing", on_progress))
    elif verbose:
        text = "\n".join([*([as_markdown(report.verdicts)] if report.verdicts else []), markdown(report)])
    else:
        text = brief(report)
    keep_computed(report.drives)
    return text


def format_of(output: Path | None, format: Format | None) -> Format:  # noqa: A002
    """Return the format of a report: ``format``, or what the suffix of its file says, or HTML.

    Raises UsageError if the two contradict each other, or if a suffix is unknown and no format is given.

    >>> format_of(Path("r.md"), None), format_of(None, None), format_of(Path("r.txt"), "md")
    ('md', 'html', 'md')
    """
    suffix = "" if output is None else output.suffix.lower()
    written_as = _SUFFIXES.get(suffix)
    if format is None and suffix and written_as is None:
        raise UsageError(
            f"{output}: a report is HTML or Markdown, and {suffix} says neither",
            hint=f"end the name in .html or .md, or add {option('format', 'html')} or {option('format', 'md')}",
        )
    if format and written_as and format != written_as:
        raise UsageError(
            f"{option('format', format)} contradicts the name {output}",
            hint=f"name the file {Path(output or '').with_suffix('.' + format)}, or leave out {option('format')}",
        )
    return format or written_as or "html"


def names_format(output: Path | None) -> bool:
    """Return whether the suffix of a file names a report's format."""
    return output is not None and output.suffix.lower() in _SUFFIXES


def output_claims(names: Sequence[str], *, say: Callable[[str], None]) -> Claims:
    """Return claims for outputs of these reviews: no output may be a target that one of the reviews measured.

    Targets are looked at only if an output is named, so that mere reading wakes no drive and waits for none. Raises
    IogaugeError if a review does not exist.
    """
    from iogauge.results.published import is_published
    from iogauge.store import Review as Stored
    from iogauge.store.outputs import Claims

    saved = [Stored.open(Path(name)) for name in names if not is_published(name)]
    targets = [target.path for review in saved for target in review.manifest.targets]
    return Claims(saved_targets=targets, say=say)


def claim_page(claims: Claims, names: Sequence[str], output: Path | None, *, format: Format) -> Output:  # noqa: A002
    """Claim the file of a report. Raises IogaugeError if it must not be written."""
    from iogauge.results.published import is_published
    from iogauge.store.outputs import Existing

    if output is not None:
        return claims.file(output, existing=Existing.REPLACE)
    saved = [name for name in names if not is_published(name)]
    if len(saved) == 1:
        # In a review's own directory this name is the report's, even if a copy or the file system lost our mark on it.
        return claims.file(Path(saved[0]) / f"report.{format}", existing=Existing.REPLACE)
    return claims.file(Path(f"report.{format}"), existing=Existing.OWN)


def fraction(value: float | str, *, name: str) -> float:
    """Return a margin as a fraction. Text is a percentage, with or without its sign. Raises UsageError.

    >>> fraction(0.05, name="margin") == fraction("5%", name="margin")
    True
    """
    try:
        share = float(value.removesuffix("%")) / 100 if isinstance(value, str) else value
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise UsageError(
            f"{option(name)} {value}: is not a percentage above 0 and below 100",
            hint=f"for instance {option(name, '5%')}",
        )
    return share


def message(on_progress: OnProgress) -> Callable[[str], None]:
    """Return the function that passes a message on as a piece of news."""
    return lambda text: on_progress(Progress(event="message", message=text))


def parts(step: str, on_progress: OnProgress) -> OnPart:
    """Return the function that passes on how many parts of a step are done."""
    return lambda done, of: on_progress(Progress(event="part", step=step, number=done, steps=of))
