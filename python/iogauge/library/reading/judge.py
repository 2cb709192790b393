"""Whether drives are good enough for a use, by saved reviews of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iogauge.catalog.profiles import Profile
from iogauge.errors import IogaugeError, UsageError
from iogauge.library.options import StrPath, as_list, flat, profiles_named
from iogauge.library.public import public
from iogauge.results.suite_result import SuiteResult
from iogauge.text import html
from iogauge.text.option import call
from iogauge.verdicts.fitness import Fitness


@public
def judge(*reviews: StrPath | Sequence[StrPath], use: Sequence[StrPath] | StrPath = ()) -> Verdicts:
    """Return whether the targets of saved reviews are good enough for a use; nothing is measured.

    Args:
        reviews: directories of saved reviews. Their targets are references for each other, on the same scale.
        use: profiles: names such as ``"wal"``, or TOML files of your own; by default those that the reviews were made
            for, else all of iogauge's of which anything was measured.

    Drive models and published figures are references, too; they decide nothing.

    Raises UsageError if there is no such profile, or if a file names what no suite has; and IogaugeError if there is no
    such review, or no target to judge.

    Examples:
        >>> import iogauge, tempfile
        >>> saved = iogauge.review(
        ...     "model:p4800x", use="etcd", runtime="1s", seed=1, output=f"{tempfile.mkdtemp()}/saved"
        ... )
        >>> [verdict.answer for verdict in iogauge.judge(saved, use="etcd")]
        ['yes']
    """
    from iogauge.catalog import PREFIX
    from iogauge.results.review import keep_computed, load

    named, paths = as_list(use), flat(reviews)
    for path in paths:
        if path.startswith(PREFIX):
            raise UsageError(
                f"{path}: is a drive model, not a saved review",
                hint="models are references anyway; to judge one, review it: "
                f"{call('review', path, **({'use': named[0]} if named else {}))}",
            )
    profiles = profiles_named(named)  # before anything is read
    results = load([Path(path) for path in paths])
    verdicts = _verdicts(results, profiles, every=bool(named))
    keep_computed(results)
    return verdicts


def _verdicts(results: Sequence[SuiteResult], profiles: tuple[Profile, ...], *, every: bool) -> Verdicts:
    """Return the verdicts on the targets of loaded reviews. Raises as ``judge`` does."""
    from iogauge.catalog.profiles import profile_names
    from iogauge.results.names import shorten_labels

    shorten_labels(results)
    profiles = profiles or profiles_of(results) or profiles_named(profile_names())
    verdicts = verdicts_on(results, profiles, every=every)
    if not verdicts:
        paths = ", ".join(dict.fromkeys(str(result.path) for result in results))
        what = "no target was measured alone" if every else "no criterion of any profile was measured"
        target = next((path for result in results for path in result.plan.targets), "TARGET")
        remedy = call("review", target, use=profiles[0].name if every else "PROFILE")
        names = "" if every else f"; profiles: {', '.join(profile_names())}"
        raise IogaugeError(f"{paths}: {what}", hint=f"measure what a use needs: {remedy}{names}")
    return Verdicts(verdicts)


def profiles_of(results: Iterable[SuiteResult]) -> tuple[Profile, ...]:
    """Return the profiles that reviews were made for. Raises as ``profiles_named`` does."""
    return profiles_named(name for result in results for name in result.manifest.use)


def verdicts_on(
    results: Sequence[SuiteResult], profiles: Iterable[Profile], *, every: bool
) -> tuple[Fitness, ...]:
    """Return the verdicts of profiles on the targets of reviews.

    Unless ``every`` one is wanted, only those of which something was measured, of a drive those with the most criteria.
    """
    from iogauge.verdicts.fitness import best_measured, fitness_of

    verdicts = tuple(fitness for profile in profiles for fitness in fitness_of(results, profile))
    return verdicts if every else best_measured(verdicts)


def judge_own(results: Sequence[SuiteResult], *, say: Callable[[str], None]) -> Verdicts | None:
    """Return the verdicts for the uses that a review was made for. None: for none, or, with a warning, one is gone.

    ``results`` are those of a whole review.
    """
    if not any(result.manifest.use for result in results):
        return None
    try:
        return _verdicts(results, (), every=False)
    except IogaugeError as error:
        say(f"warning: not judged: {error}")
        return None


@dataclass(frozen=True, repr=False)
class Verdicts:
    """The verdict on each target for each use. Iterate over it; ``str()`` is what ``iogauge judge`` prints."""

    verdicts: tuple[Fitness, ...]

    def __iter__(self) -> Iterator[Fitness]:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    def __getitem__(self, index: int) -> Fitness:
        return self.verdicts[index]

    @property
    def sentences(self) -> tuple[str, ...]:
        """Each verdict as one sentence: the answer, and what decides it."""
        from iogauge.verdicts.text import sentence

        return tuple(map(sentence, self.verdicts))

    def to_dict(self) -> dict[str, Any]:
        """Return the verdicts as data that JSON can hold: latencies in ns, rates in bytes a second."""
        from iogauge.verdicts.text import as_data

        return {"verdicts": as_data(self.verdicts)}

    def to_markdown(self) -> str:
        """Return the verdicts as Markdown."""
        from iogauge.verdicts.markdown import as_markdown

        return as_markdown(self.verdicts)

    def to_text(self) -> str:
        """Return the verdicts as text for a terminal."""
        from iogauge.verdicts.text import as_text

        return as_text(self.verdicts)

    def to_brief(self) -> str:
        """Return the verdicts as text for one screen of a terminal, without scales and sources."""
        from iogauge.verdicts.text import brief_lines

        return "".join(f"{line}\n" for line in brief_lines(self.verdicts))

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        answers = (
            f"{fitness.profile.name} of {fitness.target}: {fitness.answer}" for fitness in self.verdicts
        )
        return f"<Verdicts {'; '.join(answers)}>"

    def _repr_html_(self) -> str:
        return html.items(self.sentences)
