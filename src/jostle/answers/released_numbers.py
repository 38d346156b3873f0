"""Released numbers that are no counts: a sum or a mean, alone or for each cell of a column."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle import plots
from jostle.answers.release import in_ledger, labelled
from jostle.kernel.budget import round_down, round_up
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector
from jostle.schema.rows import Rows

if TYPE_CHECKING:
    from pandas import DataFrame

    from jostle.kernel.events import Event


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One released number, and everything public about it."""

    what: str
    """In words, such as "sum of income"."""

    value: float
    """The released number."""

    margin: float
    """Half the width of a 95 % interval around it."""

    spent: Fraction
    """The ε that it was charged."""

    remaining: Fraction
    """The ε that is left after it."""

    neighbours: Neighbours
    """What one person may change without it being noticed."""

    between: tuple[float, float] = (-math.inf, math.inf)
    """What the true number cannot be beyond, by the schema: nor are the ends of its interval."""

    charges: tuple[Event, ...] = field(default=(), repr=False)
    """The events of the ledger that paid for it, each with its key; for a part of a table, that of the partition."""

    def explain(self) -> str:
        """The release in words."""
        return f"{self.what} is {self.value:g} ± {self.margin:.3g} at 95 %, {_price(self)}"

    def rows(self) -> Rows:
        """What it is, its value, and the ends of its 95 % interval, in one row."""
        low, high = np.clip([self.value - self.margin, self.value + self.margin], *self.between).tolist()
        return Rows({"figure": [self.what], "value": [self.value], "low": [low], "high": [high]})

    def to_pandas(self) -> DataFrame:
        """The row as a frame of pandas."""
        return self.rows().to_pandas()

    def to_csv(self, path: str | Path) -> None:
        """Write what `to_pandas` gives to a file."""
        self.to_pandas().to_csv(path, index=False)

    def plot(self) -> Any:
        """A bar with its 95 % interval, as a Plotly figure."""
        return plots.bars([self.value], [self.margin], labels=[self.what], title=f"ε = {round_up(self.spent):g}")

    def _repr_html_(self) -> str:
        """For notebooks: what it is in words, and the first rows."""
        return plots.in_words(f"{self.explain()}\n{in_ledger(self.charges)}", self.to_pandas())

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True, kw_only=True)
class Figures:
    """One released number for each cell of a column or several, and everything public about them."""

    what: str
    """In words, such as "mean of income by sex"."""

    name: str
    """What the numbers are: "sum", "mean" or "count"."""

    about: Mapping[str, Sequence[str]]
    """Which cell each number is about."""

    answers: Vector
    """The released numbers."""

    margins: Vector
    """Half the width of a 95 % interval around each."""

    spent: Fraction
    """The ε that they were charged together."""

    remaining: Fraction
    """The ε that is left after it."""

    neighbours: Neighbours
    """What one person may change without it being noticed."""

    between: tuple[float, float] = (-math.inf, math.inf)
    """What the true number cannot be beyond, by the schema: nor are the ends of its interval."""

    charges: tuple[Event, ...] = ()
    """The events of the ledger that paid for it, each with its key; for a part of a table, that of the partition."""

    def explain(self) -> str:
        """The release in words."""
        return f"{self.what}: {len(self.answers)} numbers, typically ± {np.median(self.margins):.3g} at 95 %, {_price(self)}"

    def rows(self) -> Rows:
        """What each number is about, the number, and the ends of its 95 % interval."""
        low, high = (np.clip(self.answers + off, *self.between) for off in (-self.margins, self.margins))
        return labelled(self.about, {self.name: self.answers, "low": low, "high": high})

    def to_pandas(self) -> DataFrame:
        """The rows as a frame of pandas."""
        return self.rows().to_pandas()

    def to_csv(self, path: str | Path) -> None:
        """Write what `to_pandas` gives to a file."""
        self.to_pandas().to_csv(path, index=False)

    def plot(self) -> Any:
        """Bars with their 95 % intervals, or a grid of two columns' cells, as a Plotly figure."""
        title = f"{self.what}, ε = {round_up(self.spent):g}"
        if len(self.about) == 2:
            (y, rows), (x, columns) = ((by, list(dict.fromkeys(labels))) for by, labels in self.about.items())
            return plots.heat(self.answers.reshape(len(rows), -1), title=title, x=x, y=y, labels=(rows, columns))
        labels = [", ".join(parts) for parts in zip(*self.about.values(), strict=True)]
        figure = plots.bars(self.answers, self.margins, labels=labels, title=title, x=", ".join(self.about))
        return figure.update_yaxes(title_text=self.name)

    def _repr_html_(self) -> str:
        """For notebooks: what it is in words, and the first rows."""
        return plots.in_words(f"{self.explain()}\n{in_ledger(self.charges)}", self.to_pandas())

    def __repr__(self) -> str:
        return f"<Figures: {self.what}, at ε = {round_up(self.spent):g}>"


def _price(of: Figure | Figures) -> str:
    spent, left = round_up(of.spent), round_down(of.remaining) + 0.0
    return f"by Laplace noise at ε = {spent:g} ({of.neighbours} neighbours). ε = {left:g} is left."
