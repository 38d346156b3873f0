"""Several aggregates of one SELECT statement: each is a question of its own, and they share one ε evenly.

Privacy: the questions are released one after the other, each at its share, and the shares add up to what is charged
(sequential composition).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from jostle import plots
from jostle.answers.release import in_ledger
from jostle.kernel.budget import exact, round_up
from jostle.kernel.errors import BadInput, Overdraft
from jostle.schema.names import apart
from jostle.schema.rows import Rows
from jostle.tables.totals import Total

if TYPE_CHECKING:
    from pandas import DataFrame

    from jostle.kernel.events import Event
    from jostle.tables.table import Table


@dataclass(frozen=True)
class Together:
    """Questions about the same groups, to be released at one price."""

    table: Table
    names: tuple[str, ...]
    """What each is called in the answers."""

    questions: tuple[Any, ...]
    groups: tuple[str, ...]

    @property
    def what(self) -> str:
        """In words."""
        return " and ".join(question.what for question in self.questions)

    def preview(self, *, epsilon: Any) -> NoReturn:
        """Each has an error of its own, in units of its own."""
        problem = "several aggregates have errors in different units"
        raise BadInput("preview", problem, f"preview each by itself, at a share of 1/{len(self.questions)} of ε")

    def epsilon_within(self, within: float) -> NoReturn:
        """As little as a preview."""
        raise BadInput("within", "is for one aggregate", "say what all may cost together, epsilon=…")

    def release(self, *, epsilon: Any = None, within: float | None = None) -> Answers:
        """Ask them, and pay for them: as much for each.

        Where one fails after others were paid for, the exception has their answers as its attribute `answered`.
        """
        if within is not None:
            self.epsilon_within(within)
        if epsilon is None:
            raise BadInput("epsilon", "is missing", "pass for instance epsilon=0.1")
        whole = exact(epsilon)
        if whole > self.table.remaining:  # before the first is charged
            raise Overdraft(requested=whole, remaining=self.table.remaining, of=f"dataset {self.table.name!r}")
        share = whole / len(self.questions)
        for question in self.questions:
            if isinstance(question, Total):  # counts can be answered wherever these can
                question.check(share)
        each: list[Any] = []
        for question in self.questions:
            try:
                each.append(question.release(epsilon=share))
            except BaseException as failure:
                if each:
                    self._hand_over(each, failure)
                raise
        return self._answers(each)

    def _answers(self, each: Sequence[Any]) -> Answers:
        return Answers(names=self.names[: len(each)], each=tuple(each), groups=self.groups)

    def _hand_over(self, each: Sequence[Any], failure: BaseException) -> None:
        """What was answered until then is paid for: it goes with the exception, as its `answered`."""
        failure.answered = self._answers(each)  # type: ignore[attr-defined]
        failure.add_note(
            f"{len(each)} of {len(self.questions)} aggregates were released and charged before this: "
            "they are the attribute `answered` of this exception."
        )


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The answers to several questions about the same groups."""

    names: tuple[str, ...]
    each: tuple[Any, ...]
    """The answer to each, with everything public about it."""

    groups: tuple[str, ...]

    @property
    def spent(self) -> Fraction:
        """The ε that they were charged together."""
        return sum((answer.spent for answer in self.each), Fraction(0))

    @property
    def remaining(self) -> Fraction:
        """The ε that is left after the last."""
        found: Fraction = self.each[-1].remaining
        return found

    @property
    def charges(self) -> tuple[Event, ...]:
        """The events of the ledger that paid for them; in a part of a table, one partition paid for them all."""
        return tuple(dict.fromkeys(event for answer in self.each for event in answer.charges))

    def explain(self) -> str:
        """The releases in words."""
        shared = f"ε = {round_up(self.spent):g} is shared evenly by {len(self.each)} aggregates."
        return " ".join([shared, *(answer.explain() for answer in self.each)])

    def rows(self) -> Rows:
        """One row per group, and three columns per aggregate: its value, and the ends of its 95 % interval."""
        return self.joined([answer.rows() for answer in self.each])

    def to_pandas(self) -> DataFrame:
        """The rows as a frame of pandas."""
        return self.rows().to_pandas()

    def joined(self, each: Sequence[Rows]) -> Rows:
        """The rows of each answer, side by side: what the groups are once, and the numbers of each under its name."""
        labels = max(len(self.groups), 1)  # without groups, one column says what the numbers are
        parts = [list(rows.columns.values())[labels:] for rows in each]
        names: list[str] = []
        for name, part in zip(self.names, parts, strict=True):
            ends = [f"{name}: low", f"{name}: high"][: len(part) - 1]
            names += [name, *apart(ends, self.names)]
        about = list(each[0].columns.values())[: len(self.groups)]
        columns = [*about, *(values for part in parts for values in part)]
        return Rows(dict(zip([*apart(self.groups, names), *names], columns, strict=True)))

    def to_csv(self, path: str | Path) -> None:
        """Write what `to_pandas` gives to a file."""
        self.to_pandas().to_csv(path, index=False)

    def plot(self) -> Any:
        """The first of them, as a Plotly figure; `answers.each[1].plot()` draws another."""
        return self.each[0].plot()

    def _repr_html_(self) -> str:
        """For notebooks: what it is in words, and the first rows."""
        return plots.in_words(f"{self.explain()}\n{in_ledger(self.charges)}", self.to_pandas())

    def __repr__(self) -> str:
        return f"<Answers: {', '.join(self.names)}, at ε = {round_up(self.spent):g}>"


def together(table: Table, names: Sequence[str], questions: Sequence[Any], groups: Sequence[str]) -> Together:
    """The questions as one."""
    if len(set(names)) < len(names):
        raise BadInput("sql", "SELECT has an aggregate twice", "ask for it once")
    return Together(table, tuple(names), tuple(questions), tuple(groups))
