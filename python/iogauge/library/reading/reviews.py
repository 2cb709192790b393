"""The reviews that are saved below a directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iogauge.library.options import StrPath, flat
from iogauge.library.public import public
from iogauge.results.collection import Collection
from iogauge.results.tabular import Tabular
from iogauge.text import html

if TYPE_CHECKING:
    import pyarrow as pa

    from iogauge.errors import IogaugeError
    from iogauge.library.reading.saved import Review
    from iogauge.schema import Manifest
    from iogauge.store.find import Directory
    from iogauge.store.notes import Notes


@public
def list_reviews(*directories: StrPath | Sequence[StrPath]) -> SavedReviews:
    """Return the reviews saved in each directory and below it, at most four directories deep; by default here.

    Raises IogaugeError if one of the directories cannot be read.

    Examples:
        >>> import tempfile
        >>> len(list_reviews(tempfile.mkdtemp()))
        0
    """
    from iogauge.store.find import find_reviews

    places = map(Path, flat(directories, needed=False) or ["."])
    return SavedReviews(tuple(SavedReview(saved) for place in places for saved in find_reviews(place)))


class SavedReview:
    """A directory with a saved review, which can be damaged. It stands for its directory wherever a path is taken."""

    def __init__(self, saved: Directory) -> None:
        self._saved = saved

    @property
    def path(self) -> Path:
        """Its directory."""
        return self._saved.path

    @property
    def problem(self) -> IogaugeError | None:
        """The reason why it cannot be read; None: it can."""
        return self._saved.problem

    @property
    def manifest(self) -> Manifest | None:
        """Its plan, with its targets and machine; None if it cannot be read."""
        return self._saved.review.manifest if self._saved.review else None

    @property
    def planned(self) -> int:
        """The number of steps known now; steps after a search are unknown until it has run."""
        return len(self.manifest.steps) if self.manifest else 0

    @property
    def all_planned(self) -> bool:
        """Whether all its steps are known."""
        return self.manifest is not None and not any(
            plan.search and not plan.steps for plan in self.manifest.plans
        )

    @cached_property
    def complete(self) -> int:
        """The number of complete steps."""
        return len(self._saved.review.completed()) if self._saved.review else 0

    @property
    def reported(self) -> int:
        """The number of runs of which another program reported figures without samples."""
        return len({(figure.label, figure.at) for figure in self._saved.reported})

    @cached_property
    def notes(self) -> Notes:
        """The notes that were saved with it, and their tags."""
        from iogauge.store.notes import read_notes

        return read_notes(self.path)

    @cached_property
    def review(self) -> Review:
        """The review, opened. Raises ``problem`` if it cannot be read."""
        from iogauge.library.reading.saved import open_review

        return open_review(self.path)

    def to_dict(self) -> dict[str, Any]:
        """Return what is known without reading a step, as data that JSON can hold."""
        if self.problem is not None:
            return {"review": str(self.path), "problem": str(self.problem), "hint": self.problem.hint}
        assert self.manifest is not None
        manifest = self.manifest
        return {
            "review": str(self.path),
            "id": manifest.id,
            "created_at": manifest.created_at,
            "targets": [target.model_dump(mode="json") for target in manifest.targets],
            "suites": [*dict.fromkeys(plan.suite for plan in manifest.plans)],
            "pace": manifest.pace,
            "repeats": manifest.repeats,
            "state": manifest.state,
            "steps": self.planned,
            "complete": self.complete,
            "all_planned": self.all_planned,
            "tags": [*self.notes.tags],
        }

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        state = str(self.problem) if self.problem else f"{self.complete} of {self.planned} steps"
        return f"<SavedReview {self.path}: {state}>"


@dataclass(frozen=True, repr=False)
class SavedReviews(Tabular, Collection[SavedReview]):
    """Saved reviews, damaged ones included. ``reviews["results/a"]`` is the one in that directory."""

    NOUN = "review"

    reviews: tuple[SavedReview, ...]

    def _parts(self) -> Mapping[str, SavedReview]:
        return {str(saved.path): saved for saved in self.reviews}

    def to_arrow(self) -> pa.Table:
        """Return a row for each review, as an Arrow table. A review that cannot be read has only its ``problem``."""
        import pyarrow as pa

        texts = ("review", "created_at", "targets", "suites", "pace", "state", "problem")
        numbers = ("repeats", "steps", "complete")
        fields = dict.fromkeys(texts, pa.string()) | dict.fromkeys(numbers, pa.int64())
        rows = []
        for saved in self:
            row = saved.to_dict()
            if saved.manifest:
                row["targets"] = ", ".join(target.path for target in saved.manifest.targets)
                row["suites"] = ", ".join(row["suites"])
            rows.append(row)
        return pa.Table.from_pylist(rows, schema=pa.schema(list(fields.items())))

    def __repr__(self) -> str:
        return f"<SavedReviews {', '.join(self._parts()) or 'none'}>"

    def _repr_html_(self) -> str:
        rows = [
            (
                str(saved.path),
                saved.manifest.created_at[:16].replace("T", " "),
                ", ".join(target.model or target.path for target in saved.manifest.targets),
                f"{saved.complete} of {saved.planned}",
            )
            if saved.manifest
            else (str(saved.path), "", str(saved.problem), "")
            for saved in self
        ]
        return html.table(("review", "begun", "targets", "steps"), rows, most=100)
