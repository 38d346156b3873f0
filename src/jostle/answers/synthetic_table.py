"""A synthetic table as an answer: its records, what they were made from, and how far histograms of it may be off."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from jostle import plots
from jostle.answers.answer import Answer, IntervalKind, labelled
from jostle.kernel.budget import PURE, SYMBOLS, round_up
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts
from jostle.linear.laws import NoiseLaw, margins
from jostle.schema import Date, Numeric
from jostle.schema.rows import Rows
from jostle.synthetic.estimate import NoisyMarginal, combined
from jostle.synthetic.junction_tree import Clique
from jostle.synthetic.model import FloatArray, summed
from jostle.synthetic.synthesizer import Synthesis

FEW_RECORDS = 8
"""An answer shows this many of its records."""

MOST_STEPS = 30
"""A report lists this many measurements in full."""


@dataclass(frozen=True, kw_only=True)
class SyntheticMarginal:
    """Counts of some columns' groups by the model behind a synthetic table, with 95 % intervals."""

    names: tuple[str, ...]
    about: Mapping[str, Sequence[str]]
    """The label of each column's group, one per count."""

    counts: FloatArray
    low: FloatArray
    high: FloatArray

    basis: Literal["measured", "bounded", "from single columns"]
    """Where the intervals come from: a measurement of these columns; the last choice, which would rather have taken these
    columns if they were worse; or only what is known of each column."""

    off: float | None = None
    """Bounded: the sum of all counts' errors is at most this many records, in 95 of 100 cases."""

    def rows(self) -> Rows:
        """One row per combination of groups."""
        return labelled(self.about, {"count": self.counts, "low": self.low, "high": self.high})

    def words(self) -> str:
        """Where the intervals come from."""
        if self.basis == "measured":
            return "Measured together: the intervals are those of the noise."
        if self.off is not None:
            off = f"at most {self.off:,.0f} records in all"
            return f"Not measured together. In 95 of 100 cases, the counts of all combinations are off by {off}."
        return "Not measured together, and no bound is known: a combination has no more records than its rarest value."

    def plot(self) -> Any:
        """Bars with intervals for one column, a grid of counts for two."""
        title = plots.heading(" and ".join(self.names))
        if len(self.names) > 2:
            raise BadInput("columns", "are more than two, and a picture has one or two", "plot a marginal of fewer columns")
        if len(self.names) == 1:
            (name,) = self.names
            figure = plots.bars(self.counts, self.counts - self.low, labels=self.about[name], title=title, x=name)
            figure.data[0].error_y.array = np.maximum(self.high - self.counts, 0)
            figure.data[0].error_y.arrayminus = np.maximum(self.counts - self.low, 0)
        else:
            one, other = (list(dict.fromkeys(self.about[name])) for name in self.names)
            grid = self.counts.reshape(len(one), len(other))
            figure = plots.heat(grid, title=title, x=self.names[1], y=self.names[0], labels=(one, other))
        return plots.captioned(figure, "measured" if self.basis == "measured" else "by the model", [self.words()])

    def to_pandas(self) -> Any:
        """The rows as a frame of pandas."""
        return self.rows().to_pandas()


@dataclass(frozen=True, kw_only=True, repr=False)
class SyntheticTable(Answer):
    """Records that belong to nobody, with a table's columns, and everything public about how they were made."""

    synthesis: Synthesis
    """The model, and what was measured for it."""

    records: Rows
    """The synthetic records, with plain values."""

    def __len__(self) -> int:
        return len(self.records)

    @property
    def interval_kind(self) -> IntervalKind:
        """Intervals of measured histograms, and bounds on others, follow from the noise's law."""
        return "exact"

    def rows(self) -> Rows:
        """The synthetic records: there is no interval around a record; `marginal` has those of histograms."""
        return self.records

    def _explained(self) -> str:
        steps = self.synthesis.steps
        single = sum(len(step.names) == 1 for step in steps)
        widest = max((len(step.names) for step in steps), default=1)
        more = (
            f" and {len(steps) - single} of up to {widest} columns, which were chosen privately"
            if single < len(steps)
            else ""
        )
        return (
            f"{len(self):,} synthetic records with {len(self.synthesis.columns)} columns, from {single} noisy histograms of "
            f"single columns{more}, at {self._at}. Protects {self._whom}. {self._left}"
        )

    def shown(self, rows: Rows, most: int | None = None) -> str:
        """The answer in words, and the first records."""
        words = [self._explained(), self.synthesis.strategy.words()]
        return "\n".join([*words, "", self.first(FEW_RECORDS).to_text(), "", *self.notes])

    def first(self, most: int) -> Rows:
        """The first records, as texts."""
        found = self.records.at(range(min(len(self), most))).columns
        return Rows({name: ["" if one is None else str(one) for one in values] for name, values in found.items()})

    # --------------------------------------------------------------------------------------------------- histograms

    def marginal(self, *columns: str) -> SyntheticMarginal:
        """About how many records of the private table have each combination of these columns' groups, with 95 % intervals.

        Cells that have few records are in groups, see `groups`. `basis` says where the intervals come from.
        """
        names = self.synthesis.names
        unknown = [name for name in columns if name not in names]
        if unknown or not columns or len(set(columns)) < len(columns):
            raise BadInput("columns", "must be some of the table's, each once", f"use some of {', '.join(names)}")
        axes = tuple(names.index(name) for name in columns)
        counts = self.synthesis.fitted.counts(axes)
        kept = tuple(sorted(axes))
        order = [kept.index(axis) for axis in axes]
        about = _labels([self.groups(name) for name in columns], columns)
        found = self._measured(kept)
        known: dict[str, Any] = {"names": columns, "about": about, "counts": counts.reshape(-1)}
        if found is not None:
            values, margin = found
            ends = [np.maximum(np.transpose(values + side * margin, order).reshape(-1), 0) for side in (-1, 1)]
            return SyntheticMarginal(**known, low=ends[0], high=ends[1], basis="measured")
        bound = self.synthesis.bounds.get(kept)
        low, high = self._between(axes)
        if bound is not None and bound.distance < 2 * self.synthesis.total:
            off = bound.distance
            low, high = np.maximum(low, known["counts"] - off), np.minimum(high, known["counts"] + off)
            return SyntheticMarginal(**known, low=np.maximum(low, 0), high=high, basis="bounded", off=off)
        return SyntheticMarginal(**known, low=low, high=high, basis="from single columns")

    def _measured(self, axes: Clique) -> tuple[FloatArray, FloatArray] | None:
        """The most precise measurement of these columns, or of more, and half the widths of its intervals."""
        found = [self._single(axes[0])] if len(axes) == 1 else []
        for one in combined(self.synthesis.measured[len(self.synthesis.columns) :]):
            if set(axes) <= set(one.axes):
                values = summed(one.values, one.axes, axes)
                found.append((values, self._margins(one, np.full(values.shape, one.values.size // values.size))))
        return min(found, key=lambda each: float(each[1].mean()), default=None)

    def _single(self, axis: int) -> tuple[FloatArray, FloatArray]:
        """A column's first histogram over groups: each has the noise of all its cells."""
        name = self.synthesis.names[axis]
        groups, single = self.synthesis.coarse[name].groups, self.synthesis.singles[name]
        return np.bincount(groups, single.values).astype(np.float64), self._margins(single, np.bincount(groups))

    def _margins(self, one: NoisyMarginal, added: Counts) -> FloatArray:
        """Of sums of this many counts each. An average of measurements is treated like one of its variance."""
        law = NoiseLaw.gaussian(one.variance)
        if self.measure == PURE:
            law = NoiseLaw.discrete_laplace(math.sqrt(one.variance / 2))
        return margins([(law, np.tile(added.reshape(-1).astype(np.float64), (3, 1)))]).reshape(added.shape)

    def _between(self, axes: Clique) -> tuple[FloatArray, FloatArray]:
        """A combination has no more records than the rarest of its values: bounds by single columns."""
        synthesis = self.synthesis
        high = np.full((), np.inf)
        for axis in axes:
            found = self._measured((axis,))
            upper = synthesis.fitted.counts((axis,)) if found is None else found[0] + found[1]
            high = np.minimum(high[..., np.newaxis], np.maximum(upper, 0))
        return np.zeros(high.size), high.reshape(-1)

    def groups(self, column: str) -> list[str]:
        """The labels of a column's groups of cells."""
        if column not in self.synthesis.columns:
            raise BadInput("column", f"{column!r} is not in the table", f"use one of {', '.join(self.synthesis.names)}")
        described, coarse = self.synthesis.columns[column], self.synthesis.coarse[column]
        ordered = isinstance(described, (Numeric, Date))
        inside = [np.flatnonzero(coarse.groups == group) for group in range(coarse.size)]
        labels = described.labels
        return [_label([labels[cell] for cell in cells], ordered=ordered) for cells in inside]

    # ------------------------------------------------------------------------------------------------------- report

    def report(self) -> str:
        """What was measured, at which price and with how much noise, and where the model may be far off."""
        symbol = SYMBOLS[self.measure]
        lines = [self._explained(), "", self.synthesis.strategy.words(), "", "Measured:"]
        for step in self.synthesis.steps[:MOST_STEPS]:
            paid = f"{symbol} = {round_up(step.amount):.3g}"
            lines.append(f"  {', '.join(step.names)}: {step.cells:,} counts, ± {1.96 * step.deviation:,.0f} each, {paid}")
        if len(self.synthesis.steps) > MOST_STEPS:
            lines.append(f"  … and {len(self.synthesis.steps) - MOST_STEPS} more")
        lines += ["", *self._least_known()]
        return "\n".join(lines)

    def _least_known(self) -> Iterator[str]:
        total = self.synthesis.total
        bounds = sorted(
            ((bound.distance / total, axes) for axes, bound in self.synthesis.bounds.items() if len(axes) == 2), reverse=True
        )
        unmeasured = [(off, axes) for off, axes in bounds if self._measured(axes) is None]
        if len(self.synthesis.columns) > 1 and all(len(step.names) == 1 for step in self.synthesis.steps):
            yield "Only single columns were measured: synthetic columns have nothing to do with each other."
            return
        if not unmeasured:
            yield "Every pair of columns that the model could hold was measured."
            return
        yield "Pairs that were not measured, and how far their counts may be off in all (at 95 %; 200 % says nothing):"
        for off, axes in unmeasured[:5]:
            named = ", ".join(self.synthesis.names[axis] for axis in axes)
            yield f"  {named}: at most {min(off, 2.0):.0%} of the records"

    def _drawn(self) -> Any:
        """How far each pair of columns may be off by the last choice; 0 where it was measured."""
        names = list(self.synthesis.names)
        table = np.full((len(names), len(names)), np.nan)
        for axes in combinations(range(len(names)), 2):
            bound = self.synthesis.bounds.get(axes)
            if self._measured(axes) is not None:
                table[axes] = table[axes[::-1]] = 0.0
            elif bound is not None:
                table[axes] = table[axes[::-1]] = min(bound.distance / self.synthesis.total, 2.0)
        title = f"How far pairs of columns may be off, {self._at}"
        return plots.heat(table, title=title, x="column", y="column", labels=(names, names))

    def __repr__(self) -> str:
        return f"<SyntheticTable: {len(self):,} records of {', '.join(self.synthesis.names)}, at {self._at}>"


def _label(labels: Sequence[str], *, ordered: bool) -> str:
    if len(labels) == 1:
        return labels[0]
    return f"{labels[0]} … {labels[-1]}" if ordered else " | ".join(labels)


def _labels(groups: Sequence[Sequence[str]], names: Sequence[str]) -> dict[str, list[str]]:
    grids = np.meshgrid(*(np.array(labels, dtype=object) for labels in groups), indexing="ij")
    return {name: grid.reshape(-1).tolist() for name, grid in zip(names, grids, strict=True)}
