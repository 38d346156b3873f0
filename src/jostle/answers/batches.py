"""Answers to several questions that were priced, and are paid for, together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from jostle.answers.answer import Answer
from jostle.answers.previews import Preview
from jostle.kernel.budget import SYMBOLS, round_up
from jostle.kernel.errors import JostleError
from jostle.schema.rows import Rows, distinct_names, short


class BatchStopped(JostleError):
    """A question of a batch failed after others had been answered and paid for; their answers are in `answered`."""

    def __init__(self, answered: Sequence[Answer], what: str) -> None:
        self.answered = tuple(answered)
        super().__init__(
            f"the batch stopped at {what!r}, after {len(answered)} answers that were paid for: they are in `answered` of "
            "this error. The cause is above; ask the rest anew"
        )


@dataclass(frozen=True, kw_only=True)
class BatchPreview(Preview):
    """What to expect of a batch, at no cost: `margin` is the median of its questions, `widest` the largest that is known."""

    margins: Mapping[str, float]
    """Per question, in words; NaN for a question whose error depends on the data."""

    why: str
    """Which noise, and why."""

    def __str__(self) -> str:
        each = "; ".join(
            f"{what} ± {short(off)}" if not math.isnan(off) else f"{what} (depends on the rows)"
            for what, off in self.margins.items()
        )
        at = f"{SYMBOLS[self.measure]} = {round_up(self.epsilon):g}"
        return f"Expected error at {at} for {len(self.margins)} questions (95 % confidence): {each}. {self.why}"


@dataclass(frozen=True, kw_only=True, repr=False)
class BatchAnswer(Answer, Sequence[Answer]):
    """The answers to a list of questions, in their order: `found[0]` is the first."""

    answers: tuple[Answer, ...]
    """One answer per question."""

    asked: tuple[str, ...]
    """The questions, in words."""

    why: str
    """Which noise, with which shares, and why."""

    @overload
    def __getitem__(self, place: int) -> Answer: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Answer, ...]: ...

    def __getitem__(self, place: int | slice) -> Answer | tuple[Answer, ...]:
        return self.answers[place]

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def _explained(self) -> str:
        return f"{len(self)} questions at {self._at} together. {self.why} Protects {self._whom}. {self._left}"

    def rows(self) -> Rows:
        """All rows, one table below the other; a column that an answer does not have is empty there."""
        return self._stacked([answer.rows() for answer in self.answers])

    def rows_at_once(self) -> Rows:
        return self._stacked([answer.rows_at_once() for answer in self.answers])

    def _stacked(self, tables: Sequence[Rows]) -> Rows:
        names = list(dict.fromkeys(name for table in tables for name in table.columns))
        question, *_ = distinct_names(["question"], names)
        columns: dict[str, list[Any]] = {question: []} | {name: [] for name in names}
        for what, table in zip(self.asked, tables, strict=True):
            length = len(next(iter(table.columns.values())))
            columns[question].extend([what] * length)
            for name in names:
                columns[name].extend(table.columns.get(name, [math.nan] * length))
        return Rows(columns)

    def _drawn(self) -> Any:
        """The first of them; `found[1].plot()` draws the second."""
        return self.answers[0]._drawn()

    def __repr__(self) -> str:
        return f"<BatchAnswer: {len(self)} answers at {self._at}>"
