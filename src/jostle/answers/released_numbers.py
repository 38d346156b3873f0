"""Released numbers with known errors: a sum or a mean, alone or per cell of some columns, and marginals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from jostle import plots
from jostle.answers.answer import Answer, labelled, typical_error
from jostle.answers.noise_intervals import MISSED, NumberReading, wider
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Vector
from jostle.linear.fitting.marginals import Axes
from jostle.linear.shrinkage.independence import drawn_to_independence
from jostle.schema.rows import Rows, distinct_names, short


@dataclass(frozen=True, kw_only=True)
class _ByNoise(Answer):
    """Numbers with noise of a known scale, so that their intervals are known at once."""

    what: str
    """The numbers in words, such as "sum of income" or "mean of income by sex"."""

    between: tuple[float, float] = (-math.inf, math.inf)
    """The bounds that the true number has by the schema; intervals end there, too."""


@dataclass(frozen=True, kw_only=True)
class ReleasedNumber(_ByNoise):
    """One released number, and everything public about it."""

    value: float
    """The released number."""

    margin: float
    """Half the width of a 95 % interval around it."""

    def _explained(self) -> str:
        what = self.what[:1].upper() + self.what[1:]
        return f"{what}: {self.value:g} ± {short(self.margin)} (95 %) at {self._at}. {self._how}"

    def rows(self, *, together: bool = False) -> Rows:  # of one number, all intervals are this one
        """One row: what the number is, its value, and the ends of its 95 % interval."""
        low, high = np.clip([self.value - self.margin, self.value + self.margin], *self.between).tolist()
        return Rows({"figure": [self.what], "value": [self.value], "low": [low], "high": [high]})

    def _drawn(self) -> Any:
        """A bar with its 95 % interval."""
        title = plots.heading(self.what)
        figure = plots.bars([self.value], [self.margin], labels=[self.what], title=title, between=self.between)
        return figure.update_yaxes(title_text=self.what.split(" ")[0])

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True, kw_only=True, repr=False)
class ReleasedNumbers(_ByNoise):
    """One released number per cell of a column or several, and everything public about them."""

    name: str
    """What the numbers are: "sum", "mean" or "count"."""

    about: Mapping[str, Sequence[str]]
    """Which cell each number is about."""

    answers: Vector
    """The released numbers."""

    margins: Vector
    """Half the width of a 95 % interval around each; the distance to its further end, where `ends` are others."""

    ends: tuple[Vector, Vector] | None = None
    """The ends of the intervals, where they are not as far on both sides."""

    reading: NumberReading | None = field(default=None, repr=False)
    """How the numbers follow from noisy ones, for intervals at any confidence."""

    law: Literal["normal", "log-concave"] | None = None
    """Of the noise on each number, where it is symmetric and intervals follow from it; None if that is not known."""

    def _explained(self) -> str:
        what = self.what[:1].upper() + self.what[1:]
        typical = f"typically within ±{short(np.median(self.margins))} (95 %)"
        return f"{what}: {len(self.answers):,} numbers at {self._at}, {typical}. {self._how}"

    @property
    def _title(self) -> str:
        return self._line(self.what[:1].upper() + self.what[1:], f"{len(self.answers):,} numbers")

    @property
    def _method(self) -> tuple[str, ...]:
        return typical_error(self.margins), f"Algorithm: {self._noise}.", self._left

    def rows(self, *, together: bool = False) -> Rows:
        """One row per cell: its labels, its number, and the ends of the 95 % interval.

        With `together`, all intervals hold at once with 95 % confidence. They are wider.
        """
        return self.rows_within(self.ends_of(len(self.answers) if together else 1))

    def ends_of(self, numbers: int) -> tuple[Vector, Vector]:
        """The ends of intervals which hold at once with 95 % confidence, together with those of as many numbers in all."""
        if numbers == 1:
            return self.ends or (self.answers - self.margins, self.answers + self.margins)
        if self.reading is not None:
            return self.reading.found(MISSED / numbers)[1:]
        if self.law is None:
            problem = "is for numbers as they were released, not for refined ones or those put together with earlier ones"
            raise BadInput("together", problem, "leave it out, or use the numbers that were not refined")
        off = self.margins * wider(numbers, gaussian=self.law == "normal")
        return self.answers - off, self.answers + off

    def rows_within(self, ends: tuple[Vector, Vector]) -> Rows:
        """The same with intervals that have these ends."""
        low, high = (np.clip(end, *self.between) for end in ends)
        return labelled(self.about, {self.name: self.answers, "low": low, "high": high})

    def _drawn(self) -> Any:
        """Bars with their 95 % intervals, or a grid of two columns' cells."""
        title = plots.heading(self.what)
        if len(self.about) == 2:
            (y, rows), (x, columns) = ((by, list(dict.fromkeys(labels))) for by, labels in self.about.items())
            return plots.heat(self.answers.reshape(len(rows), -1), title=title, x=x, y=y, labels=(rows, columns))
        labels = [", ".join(parts) for parts in zip(*self.about.values(), strict=True)]
        figure = plots.bars(
            self.answers, self.margins, labels=labels, title=title, x=", ".join(self.about), between=self.between
        )
        return figure.update_yaxes(title_text=self.name)

    def __repr__(self) -> str:
        return f"<ReleasedNumbers: {self.what}, at {self._at}>"


@dataclass(frozen=True, kw_only=True, repr=False)
class Marginals(Answer, Mapping[Axes, ReleasedNumbers]):
    """Released histograms over several sets of columns, by their columns: `found["age", "sex"]`."""

    tables: Mapping[Axes, ReleasedNumbers]
    """Each histogram."""

    noise: Mapping[Axes, tuple[tuple[int, ...], float]] = field(default_factory=dict, repr=False)
    """The shape of each histogram, and the variance of the noise on its cells."""

    is_refined: bool = False
    """Whether cells are drawn to what they would be if columns had nothing to do with each other."""

    def refined(self) -> Marginals:
        """The same histograms, usually much closer to the true ones: none below 0, and drawn to independence of columns.

        It costs nothing, because only what was released is used. They are no longer unbiased, and agree with each other only
        nearly: for sums of many cells, use the histograms as they were released. Intervals are those of the released cells,
        from 0 on, so they hold as before; where a refined cell is outside, its interval reaches to it.
        """
        if self.is_refined:
            return self
        tables = {axes: _drawn_to_independence(table, *self.noise[axes]) for axes, table in self.tables.items()}
        return replace(self, tables=tables, is_refined=True)

    def __getitem__(self, columns: str | Axes) -> ReleasedNumbers:
        key = (columns,) if isinstance(columns, str) else tuple(columns)
        if key not in self.tables:
            known = "; ".join(", ".join(axes) for axes in self.tables)
            raise BadInput("columns", f"{', '.join(key)} are not among the marginals", f"use one of {known}")
        return self.tables[key]

    def __iter__(self) -> Iterator[Axes]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def _explained(self) -> str:
        off = "; ".join(f"{', '.join(axes)} ± {short(np.median(table.margins))}" for axes, table in self.tables.items())
        how = "drawn to independence of their columns" if self.is_refined else "consistent with each other by least squares"
        return f"{len(self)} histograms at {self._at}, {how}. Typical margins (95 %): {off}. {self._how}"

    def rows(self, *, together: bool = False) -> Rows:
        """All of them, one below the other; a column that a histogram is not about is empty there.

        With `together`, all intervals of all histograms hold at once with 95 % confidence. They are wider.
        """
        cells = sum(len(table.answers) for table in self.tables.values()) if together else 1
        numbers = ["count", "low", "high"]
        names = list(dict.fromkeys(name for table in self.tables.values() for name in table.about))
        columns: dict[str, list[Any]] = {name: [] for name in [*distinct_names(names, numbers), *numbers]}
        for table in self.tables.values():
            *_, count, low, high = table.rows_within(table.ends_of(cells)).columns.values()
            about = [table.about.get(name, [math.nan] * len(count)) for name in names]
            for column, values in zip(columns.values(), [*about, count, low, high], strict=True):
                column.extend(values)
        return Rows(columns)

    def _drawn(self) -> Any:
        """The first of them; `found["age", "sex"].plot()` draws another."""
        return next(iter(self.tables.values()))._drawn()

    def __repr__(self) -> str:
        return f"<Marginals of {'; '.join(', '.join(axes) for axes in self)} at {self._at}>"


def _drawn_to_independence(table: ReleasedNumbers, shape: tuple[int, ...], variance: float) -> ReleasedNumbers:
    refined = drawn_to_independence(table.answers.reshape(shape), variance).reshape(-1)
    low = np.minimum(np.maximum(table.answers - table.margins, 0.0), refined)
    high = np.maximum(table.answers + table.margins, refined)
    return replace(table, answers=refined, margins=np.maximum(high - refined, refined - low), ends=(low, high), law=None)


Figure, Figures = ReleasedNumber, ReleasedNumbers  # their names until version 0.1
