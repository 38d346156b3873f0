"""What `jostle classify` writes: synthetic records, and the model. What was paid for is printed if its file is lost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from jostle.cli.terminal import UNWRITTEN, check_apart, check_writable
from jostle.kernel.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jostle.learn.task import Task

PIPELINE = "Synthetic"
"""The learner that makes synthetic records."""


@dataclass(frozen=True)
class ModelFiles:
    """The files of `--out` and `--save`."""

    records: Path | None
    model: Path | None

    def check(self, learner: str, others: Mapping[str, str | Path | None]) -> None:
        """Raise, before anything is charged, unless they can be written and are no other file."""
        if self.records is not None and learner != PIPELINE:
            remedy = f"leave it out, or use --learner {PIPELINE}"
            raise BadInput("out", "only the pipeline makes synthetic records", remedy)
        used = dict(others)
        for option, path in (("out", self.records), ("save", self.model)):
            if path is not None:
                check_writable(option, path)
                check_apart(option, path, used)
                used[option] = path

    def write(self, model: Any, task: Task, learner: str) -> WrittenFiles:
        """Write what can be written."""
        texts, facts, done = dict[str, str](), dict[str, str](), list[str]()
        if self.records is not None:
            if _writes(self.records, text := model.synthetic.to_frame().to_csv(index=False)):
                facts["synthetic records"] = str(self.records)
                done.append(f"The synthetic records are in {self.records}: anybody may have them.")
            else:
                texts[f"{self.records} could not be written. Its records were charged"] = text
        if self.model is not None:
            from jostle.learn.saved import SavedModel

            if _writes(
                self.model, text := SavedModel(model, task, {"learner": learner, "explain": model.describe()}).text()
            ):
                facts["model file"] = str(self.model)
                done.append(f"The model is in {self.model}. Use it: jostle predict {self.model} new.csv")
            else:
                texts[f"{self.model} could not be written. Its model was charged"] = text
        return WrittenFiles(texts, facts, done)


@dataclass(frozen=True)
class WrittenFiles:
    """What was written, and what could not be."""

    lost: Mapping[str, str]
    """What could not be written, by what went wrong."""

    facts: Mapping[str, str]
    """The files by what they hold, for a script."""

    done: list[str]
    """The same in words."""

    def print_lost(self) -> None:
        """On standard output, where it can still be kept."""
        for text in self.lost.values():
            typer.echo(text, nl=False)

    def leave_if_lost(self) -> None:
        """End the command with its own status if something could not be written."""
        for problem in self.lost:
            typer.echo(f"{problem}, and is on standard output: keep it.", err=True)
        if self.lost:
            raise typer.Exit(UNWRITTEN)


def _writes(file: Path, text: str) -> bool:
    try:
        file.write_text(text, "utf-8")
    except OSError:
        return False
    return True
