"""Histograms over several sets of columns, asked together: they agree with each other, and none is over all columns.

Under ε, each set of columns is measured with a share of ε, and all are made consistent by least squares, which lets each
profit from the others. Under ρ, the components of all histograms are measured, each once, by a plan in closed form. The
vector over all columns is never built.

Privacy: every measurement is one of counts, with a token of its own; the tokens add up to what is charged. Under ρ the
charge is made once, before the first of them. The rest is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from jostle.answers.answer import paid_with
from jostle.answers.previews import Preview, checked_rows
from jostle.answers.released_numbers import Marginals, ReleasedNumbers
from jostle.kernel.arguments import check_one_of
from jostle.kernel.budget import PURE, Budget, Price
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import calibrate, calibrate_square, gaussian_variance
from jostle.kernel.partition import Vector
from jostle.kernel.records import Records
from jostle.kernel.source import simulation
from jostle.kernel.strategies import identity
from jostle.linear.design.residuals import Aim, ResidualPlan, Residue, check_marginal_weights, plan_residuals
from jostle.linear.fitting.marginals import Axes, consistent, margins_of_cells
from jostle.linear.laws import NORMAL_95, NoiseLaw
from jostle.tables.columns import EngineColumns
from jostle.tables.noise_choice import least_error
from jostle.tables.notes import notes_on
from jostle.tables.question import Question, cell_labels, no_rows, witnessed

if TYPE_CHECKING:
    from jostle.tables.table import Table

LARGEST = 2**22
"""Marginals have at most this many cells together: exact noise takes some microseconds per cell."""

MOST_COLUMNS = 12
"""One marginal has at most this many columns: it has a component per subset of them."""


class MarginalsQuestion(Question[Marginals]):
    """Histograms over several sets of columns. Rows that lack a cell in one of the columns do not count."""

    in_rho = True

    def __init__(
        self,
        table: Table,
        sets: Sequence[Sequence[str] | str],
        *,
        weights: Sequence[float] | None = None,
        least: Aim = "total",
    ) -> None:
        self.table = table
        self.sets = [(one,) if isinstance(one, str) else _names(one) for one in sets]
        self._check()
        check_one_of(least, "least", get_args(Aim))
        self.weights, self.least = check_marginal_weights(weights, self.sets), least
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
    def _shapes(self) -> dict[Axes, tuple[int, ...]]:
        return {axes: self._shape(axes) for axes in self.sets}

    @property
    def _shares(self) -> list[int]:
        """Shares of ε: for the least sum of all variances, in proportion to the cube root of the weighted cells.

        With shares w that add up to 1 it is the sum of cells/w², apart from constants, and the derivatives are equal there.
        For the least largest variance, in proportion to the root of the weight: each set's 1/w² is then the same.
        """
        each = [1.0 if self.weights is None else self.weights[axes] for axes in self.sets]
        if self.least == "total":
            cells = [math.prod(self._shape(axes)) for axes in self.sets]
            found = [(weight * many) ** (1 / 3) for weight, many in zip(each, cells, strict=True)]
        else:
            found = [math.sqrt(weight) for weight in each]
        return [max(1, round(1000 * share / min(found))) for share in found]

    def _residuals(self, neighbours: Neighbours) -> ResidualPlan:
        return plan_residuals(self._shapes, neighbours, weights=self.weights, least=self.least)

    def preview(self, *, epsilon: Any, rows: int | None = None) -> Preview:
        checked_rows(rows)  # it makes no difference
        price = least_error(self.table, Price.of(epsilon), self._expected_error) or Price.of(epsilon)
        off = list(self._margins(price).values())
        noise = "Laplace" if price.measure == PURE else "residuals with Gaussian noise"
        named = {"algorithm": noise, "stand_in": noise, "measure": price.measure}
        return Preview(epsilon=price.amount, margin=float(np.median(off)), widest=max(off), **named)

    def _margins(self, price: Price) -> dict[Axes, float]:
        """Half the width of a 95 % interval around a cell of each set, at this price."""
        if price.measure == PURE:
            return margins_of_cells(self._shapes, self._laws(price))
        return {axes: NORMAL_95 * math.sqrt(variance) for axes, variance in self._variances(price).items()}

    def _laws(self, price: Price) -> dict[Axes, NoiseLaw]:
        """Of the Laplace noise on a cell of each set."""
        neighbours, shares = self.table.neighbours.among_filtered(), self._shares
        parts = [price.times(Fraction(share, sum(shares))) for share in shares]
        return {axes: law_of_a_cell(neighbours, part) for axes, part in zip(self.sets, parts, strict=True)}

    def _variances(self, price: Price) -> dict[Axes, float]:
        """Of a cell of each set, when all agree."""
        if price.measure == PURE:
            noise = {axes: law.second for axes, law in self._laws(price).items()}
            return consistent({axes: np.zeros(shape) for axes, shape in self._shapes.items()}, noise)[1]
        neighbours = self.table.neighbours.among_filtered()
        plan = self._residuals(neighbours)
        return plan.variances([_noise_on(one, neighbours, price.times(plan.share_of(one))) for one in plan.residues])

    def _expected_error(self, price: Price) -> float:
        """What is to be least: the weighted sum of all cells' variances, or the largest of them."""
        found = {axes: (self.weights or {}).get(axes, 1.0) * one for axes, one in self._variances(price).items()}
        if self.least != "total":
            return max(found.values())
        return sum(one * math.prod(self._shape(axes)) for axes, one in found.items())

    def _release(self, epsilon: Any) -> Marginals:
        names = list(dict.fromkeys(name for axes in self.sets for name in axes))
        source = self.table._budget
        if epsilon is not None:
            epsilon = least_error(self.table, Price.of(epsilon), self._expected_error)
        if source.memory is not None and epsilon is not None:
            from jostle.tables.memory.several import as_before

            known = as_before(self, epsilon)
            if known is not None:
                return self._answer(names, *known)
        self._try_out(source.spent_before_measuring(epsilon))
        # The same rows for all: otherwise the exact counts would not agree, and least squares could not make them agree.
        columns = EngineColumns.of(self.table._views, names).complete()
        columns.check()
        records, token = source.records(columns, epsilon, note=self.what)
        with witnessed() as seen:
            found = self._cells(records, token) if token.measure == PURE else self._from_residuals(records, token)
        price = paid_with(token, lambda: source.remaining) | {"neighbours": records.neighbours}
        if source.memory is not None:
            from jostle.tables.memory.several import remember

            remember(self, found, seen, token.price)
        return self._answer(names, found, price)

    def _answer(
        self, names: Sequence[str], found: Mapping[Axes, tuple[Vector, float, float]], price: dict[str, Any]
    ) -> Marginals:
        reused = price.pop("reused", ())
        price |= {"notes": (*notes_on(self.table.schema, self.table.unit, names, view=self.table._views[0]), *reused)}
        tables = {
            axes: ReleasedNumbers(
                what=f"counts by {', '.join(axes)}",
                name="count",
                about=cell_labels(self.table.schema, axes),
                answers=found[axes][0].reshape(-1),
                margins=np.full(found[axes][0].size, found[axes][1]),
                law="log-concave" if reused or price["measure"] == PURE else "normal",
                **price,
            )
            for axes in self.sets
        }
        return Marginals(tables=tables, noise={axes: (found[axes][0].shape, found[axes][2]) for axes in self.sets}, **price)

    def _cells(self, records: Records, token: Budget) -> dict[Axes, tuple[Vector, float, float]]:
        """Under ε: every cell of every set, then least squares; with the margin of a cell of each, and its variance."""
        sources = [records.vector(*axes) for axes in self.sets]
        noisy, spread, laws = {}, {}, {}
        for axes, counts, share in zip(self.sets, sources, token.split(*self._shares), strict=True):
            cells = identity(counts.shape)
            spread[axes] = counts.noise_variance(cells, share)
            laws[axes] = law_of_a_cell(counts.neighbours, share.price)
            noisy[axes] = counts.measure(cells, share).reshape(counts.shape)
        off, (fitted, variances) = margins_of_cells(self._shapes, laws), consistent(noisy, spread)
        return {axes: (values, off[axes], variances[axes]) for axes, values in fitted.items()}

    def _from_residuals(self, records: Records, token: Budget) -> dict[Axes, tuple[Vector, float, float]]:
        """Under ρ: every component once; with the margin of a cell of each set, and its variance."""
        plan = self._residuals(records.neighbours)
        paid, whole = records.paid(token, f"{len(plan.residues)} residuals of {len(self.sets)} sets of columns")
        sources = {axes: paid.vector(*axes) for axes in dict.fromkeys(residue.of for residue in plan.residues)}
        measured, noise = [], []
        for residue, share in zip(plan.residues, whole.split(*plan.shares), strict=True):
            counts = sources[residue.of]
            noise.append(counts.noise_variance(residue.queries, share))
            measured.append(counts.measure(residue.queries, share))
        found = plan.histograms(measured, noise)
        return {axes: (values, NORMAL_95 * math.sqrt(variance), variance) for axes, (values, variance) in found.items()}

    def _try_out(self, epsilon: Price | None) -> None:
        """Raise what would be refused on the way, while the ε of a part is still there. Privacy: no row is looked at."""
        if epsilon is None:
            return
        neighbours = self.table.neighbours
        token = simulation(seed=0, neighbours=neighbours).grant(epsilon)
        if token.measure != PURE:
            plan = self._residuals(neighbours)
            for residue, share in zip(plan.residues, token.split(*plan.shares), strict=True):
                _noise_on(residue, neighbours, share.price)
            return
        for axes, share in zip(self.sets, token.split(*self._shares), strict=True):
            empty = no_rows(self._shape(axes), neighbours)
            empty.measure(identity(empty.shape), empty.grant(share.price))


def _noise_on(residue: Residue, neighbours: Neighbours, price: Price) -> float:
    """The variance of the noise on a residue, at its price."""
    square = calibrate_square(neighbours.squared_sensitivity(*residue.queries.squared_sensitivities()), price.amount)
    return gaussian_variance(square) / residue.queries.unit**2


def law_of_a_cell(neighbours: Neighbours, price: Price) -> NoiseLaw:
    """The law of the noise on one cell of a histogram, at a price."""
    if price.measure == PURE:
        return NoiseLaw.discrete_laplace(calibrate(neighbours.sensitivity(1, 2), price.amount))
    return NoiseLaw.gaussian(gaussian_variance(calibrate_square(neighbours.squared_sensitivity(1, 2), price.amount)))


def _names(one: object) -> tuple[str, ...]:
    if not isinstance(one, (list, tuple)) or not all(isinstance(name, str) for name in one):
        raise BadInput("columns", "must be names, or lists of names", 'pass for instance ("age", "sex"), ("sex", "income")')
    return tuple(one)
