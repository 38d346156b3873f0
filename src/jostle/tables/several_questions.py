"""Quantiles per group, and several questions that share one price: for statements with quantiles beside other aggregates.

Privacy: groups are disjoint parts of the table, so that quantiles of all of them cost as much as those of one (`partition`).
Several questions are released one after the other, each at its share of ε, and the shares add up to what is charged
(sequential composition).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from jostle.answers.answer import Answer
from jostle.answers.quantiles_and_top import Quantiles
from jostle.kernel.budget import exact
from jostle.kernel.errors import BadInput, Overdraft
from jostle.schema.rows import Rows
from jostle.tables.question import Question

if TYPE_CHECKING:
    from jostle.tables.table import Table

MOST_GROUPS = 256
"""Quantiles are measured in at most this many groups: each is a question to the engine."""


@dataclass(frozen=True, kw_only=True, repr=False)
class SeveralAnswers(Answer):
    """Answers that shared one price."""

    each: tuple[Answer, ...]

    @classmethod
    def of(cls, each: Sequence[Answer], spent: Fraction, remaining: Fraction) -> SeveralAnswers:
        """Put answers together; answers about parts of a table were paid for with one charge."""
        charges = tuple(dict.fromkeys(event for answer in each for event in answer.charges))
        notes = tuple(dict.fromkeys(note for answer in each for note in answer.notes))
        shared = each[0].price | {"spent": spent, "remaining": remaining, "charges": charges, "notes": notes}
        return cls(each=tuple(each), **shared)

    def _explained(self) -> str:
        return f"{len(self.each)} questions shared {self._at}. {self.each[0]._explained()} {self._left}"

    def rows(self) -> Rows:
        return self.each[0].rows()

    def _drawn(self) -> Any:
        return self.each[0]._drawn()

    def __repr__(self) -> str:
        return f"<SeveralAnswers: {len(self.each)}, at {self._at}>"


class QuantilesByGroup(Question[SeveralAnswers]):
    """Quantiles of a column in every combination of some columns' cells."""

    def __init__(self, table: Table, groups: Sequence[str], column: str, levels: Sequence[float]) -> None:
        self.table, self.groups, self.column, self.levels = table, tuple(groups), column, tuple(levels)
        self._of_one = table.ask_quantiles(column, levels)
        sizes = [table.schema.column(name).size for name in groups]
        if np.prod(sizes) > MOST_GROUPS:
            problem = f"has {int(np.prod(sizes)):,} groups, and quantiles are measured in at most {MOST_GROUPS}"
            raise BadInput("groups", problem, "group by fewer or coarser columns")
        self.what = f"{self._of_one.what} by {' and '.join(groups)}"

    def preview(self, *, epsilon: Any) -> Any:
        return self._of_one.preview(epsilon=epsilon)

    def _release(self, epsilon: Any) -> SeveralAnswers:
        """The first partition is the charge; parts within parts, and what is asked of them, spend what it granted."""
        if epsilon is None:
            raise BadInput("epsilon", "is missing", "pass for instance epsilon=0.1")
        return SeveralAnswers.of(self._parts(self.table, self.groups, epsilon), exact(epsilon), self.table.remaining)

    def _parts(self, table: Table, groups: Sequence[str], epsilon: Any = None) -> list[Answer]:
        if not groups:
            return [table.quantiles(self.column, self.levels, epsilon=table.remaining)]
        parts = table.partition(groups[0], epsilon=table.remaining if epsilon is None else epsilon)
        return [answer for part in parts.values() for answer in self._parts(part, groups[1:])]


class SeveralQuestions(Question[SeveralAnswers]):
    """Questions about the same groups, which share one price evenly."""

    def __init__(self, table: Table, questions: Sequence[Question[Any]]) -> None:
        self.table, self.questions = table, tuple(questions)
        self.what = " and ".join(question.what for question in questions)

    def preview(self, *, epsilon: Any) -> NoReturn:
        problem = "quantiles and other aggregates have errors in different units"
        raise BadInput("preview", problem, f"preview each by itself, at a share of 1/{len(self.questions)} of ε")

    def epsilon_within(self, within: Any) -> NoReturn:
        raise BadInput("within", "is for one aggregate", "say what all may cost together, epsilon=…")

    def _release(self, epsilon: Any) -> SeveralAnswers:
        """If one fails after others were paid for, the exception has their answers as its attribute `answered`."""
        if epsilon is None:
            raise BadInput("epsilon", "is missing", "pass for instance epsilon=0.1")
        whole = exact(epsilon)
        if whole > self.table.remaining:  # before the first is charged
            raise Overdraft(requested=whole, remaining=self.table.remaining, of=f"dataset {self.table.name!r}")
        share = whole / len(self.questions)
        for question in self.questions:
            if hasattr(question, "check"):  # an ε for which noise cannot be drawn
                question.check(share)
        each: list[Answer] = []
        for question in self.questions:
            try:
                each.append(question.release(epsilon=share))
            except BaseException as failure:
                if each:  # they are paid for, and must not be lost
                    failure.answered = tuple(each)  # type: ignore[attr-defined]
                    failure.add_note(f"{len(each)} of {len(self.questions)} questions were answered and charged before.")
                raise
        return SeveralAnswers.of(each, whole, each[-1].remaining)


def quantiles_in(answer: Answer) -> list[Quantiles]:
    """The quantiles of each group, or of all rows."""
    return [one for one in (answer.each if isinstance(answer, SeveralAnswers) else [answer]) if isinstance(one, Quantiles)]
