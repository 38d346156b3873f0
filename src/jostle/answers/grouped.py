"""Several aggregates per group of rows, which share one price: a table with an interval for each number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle import plots
from jostle.answers.answer import Answer
from jostle.answers.noise_intervals import MISSED, NumberReading, NumberSum, ratio_of_sums
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Vector
from jostle.schema.rows import Rows, decimals_of, distinct_names, short

if TYPE_CHECKING:
    from pandas import DataFrame

SHOWN_AS_BARS = 8
"""A cross table of more cells than this is drawn as a map with numbers."""


@dataclass(frozen=True, kw_only=True, repr=False)
class GroupedAnswers(Answer):
    """One row per group, and one number with a 95 % interval per aggregate."""

    groups: tuple[str, ...]
    """The columns that rows are grouped by; none if there is one row for all."""

    labels: Mapping[str, Sequence[Any]]
    """Per column that rows are grouped by, the label of each group."""

    values: Mapping[str, Vector]
    """Per aggregate, the number of each group."""

    ends: Mapping[str, tuple[Vector, Vector]]
    """Per aggregate, the lower and the upper ends of the 95 % intervals."""

    what: Mapping[str, str]
    """Per aggregate, what it is in words, such as "mean of cost"."""

    sums: Mapping[str, NumberSum | None] = field(default_factory=dict)
    """The counts and sums among the aggregates, as they are computed from noisy numbers."""

    readings: Mapping[str, NumberReading] = field(default_factory=dict, repr=False)
    """The aggregates whose intervals can be had at any confidence."""

    why: str = "Laplace noise"
    """The noise, and why it is of this kind."""

    @cached_property
    def margins(self) -> dict[str, Vector]:
        """Per aggregate and group, how far the farther end of the interval is from the number."""
        return {
            name: np.maximum(high - self.values[name], self.values[name] - low) for name, (low, high) in self.ends.items()
        }

    @cached_property
    def ends_together(self) -> dict[str, tuple[Vector, Vector]]:
        """The same for intervals that all hold at once, with 95 % confidence: each misses with its part of 5 %."""
        if missing := [name for name in self.values if name not in self.readings]:
            problem = f"is for counts, sums, means and variances, and {missing[0]!r} is another, or was remembered"
            raise BadInput("together", problem, "leave it out, or ask for the others by themselves")
        missed = MISSED / max(len(self) * len(self.values), 1)
        return {name: self.readings[name].found(missed)[1:] for name in self.values}

    def ratio(self, over: int, under: int) -> tuple[Vector, Vector] | None:
        """The ends of the intervals of one count or sum over another; None for other aggregates."""
        names = list(self.values)
        top, bottom = self.sums.get(names[over]), self.sums.get(names[under])
        return None if top is None or bottom is None else ratio_of_sums(top, bottom)[1:]

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))

    def _explained(self) -> str:
        what, rows = self._what_and_rows
        typical = f", typically within (95 %): {self._typical}" if self._typical else ""
        return f"{what}: {rows} at {self._at}{typical}. {self.why}. It protects {self._whom}. {self._left}"

    @property
    def _what_and_rows(self) -> tuple[str, str]:
        by = f" by {' and '.join(self.groups)}" if self.groups else ""
        return f"{', '.join(self.values)}{by}", f"{len(self):,} groups" if self.groups else "one group"

    @property
    def _typical(self) -> str:
        """How far off each aggregate typically is."""
        return "; ".join(f"{self.what[name]} ± {short(np.median(self.margins[name]))}" for name in self.values if len(self))

    @property
    def _title(self) -> str:
        return self._line(*self._what_and_rows)

    @property
    def _method(self) -> tuple[str, ...]:
        typical = (f"Typical error (95 % confidence): {self._typical}.",) if self._typical else ()
        return (*typical, f"{self.why}.", self._left)

    def rows(self, *, together: bool = False) -> Rows:
        """One row per group: its labels, and per aggregate the number and the ends of its interval.

        With `together`, all intervals of the table hold at once with 95 % confidence. They are wider.
        """
        ends = self.ends_together if together else self.ends
        numbers: dict[str, Any] = {}
        for name, values in self.values.items():
            low, high = distinct_names([f"{name}: low", f"{name}: high"], self.values)
            numbers |= {name: values, low: ends[name][0], high: ends[name][1]}
        labels = zip(distinct_names(self.groups, numbers), (self.labels[name] for name in self.groups), strict=True)
        return Rows({**dict(labels), **numbers})

    def plot(self, name: str | None = None) -> Any:
        """One aggregate, by default the first, as a Plotly figure: bars with intervals; a map for two columns of groups."""
        return plots.captioned(self._drawn(name), self._terms, self.notes)

    def _drawn(self, name: str | None = None) -> Any:
        shown = name or next(iter(self.values))
        if shown not in self.values:
            raise BadInput("name", f"{shown!r} is not among the aggregates", f"use one of {', '.join(self.values)}")
        labels = [", ".join(map(str, parts)) for parts in zip(*self.labels.values(), strict=True)] or ["all rows"]
        by = " and ".join(self.groups)
        title, x = plots.heading(f"{self.what[shown]} by {by}" if by else self.what[shown]), ", ".join(self.groups)
        if len(self.groups) == 2 and len(labels) > SHOWN_AS_BARS:
            rows, columns = (list(dict.fromkeys(map(str, self.labels[name]))) for name in self.groups)
            cells = np.full((len(rows), len(columns)), np.nan)
            for row, column, value in zip(*self.labels.values(), self.values[shown], strict=True):
                cells[rows.index(str(row)), columns.index(str(column))] = value
            return plots.heat(cells, title=title, x=self.groups[1], y=self.groups[0], labels=(rows, columns))
        figure = plots.bars(self.values[shown], self.margins[shown], labels=labels, title=title, x=x)
        return figure.update_yaxes(title_text=shown)

    def wide_rows(self) -> Rows:
        """A cross table of two group columns: one row per label of the first, and columns for those of the second."""
        return self._wide[0]

    @cached_property
    def _wide(self) -> tuple[Rows, dict[str, int]]:
        """A cross table, and how many decimals each of its columns needs: as many as the aggregate's intervals."""
        (down, rows), (_, across) = ((name, list(dict.fromkeys(self.labels[name]))) for name in self.groups)
        found: dict[str, list[Any]] = {down: rows}
        decimals: dict[str, int] = {}
        pairs = list(zip(*self.labels.values(), strict=True))
        for name, values in self.values.items():
            known = dict(zip(pairs, np.asarray(values).tolist(), strict=True))
            titles = [f"{name}: {label}" if len(self.values) > 1 else str(label) for label in across]
            needed = decimals_of(values.tolist(), *(end.tolist() for end in self.ends[name]))
            for title, label in zip(distinct_names(titles, found), across, strict=True):
                found[title], decimals[title] = [known.get((row, label), np.nan) for row in rows], needed
        return Rows(found), decimals

    def shown(self, rows: Rows, most: int | None = None) -> str:
        wide = len(rows.columns) != len(self.groups) + 3 * len(self.values)
        table = rows.to_text(most, intervals=not wide, decimals=self._wide[1] if wide else None)
        return self._around(table)

    def pivot(self, name: str | None = None) -> DataFrame:
        """A cross table of two group columns, of one aggregate or, by default, of all: the last column's labels across."""
        if len(self.groups) != 2:
            raise BadInput("pivot", f"is for two group columns, and there are {len(self.groups)}", "use to_pandas()")
        if name is not None and name not in self.values:
            raise BadInput("name", f"{name!r} is not among the aggregates", f"use one of {', '.join(self.values)}")
        frame = self.to_pandas()
        down, across = list(frame.columns)[:2]
        orders = [list(dict.fromkeys(frame[one])) for one in (down, across)]
        wanted = name or (list(self.values) if len(self.values) > 1 else next(iter(self.values)))
        table = frame.pivot(index=down, columns=across, values=wanted)  # each pair of labels is there once
        columns = [(one, label) for one in wanted for label in orders[1]] if isinstance(wanted, list) else orders[1]
        return table.reindex(index=orders[0])[columns]

    def __repr__(self) -> str:
        by = f" by {', '.join(self.groups)}" if self.groups else ""
        return f"<GroupedAnswers: {', '.join(self.values)}{by}, at {self._at}>"
