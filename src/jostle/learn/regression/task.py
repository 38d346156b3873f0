"""The public part of a regression: the attributes, the number to predict, and what number each cell stands for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jostle.kernel.errors import BadInput
from jostle.learn.registry import FloatArray
from jostle.learn.task import Task
from jostle.schema import Boolean, Category, Column, Date, Integer, Numeric


@dataclass(frozen=True)
class RegressionTask(Task):
    """Predict a column of numbers from some attributes. Rows without a number there do not count.

    Two values count as numbers, too: the first is 0 and the second 1, so that a mean is a probability.

    >>> from jostle.schema import Real
    >>> task = RegressionTask.over({"age": Integer(0, 99), "pay": Real(0, 10, bins=5)}, "pay")
    >>> task.encode_label([1.0, 9.5, None]).tolist(), task.targets.tolist()
    ([0, 4, -1], [1.0, 3.0, 5.0, 7.0, 9.0])
    """

    def _check_label(self) -> None:
        if not _is_number(self.columns.get(self.label)):
            able = [name for name, column in self.columns.items() if _is_number(column)]
            names_one = f"name the column to predict as label, one of {', '.join(able)}"
            remedy = names_one if able else "describe it as Real(low, high, bins=…), or as Integer(low, high)"
            raise BadInput("label", f"{self.label!r} must be a column of the schema with numbers", remedy)

    @property
    def label_cells(self) -> int:
        return self.columns[self.label].values

    @cached_property
    def targets(self) -> FloatArray:
        """The number that each cell of the label stands for."""
        return middles(self.columns[self.label])

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest number that is predicted."""
        column = self.columns[self.label]
        return (float(column.low), float(column.high)) if isinstance(column, Numeric) else (0.0, 1.0)


def _is_number(column: Column | None) -> bool:
    return isinstance(column, (Numeric, Boolean)) or (isinstance(column, Category) and column.values == 2)


def is_ordered(column: Column) -> bool:
    """Whether a column's cells follow one another: numbers and days."""
    return isinstance(column, (Numeric, Date))


def middles(column: Column) -> FloatArray:
    """The number in the middle of each cell that the schema names; days are numbered by their cells.

    >>> middles(Integer(0, 9, bins=3)).tolist()
    [1.5, 5.5, 8.5]
    """
    cells = np.arange(column.values, dtype=np.float64)
    if isinstance(column, Integer):
        first = column.low + cells * column.width
        return np.asarray((first + np.minimum(first + column.width - 1, column.high)) / 2)
    if isinstance(column, Numeric):
        edges = column.edges
        return np.asarray((edges[:-1] + edges[1:]) / 2)
    return cells
