"""Whether drives are good enough for a use, by saved reviews of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iogauge.errors import IogaugeError
from iogauge.library.options import StrPath, as_list, flat, profiles_named
from iogauge.library.public import public
from iogauge.text import html
from iogauge.text.option import call
from iogauge.verdicts.fitness import Fitness


@public
def judge(*reviews: StrPath | Sequence[StrPath], use: Sequence[StrPath] | StrPath = ()) -> Verdicts:
    """Return whether the targets of saved reviews are good enough for a use; nothing is measured.

    Args:
        reviews: directories of saved reviews. Their targets are references for each other, on the same scale.
        use: profiles: names such as ``"wal"``, or TOML files of your own; by default all of iogauge's of which
            anything was measured.

    Raises IogaugeError if there is no such review or profile, or no target to judge.

    Examples:
        >>> import iogauge, tempfile
        >>> saved = iogauge.review(
        ...     "model:p4800x", use="etcd", runtime="1s", seed=1, output=f"{tempfile.mkdtemp()}/saved"
        ... )
        >>> [verdict.answer for verdict in iogauge.judge(saved, use="etcd")]
        ['yes']
    """
    from iogauge.catalog.profiles import profile_names
    from iogauge.results.review import keep_computed, load
    from iogauge.stats.limits import Outcome
    from iogauge.verdicts.fitness import fitness_of

    named = as_list(use)
    profiles = profiles_named(named or profile_names())
    results = load([Path(path) for path in flat(reviews)])
    verdicts = tuple(fitness for profile in profiles for fitness in fitness_of(results, profile))
    if not verdicts:
        raise IogaugeError(
            f"{', '.join(flat(reviews))}: no target was measured alone",
            hint=f"measure one: {call('review', 'TARGET', use=profiles[0].name)}",
        )
    if not named:
        verdicts = tuple(
            fitness for fitness in verdicts if len(fitness.of(Outcome.NOT_MEASURED)) < len(fitness.criteria)
        )
        if not verdicts:
            raise IogaugeError(
                f"{', '.join(flat(reviews))}: no criterion of any profile was measured",
                hint=f"measure those of one: {call('review', 'TARGET', use=profiles[0].name)}",
            )
    keep_computed(results)
    return Verdicts(verdicts)


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
