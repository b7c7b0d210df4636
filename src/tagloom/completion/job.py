"""One run: what it is given, what tells it from others, and how it ends."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import tagloom
from tagloom.completion.assembling import assemble
from tagloom.completion.inputs import Pictures, TagsRead, account_of
from tagloom.completion.learning import Learned
from tagloom.completion.lessons import Taught, teach
from tagloom.completion.model import CompletionModel
from tagloom.completion.options import Options
from tagloom.completion.outputs import write_outputs
from tagloom.completion.record import digest_of
from tagloom.completion.result import Completed
from tagloom.completion.work import Work
from tagloom.labels import PartialLabels


@dataclass(frozen=True, eq=False)
class Finished:
    """The end of a run: its folder, and what it found; None where there was nothing to do."""

    out: Path
    result: Completed | None
    model: CompletionModel | None


@dataclass(frozen=True, eq=False)
class Job:
    """What a run is given.

    Attributes
    ----------
    pictures : Pictures
    read : TagsRead
    said : PartialLabels
        All that people have said of the pictures.
    later : PartialLabels or None
        What of it was said about suggestions.
    options : Options
    out : Path
    inputs : dict
        Digests of what was read, for the record.
    show_progress : bool
    """

    pictures: Pictures
    read: TagsRead
    said: PartialLabels
    later: PartialLabels | None
    options: Options
    out: Path
    inputs: dict[str, Any]
    show_progress: bool

    @cached_property
    def account(self) -> dict[str, Any]:
        """What was found, in numbers for people."""
        return account_of(self.read, self.pictures, self.said)

    @cached_property
    def taught(self) -> Taught:
        """What the learner is taught."""
        return teach(self.said, self.options, self.later)

    @cached_property
    def digest(self) -> str:
        """What tells this run from any other: all that decides its result."""
        features, said = self.pictures.features, self.said
        entries = said.entries()
        return digest_of(
            tagloom.__version__,
            str(self.pictures.folder.resolve()),
            features.items,
            features.visual,
            features.posteriors,
            [str(label) for label in said.labels],
            entries.rows,
            entries.columns,
            entries.present,
            entries.weights,
            *said.hidden_entries(),
            said.unlisted_weight,
            self.options.facts(),
            self.inputs.get("model"),
        )[:32]

    def work(self) -> Work:
        """Return what an earlier run of the same digest has left unfinished."""
        return Work(self.out / ".work", self.digest)

    def finished(self, learned: Learned, **more: Any) -> Finished:
        """Write all that comes out; `more` goes into the account."""
        result = assemble(
            self.pictures.folder,
            self.taught,
            learned,
            self.options,
            skipped=self.pictures.skipped,
            remarks=self.read.remarks,
            account=self.account | more,
        )
        model = CompletionModel(
            learned.tagger,
            learned.meaning,
            result.thresholds,
            self.said,
            _nothing(self.said) if self.later is None else self.later,
            self.options,
            self.pictures.folder.resolve(),
        )
        write_outputs(
            self.out,
            result,
            model,
            digest=self.digest,
            inputs=self.inputs,
            readings=self.read.readings,
            show_progress=self.show_progress,
        )
        self.work().remove()
        return Finished(self.out, result, model)


def _nothing(said: PartialLabels) -> PartialLabels:
    return PartialLabels.from_entries(
        [], [], [], shape=said.shape, labels=said.labels, items=said.items
    )
