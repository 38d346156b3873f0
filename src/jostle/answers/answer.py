"""What every released answer has: words, rows, a picture, files, and the charges that paid for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from jostle import plots
from jostle.kernel.budget import CONCENTRATED, PURE, SYMBOLS, Budget, Price, round_down, round_up
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector
from jostle.schema.rows import MOST_LINES, Rows, distinct_names, short

if TYPE_CHECKING:
    from pandas import DataFrame

    from jostle.kernel.ledger.events import Event

IntervalKind = Literal["exact", "calibrated"]

_KEYS_SHOWN = 4
"""A text names this many events; the charges themselves have all of them."""


@dataclass(frozen=True, kw_only=True)
class Answer(ABC):
    """A released answer, and everything public about it."""

    spent: Fraction
    """What was charged for it: ε, or ρ."""

    remaining: Fraction
    """What the account, or the part of a table, has left after it: for the next question in pure ε; ρ, if it is in ρ."""

    neighbours: Neighbours
    """What one person may change without it being noticed."""

    charges: tuple[Event, ...] = field(default=(), repr=False)
    """The events of the ledger that paid for it, each with its key; for a part of a table, that of the partition."""

    measure: str = PURE
    """What was charged: pure ε, or ρ."""

    left_in: str = PURE
    """What is left: pure ε, or ρ."""

    notes: tuple[str, ...] = ()
    """What the numbers leave out, in sentences: rows beyond a unit's bound, values beyond declared bounds, missing values.
    They say what the schema and the question say, and nothing about the rows."""

    @property
    def interval_kind(self) -> IntervalKind:
        """Whether intervals are exact, because the noise's law is all there is to know, or calibrated on public data."""
        return "exact"

    @property
    def price(self) -> dict[str, Any]:
        """What was paid and what is left out, as the fields of another answer that is read from this one."""
        return {
            name: getattr(self, name)
            for name in ("spent", "remaining", "measure", "left_in", "neighbours", "charges", "notes")
        }

    def explain(self) -> str:
        """The answer in words, and what it leaves out."""
        return " ".join([self._explained(), *self.notes])

    @abstractmethod
    def _explained(self) -> str:
        """The answer in words, without the notes."""

    @abstractmethod
    def rows(self) -> Rows:
        """The answer as rows, with the ends of 95 % intervals."""

    def plot(self) -> Any:
        """The answer with its 95 % intervals, as a Plotly figure, with what it protects and what it leaves out."""
        return plots.captioned(self._drawn(), self._terms, self.notes)

    @abstractmethod
    def _drawn(self) -> Any:
        """The picture without the notes."""

    def rows_at_once(self) -> Rows:
        """The rows without waiting: intervals that have yet to be simulated are left out."""
        return self.rows()

    def to_pandas(self) -> DataFrame:
        """The rows as a frame of pandas."""
        return self.rows().to_pandas()

    def to_csv(self, path: str | Path, *, notes: bool = False) -> None:
        """Write the rows to a file; with `notes`, after lines that begin with # and say what is left out."""
        if not notes:
            self.rows().write(Path(path))
            return
        Path(path).write_text(self.comments + self.rows().to_csv(), encoding="utf-8", newline="")

    @property
    def comments(self) -> str:
        """What the numbers leave out, as lines before those of a CSV file."""
        return "".join(f"# {' '.join(note.split())}\n" for note in self.notes)

    def to_polars(self) -> Any:
        """The rows as a frame of Polars."""
        return self.rows().to_polars()

    def to_parquet(self, path: str | Path) -> None:
        """Write the rows to a Parquet file."""
        self.rows().write(Path(path).with_suffix(".parquet"))

    def to_excel(self, path: str | Path) -> None:
        """Write the rows to a workbook of Excel."""
        self.rows().write(Path(path).with_suffix(".xlsx"))

    def __str__(self) -> str:
        """What was released, the table (without its middle if it is long), what is left out, how, and the charge."""
        return "\n".join([self.shown(self.rows(), MOST_LINES), *([in_ledger(self.charges)] if self.charges else [])])

    def shown(self, rows: Rows, most: int | None = None) -> str:
        """The same with these rows (at most `most` of them) and without the charge."""
        return self._around(rows.to_text(most))

    def _around(self, table: str) -> str:
        """A table as it is printed: what it is above it, and below it what it leaves out and how it was made."""
        return "\n".join([self._title, "", table, "", *self.notes, *self._method])

    @property
    def _title(self) -> str:
        """The line above the table. Where nothing stands below it, this is the whole explanation."""
        return self._explained()

    @property
    def _method(self) -> tuple[str, ...]:
        """The lines below the table: how far off the numbers are, what made them, and what is left."""
        return ()

    def _repr_html_(self) -> str:
        """For notebooks: the words, and the first rows."""
        return plots.in_words(f"{self.explain()}\n{in_ledger(self.charges)}", self.to_pandas())

    @property
    def _terms(self) -> str:
        """What a picture says below its title."""
        return f"{self._at}, protects {self._whom}; 95 % intervals"

    @property
    def _whom(self) -> str:
        """Whom the answer protects, in words."""
        rows = self.neighbours.rows
        return "each row" if rows == 1 else f"each person (up to {rows:,} rows)"

    @property
    def _at(self) -> str:
        return "no cost" if not self.spent else f"{SYMBOLS[self.measure]} = {round_up(self.spent):g}"

    @property
    def _noise(self) -> str:
        """Which noise was added to what was measured, in words."""
        return "Laplace noise" if self.measure == PURE else "Gaussian noise"

    def _line(self, *facts: str) -> str:
        """What was released, for how much and whom it protects, in one line."""
        return " · ".join([*facts, self._at, f"protects {self._whom}"])

    @property
    def _how(self) -> str:
        """Which noise protects whom, and what is left, in sentences."""
        return f"{self._noise} protects {self._whom}. {self._left}"

    @property
    def _left(self) -> str:
        if self.left_in != PURE:
            return f"ρ = {round_down(self.remaining) + 0.0:g} is left."
        if self.measure != PURE:  # the budget has two sides, and what is left on one is no part of its ε
            return f"ε = {round_down(self.remaining) + 0.0:g} is left for the next question."
        return f"{round_down(self.remaining) + 0.0:g} of the budget is left."


def typical_error(margins: Vector) -> str:
    """How far off a typical answer may be, in a sentence.

    >>> typical_error(np.array([2.0, 3.0, 9.0]))
    'Typical error: ±3 (95 % confidence).'
    """
    return f"Typical error: ±{short(np.median(margins))} (95 % confidence)."


def labelled(about: Mapping[str, Sequence[str]], numbers: Mapping[str, Any]) -> Rows:
    """Labels and numbers as rows; a label column that has the name of a number's is called `… (column)`.

    >>> list(labelled({"low": ["yes", "no"]}, {"count": [3.0, 4.0], "low": [1.0, 2.0], "high": [5.0, 6.0]}).columns)
    ['low (column)', 'count', 'low', 'high']
    """
    return Rows({**dict(zip(distinct_names(about, numbers), about.values(), strict=True)), **numbers})


def paid_with(budget: Budget, remaining: Callable[[], Fraction]) -> dict[str, Any]:
    """What an answer says of the budget that paid for it, once that is spent: arguments of every `Answer`.

    What is left in an account is what the last charge left; without an account, `remaining` says it. The ledger is not read
    again. If it could not be, once the noise is drawn, what was paid for would be lost.

    >>> from jostle.kernel.budget import CountingPurse
    >>> paid_with(CountingPurse().grant(1), lambda: Fraction(1, 4))["remaining"]
    Fraction(1, 4)
    """
    return {
        "spent": budget.amount,
        "measure": budget.measure,
        "remaining": remaining() if budget.left is None else budget.left,
        "left_in": budget.left_in,
        "charges": budget.charges,
    }


def in_ledger(charges: Sequence[Event]) -> str:
    """Which account was charged, how much, when and by which events, in words; empty if there was no charge.

    Privacy: the time is that of the first event, before any row was read. How long a release took may depend on the data,
    so the times of later events stay in the ledger.

    >>> from jostle.kernel.ledger.events import Event
    >>> at = {"at": "2024-02-29T12:00:00.000000+00:00", "dataset": "people", "neighbours": "add_remove"}
    >>> in_ledger([Event(key="1b9d", kind="charge", operator="laplace", amount=Fraction(1, 2), **at)])
    "Charged to account 'people': ε = 0.5 at 2024-02-29 12:00:00 UTC, event 1b9d."
    """
    if not charges:
        return ""
    keys = ", ".join(event.key for event in charges[:_KEYS_SHOWN])
    more = f" and {len(charges) - _KEYS_SHOWN:,} more" if len(charges) > _KEYS_SHOWN else ""
    events = "event" if len(charges) == 1 else f"{len(charges):,} events"
    at = charges[0].at.replace("T", " ")[:19]
    delta = sum((event.cost.delta for event in charges), Fraction(0))
    paid = f"{_paid(charges)}, δ = {round_up(delta):g}" if delta else str(_paid(charges))
    return f"Charged to account {charges[0].dataset!r}: {paid} at {at} UTC, {events} {keys}{more}."


def charge_facts(charges: Sequence[Event]) -> dict[str, Any] | None:
    """The same for a script: exact amounts as texts, and a float that is rounded up; None if there was no charge."""
    if not charges:
        return None
    measure: dict[str, Any] = {} if _paid(charges).measure == PURE else {"measure": _paid(charges).measure}
    if delta := sum((event.cost.delta for event in charges), Fraction(0)):
        measure |= {"delta": str(delta)}
    return {
        "account": charges[0].dataset,
        "at": f"{charges[0].at[:19]}+00:00",
        **measure,
        "amount": str(_paid(charges).amount),
        "amount_float": round_up(_paid(charges).amount),
        "events": [{"key": event.key, "operator": event.operator, "amount": str(event.amount)} for event in charges],
    }


def _paid(charges: Sequence[Event]) -> Price:
    """What one computation paid, in ε; in ρ as soon as a part of it has no pure ε."""
    costs = [event.cost for event in charges]
    if any(cost.epsilon is None for cost in costs):
        return Price(sum((cost.rho for cost in costs), Fraction(0)), CONCENTRATED)
    return Price(sum((event.amount for event in charges), Fraction(0)))
