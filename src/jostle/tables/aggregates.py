"""What can be computed per group of rows: for `Table.group_by(…).aggregate(…)`.

>>> from jostle.tables import aggregates as agg
>>> agg.mean("cost")
Aggregate(kind='mean', column='cost', level=None, ddof=0)
>>> print(agg.sum("cost") / agg.sum("days"))
sum of cost / sum of days
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from jostle.kernel.arguments import finite
from jostle.kernel.errors import BadInput

KINDS: Final = ("count", "count_units", "sum", "mean", "variance", "std", "quantile", "min", "max")

EXTREMES: Final = {"min": 0.01, "max": 0.99}
"""The smallest and the largest value depend on one person, so quantiles near the ends take their place."""


@final
@dataclass(frozen=True)
class Aggregate:
    """One thing that is computed per group, from a column or from whole rows."""

    kind: str
    """One of `KINDS`."""

    column: str | None = None
    """The column; None for rows and units."""

    level: float | None = None
    """Of a quantile, the part of the rows below it."""

    ddof: int = 0
    """Of a variance, what is subtracted from the number of rows before it is divided by: 1 for that of a sample."""

    def __post_init__(self) -> None:
        if self.ddof not in (0, 1) or isinstance(self.ddof, bool) or (self.ddof and self.kind not in ("variance", "std")):
            raise BadInput("ddof", "must be 0 or 1, and is for variances", "pass 1 to divide by the number of rows less one")
        if self.kind not in KINDS:
            raise BadInput("aggregate", f"{self.kind!r} is unknown", f"use one of {', '.join(KINDS)}")
        if (self.column is None) != (self.kind in ("count", "count_units")) and self.kind != "count":
            needs = "counts units, not values" if self.kind == "count_units" else "needs a column"
            raise BadInput("aggregate", f"{self.kind} {needs}", f'write for instance {self.kind}("cost")')
        if self.column is not None and not isinstance(self.column, str):
            raise BadInput("aggregate", "needs the name of a column", 'write for instance mean("cost")')
        level = EXTREMES.get(self.kind, self.level)
        if self.kind == "quantile" and ((known := finite(level)) is None or not 0 < known < 1):
            raise BadInput("level", "must be a number between 0 and 1", "pass 0.5 for the median")
        object.__setattr__(self, "level", level)

    @property
    def is_quantile(self) -> bool:
        """Whether it is read from the distribution of the column."""
        return self.level is not None

    def __str__(self) -> str:
        if self.kind == "count_units":
            return "count of units"
        named = f"{self.level:g} quantile" if self.kind == "quantile" else f"{'sample ' if self.ddof else ''}{self.kind}"
        return named if self.column is None else f"{named} of {self.column}"

    def __truediv__(self, other: Aggregate) -> Ratio:
        return Ratio(self, other)


@final
@dataclass(frozen=True)
class Ratio:
    """One aggregate divided by another, per group: computed from the released numbers, so it costs no more than they do."""

    over: Aggregate
    under: Aggregate

    def __post_init__(self) -> None:
        if not isinstance(self.over, Aggregate) or not isinstance(self.under, Aggregate):
            raise BadInput("ratio", "must be of two aggregates", 'write for instance ratio(sum("cost"), sum("days"))')

    def __str__(self) -> str:
        return f"{self.over} / {self.under}"


def ratio(over: Aggregate, under: Aggregate) -> Ratio:
    """One aggregate divided by another: `ratio(sum("cost"), sum("days"))`, or `sum("cost") / sum("days")`."""
    return Ratio(over, under)


def count(column: str | None = None) -> Aggregate:
    """The number of rows; with a column, of rows that have a value in it."""
    return Aggregate("count", column)


def count_distinct_units() -> Aggregate:
    """The number of persons (of whatever the table's unit protects) that have rows in the group."""
    return Aggregate("count_units")


def sum(column: str) -> Aggregate:  # reads as what it is: aggregates.sum
    """The sum of a column, with values clipped to the declared bounds. Rows without a number count as 0."""
    return Aggregate("sum", column)


def mean(column: str) -> Aggregate:
    """The mean of a column over the rows that have a number, with values clipped to the declared bounds."""
    return Aggregate("mean", column)


def variance(column: str, *, ddof: int = 0) -> Aggregate:
    """The variance of a column over the rows that have a number: the mean squared distance from their mean.

    With `ddof=1`, as of a sample: the squares are divided by the number of rows less one, as VARIANCE does in SQL.
    """
    return Aggregate("variance", column, ddof=ddof)


def std(column: str, *, ddof: int = 0) -> Aggregate:
    """The standard deviation of a column: the square root of `variance`. With `ddof=1`, of a sample, as STDDEV in SQL."""
    return Aggregate("std", column, ddof=ddof)


def quantiles(column: str, level: float) -> Aggregate:
    """The value below which this part of the rows lies: 0.5 for the median."""
    return Aggregate("quantile", column, level)


def min(column: str) -> Aggregate:
    """The 1 % quantile. The smallest value depends on a single person, so it cannot be released."""
    return Aggregate("min", column)


def max(column: str) -> Aggregate:
    """The 99 % quantile. The largest value depends on a single person, so it cannot be released."""
    return Aggregate("max", column)
