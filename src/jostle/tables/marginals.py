"""Histograms over several sets of columns, asked together: they agree with each other, and none is over all columns.

Each set of columns is measured with a share of ε, and all are made consistent by least squares, which lets each profit from
the others. The vector over all columns is never built.

Privacy: every measurement is one Laplace measurement of counts with a token of its own; the tokens add up to what is
charged. The rest is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.answers.answer import remaining_after
from jostle.answers.previews import Preview, checked_rows
from jostle.answers.released_numbers import Marginals, ReleasedNumbers
from jostle.kernel.budget import PURE, Price
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import calibrate, calibrate_square, gaussian_variance
from jostle.kernel.source import simulation
from jostle.kernel.strategies import identity
from jostle.linear.fitting.marginals import Axes, consistent, margins_of_cells
from jostle.linear.laws import NoiseLaw
from jostle.tables.columns import EngineColumns
from jostle.tables.question import Question, cell_labels, no_rows, notes_on

if TYPE_CHECKING:
    from jostle.tables.table import Table

LARGEST = 2**22
"""Marginals have at most this many cells together: exact noise takes some microseconds per cell."""

MOST_COLUMNS = 12
"""One marginal has at most this many columns: it has a component per subset of them."""


class MarginalsQuestion(Question[Marginals]):
    """Histograms over several sets of columns. Rows that lack a cell in one of the columns do not count."""

    in_rho = True

    def __init__(self, table: Table, sets: Sequence[Sequence[str] | str]) -> None:
        self.table = table
        self.sets = [(one,) if isinstance(one, str) else _names(one) for one in sets]
        self._check()
        self.what = f"marginals of {'; '.join(', '.join(axes) for axes in self.sets)}"

    def _check(self) -> None:
        if not self.sets or len({frozenset(axes) for axes in self.sets}) != len(self.sets):
            raise BadInput(
                "columns", "are missing, or twice the same", 'pass for instance [("age", "sex"), ("sex", "income")]'
            )
        for axes in self.sets:
            if not 1 <= len(axes) <= MOST_COLUMNS or len(set(axes)) != len(axes):
                raise BadInput("columns", f"of a set are missing, repeated or over {MOST_COLUMNS}", "name each column once")
        cells = sum(math.prod(self._shape(axes)) for axes in self.sets)
        if cells > LARGEST:
            remedy = "ask for sets of fewer columns, or put columns into fewer cells with bin()"
            raise BadInput("columns", f"have {cells:,} cells together, and marginals have at most {LARGEST:,}", remedy)

    def _shape(self, axes: Axes) -> tuple[int, ...]:
        return tuple(self.table.schema.column(name).size for name in axes)

    @property
    def _weights(self) -> list[int]:
        """Shares of ε in proportion to the cube root of the cells, which makes the sum of all variances least.

        With shares w that add up to 1 it is the sum of cells/w², apart from constants, and the derivatives are equal there.
        """
        return [round(1000 * math.prod(self._shape(axes)) ** (1 / 3)) for axes in self.sets]

    def preview(self, *, epsilon: Any, rows: int | None = None) -> Preview:
        checked_rows(rows)  # it makes no difference
        price, shares = Price.of(epsilon), self._weights
        neighbours = self.table.neighbours.among_filtered()
        laws = {
            axes: law_of_a_cell(neighbours, price.times(Fraction(share, sum(shares))))
            for axes, share in zip(self.sets, shares, strict=True)
        }
        off = list(margins_of_cells({axes: self._shape(axes) for axes in self.sets}, laws).values())
        named = {"algorithm": "Laplace", "stand_in": "Laplace", "measure": price.measure}
        return Preview(epsilon=price.amount, margin=float(np.median(off)), widest=max(off), **named)

    def _release(self, epsilon: Any) -> Marginals:
        names = list(dict.fromkeys(name for axes in self.sets for name in axes))
        source = self.table._budget
        self._try_out(source.spent_before_measuring(epsilon))
        # The same rows for all: otherwise the exact counts would not agree, and least squares could not make them agree.
        columns = EngineColumns.of(self.table._views, names).complete()
        columns.check()
        records, token = source.records(columns, epsilon, note=self.what)
        sources = [records.vector(*axes) for axes in self.sets]
        whole, noisy, spread, laws = token.amount, {}, {}, {}
        for axes, counts, share in zip(self.sets, sources, token.split(*self._weights), strict=True):
            cells = identity(counts.shape)
            spread[axes] = counts.noise_variance(cells, share)
            laws[axes] = law_of_a_cell(counts.neighbours, share.price)
            noisy[axes] = counts.measure(cells, share).reshape(counts.shape)
        found, _ = consistent(noisy, spread)
        off = margins_of_cells({axes: self._shape(axes) for axes in self.sets}, laws)
        price: dict[str, Any] = {"spent": whole, "remaining": remaining_after(token, lambda: source.remaining)}
        price |= {"measure": token.measure, "left_in": token.left_in}
        price |= {"neighbours": records.neighbours, "charges": token.charges}
        price |= {"notes": notes_on(self.table.schema, self.table.unit, names)}
        tables = {
            axes: ReleasedNumbers(
                what=f"counts by {', '.join(axes)}",
                name="count",
                about=cell_labels(self.table.schema, axes),
                answers=found[axes].reshape(-1),
                margins=np.full(found[axes].size, off[axes]),
                **price,
            )
            for axes in self.sets
        }
        return Marginals(tables=tables, **price)

    def _try_out(self, epsilon: Price | None) -> None:
        """Raise what would be refused on the way, while the ε of a part is still there. Privacy: no row is looked at."""
        if epsilon is None:
            return
        neighbours = self.table.neighbours
        token = simulation(seed=0, neighbours=neighbours).grant(epsilon)
        for axes, share in zip(self.sets, token.split(*self._weights), strict=True):
            empty = no_rows(self._shape(axes), neighbours)
            empty.measure(identity(empty.shape), empty.grant(share.price))


def law_of_a_cell(neighbours: Neighbours, price: Price) -> NoiseLaw:
    """The law of the noise on one cell of a histogram, at a price."""
    if price.measure == PURE:
        return NoiseLaw.discrete_laplace(calibrate(neighbours.sensitivity(1, 2), price.amount))
    return NoiseLaw.gaussian(gaussian_variance(calibrate_square(neighbours.squared_sensitivity(1, 2), price.amount)))


def _names(one: object) -> tuple[str, ...]:
    if not isinstance(one, (list, tuple)) or not all(isinstance(name, str) for name in one):
        raise BadInput("columns", "must be names, or lists of names", 'pass for instance ("age", "sex"), ("sex", "income")')
    return tuple(one)
