"""Histograms over several sets of columns, asked together: they agree with each other, and none is over all columns.

Each set of columns is measured with a share of ε, and all are made consistent by least squares (`marginals`),
which lets each profit from the others. The vector over all columns is never built.

Privacy: every measurement is one Laplace measurement of counts with a token of its own; the tokens add up to what is
charged. The rest is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle import plots
from jostle.answers.previews import Preview, epsilon_within
from jostle.answers.release import in_ledger, what_is_left
from jostle.answers.released_numbers import Figures
from jostle.kernel.budget import exact, round_down, round_up
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import calibrate, variance
from jostle.kernel.source import simulation
from jostle.kernel.strategy import identity
from jostle.linear.fitting.marginals import Axes, consistent
from jostle.schema.names import apart
from jostle.schema.rows import Rows
from jostle.tables.columns import EngineColumns
from jostle.tables.question import no_rows

if TYPE_CHECKING:
    from pandas import DataFrame

    from jostle.kernel.events import Event
    from jostle.tables.measurements import Measurements

LARGEST = 2**22
"""So many cells marginals may have together: exact noise takes some microseconds each."""

MOST_COLUMNS = 12
"""So many columns one of them may have: it has a component for each subset."""

REACH = math.log(20) / math.sqrt(2)
"""Half the width of a 95 % interval of Laplace noise, in standard deviations; of sums of such noise it is less."""


@dataclass(frozen=True, kw_only=True)
class Marginals(Mapping[Axes, Figures]):
    """Released histograms over several sets of columns, by their columns: `found["age", "sex"]`."""

    tables: Mapping[Axes, Figures]
    """Each histogram."""

    spent: Fraction
    """The ε that they were charged together."""

    remaining: Fraction
    """The ε that is left after it."""

    neighbours: Neighbours
    """What one person may change without it being noticed."""

    charges: tuple[Event, ...] = ()
    """The events of the ledger that paid for it, each with its key; for a part of a table, that of the partition."""

    def __getitem__(self, columns: str | Axes) -> Figures:
        key = (columns,) if isinstance(columns, str) else tuple(columns)
        if key not in self.tables:
            known = "; ".join(", ".join(axes) for axes in self.tables)
            raise BadInput("columns", f"{', '.join(key)} are not among the marginals", f"use one of {known}")
        return self.tables[key]

    def __iter__(self) -> Iterator[Axes]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def explain(self) -> str:
        """The release in words."""
        off = "; ".join(f"{', '.join(axes)} ± {table.margins[0]:.3g}" for axes, table in self.tables.items())
        spent, left = round_up(self.spent), round_down(self.remaining) + 0.0
        return (
            f"{len(self)} histograms, consistent with each other by least squares, off at 95 % by: {off}. "
            f"Measured with Laplace noise at ε = {spent:g} ({self.neighbours} neighbours). ε = {left:g} is left."
        )

    def rows(self) -> Rows:
        """All of them, one below the other; a column that a histogram is not about is empty there."""
        numbers = ["count", "low", "high"]
        names = list(dict.fromkeys(name for table in self.tables.values() for name in table.about))
        columns: dict[str, list[Any]] = {name: [] for name in [*apart(names, numbers), *numbers]}
        for table in self.tables.values():
            *_, count, low, high = table.rows().columns.values()
            about = [table.about.get(name, [math.nan] * len(count)) for name in names]
            for column, values in zip(columns.values(), [*about, count, low, high], strict=True):
                column.extend(values)
        return Rows(columns)

    def to_pandas(self) -> DataFrame:
        """The rows as a frame of pandas."""
        return self.rows().to_pandas()

    def to_csv(self, path: str | Path) -> None:
        """Write what `to_pandas` gives to a file."""
        self.to_pandas().to_csv(path, index=False)

    def plot(self) -> Any:
        """The first of them, as a Plotly figure; `found["age", "sex"].plot()` draws another."""
        return next(iter(self.tables.values())).plot()

    def _repr_html_(self) -> str:
        """For notebooks: what it is in words, and the first rows."""
        return plots.in_words(f"{self.explain()}\n{in_ledger(self.charges)}", self.to_pandas())

    def __repr__(self) -> str:
        return f"<Marginals of {'; '.join(', '.join(axes) for axes in self)} at ε = {round_up(self.spent):g}>"


def _names(one: object) -> tuple[str, ...]:
    if not isinstance(one, (list, tuple)) or not all(isinstance(name, str) for name in one):
        raise BadInput("columns", "must be names, or lists of names", 'pass for instance ("age", "sex"), ("sex", "income")')
    return tuple(one)


class MarginalsQuestion:
    """Histograms over several sets of columns, to be previewed at no cost and released at a price."""

    def __init__(self, table: Measurements, sets: Sequence[Sequence[str] | str]) -> None:
        self._table = table
        self.sets = [(one,) if isinstance(one, str) else _names(one) for one in sets]
        self._check()
        self.what = f"marginals of {'; '.join(', '.join(axes) for axes in self.sets)}"

    def _check(self) -> None:
        if not self.sets or len({frozenset(axes) for axes in self.sets}) != len(self.sets):
            raise BadInput("columns", "are none, or twice the same", 'pass for instance [("age", "sex"), ("sex", "income")]')
        for axes in self.sets:
            if not 1 <= len(axes) <= MOST_COLUMNS or len(set(axes)) != len(axes):
                raise BadInput("columns", f"of one are none, twice the same or over {MOST_COLUMNS}", "name each column once")
        cells = sum(math.prod(self._shape(axes)) for axes in self.sets)
        if cells > LARGEST:
            remedy = "ask for sets of fewer columns, or put columns into fewer cells with bin()"
            raise BadInput("columns", f"have {cells:,} cells together, and marginals have at most {LARGEST:,}", remedy)

    def _shape(self, axes: Axes) -> tuple[int, ...]:
        return tuple(self._table.schema.column(name).size for name in axes)

    @property
    def _weights(self) -> list[int]:
        """Shares of ε in proportion to the cube root of the cells, which makes the sum of all variances least.

        With shares w that add up to 1 it is the sum of cells/w², apart from constants, and the derivatives are equal there.
        """
        return [round(1000 * math.prod(self._shape(axes)) ** (1 / 3)) for axes in self.sets]

    def preview(self, *, epsilon: Any) -> Preview:
        """How far answers would be off: from public things alone, at no cost."""
        amount, shares = exact(epsilon), self._weights
        size = self._table._payer.neighbours.among_filtered().sensitivity(1, 2)
        spread = {
            axes: variance(calibrate(size, amount * share / sum(shares)))
            for axes, share in zip(self.sets, shares, strict=True)
        }
        _, found = consistent({axes: np.zeros(self._shape(axes)) for axes in self.sets}, spread)
        off = [REACH * math.sqrt(found[axes]) for axes in self.sets]
        return Preview(
            epsilon=amount, margin=float(np.median(off)), widest=max(off), algorithm="Laplace", stand_in="Laplace"
        )

    def epsilon_within(self, within: float) -> Any:
        """The ε at which answers are expected to be so close, in 95 of 100 cases."""
        return epsilon_within(within, partial(self.preview))

    def release(self, *, epsilon: Any = None, within: float | None = None) -> Marginals:
        """Ask it, and pay for it. Rows that lack a cell in one of the columns do not count."""
        if within is not None:
            if epsilon is not None:
                raise BadInput("within", "says how close answers must be, and epsilon what they cost", "pass one of them")
            epsilon = self.epsilon_within(within)
        names = list(dict.fromkeys(name for axes in self.sets for name in axes))
        payer = self._table._payer
        self._rehearse(payer.taken_first(epsilon))
        left = what_is_left(lambda: payer.remaining)
        # The same rows for all: otherwise the exact counts would not agree, and there would be nothing to make agree.
        columns = EngineColumns.of(self._table._views, names).complete()
        records, token = self._table._paid(columns, epsilon, filtered=True, note=self.what)
        sources = [records.vector(*axes) for axes in self.sets]
        whole, noisy, spread = token.epsilon, {}, {}
        for axes, source, share in zip(self.sets, sources, token.split(*self._weights), strict=True):
            cells = identity(source.shape)
            spread[axes] = source.noise_variance(cells, share)
            noisy[axes] = source.laplace(cells, share).reshape(source.shape)
        found, after = consistent(noisy, spread)
        told: dict[str, Any] = {
            "spent": whole,
            "remaining": left(whole),
            "neighbours": records.neighbours,
            "charges": token.charges,
        }
        tables = {axes: self._figures(axes, found[axes].reshape(-1), after[axes], told) for axes in self.sets}
        return Marginals(tables=tables, **told)

    def _rehearse(self, epsilon: Fraction | None) -> None:
        """Raise what would be refused on the way, while the ε of a part is still there. Privacy: no row is looked at."""
        if epsilon is None:
            return
        neighbours = self._table._payer.neighbours
        token = simulation(seed=0, neighbours=neighbours).grant(epsilon)
        for axes, share in zip(self.sets, token.split(*self._weights), strict=True):
            nobody = no_rows(self._shape(axes), neighbours)
            nobody.laplace(identity(nobody.shape), nobody.grant(share.epsilon))

    def _figures(self, axes: Axes, values: Any, spread: float, told: dict[str, Any]) -> Figures:
        return Figures(
            what=f"counts by {', '.join(axes)}",
            name="count",
            about=labels(self._table.schema, axes),
            answers=values,
            margins=np.full(values.size, REACH * math.sqrt(spread)),
            **told,
        )

    def __repr__(self) -> str:
        return f"<Question: {self.what}>"


def labels(schema: Mapping[str, Any], names: Sequence[str]) -> dict[str, list[str]]:
    """For each combination of cells, the last column's changing fastest, the labels: a list a column."""
    sizes = [schema[name].size for name in names]
    told = {}
    for place, name in enumerate(names):
        words = np.array(schema[name].labels, dtype=object)
        told[name] = np.tile(np.repeat(words, math.prod(sizes[place + 1 :])), math.prod(sizes[:place])).tolist()
    return told
