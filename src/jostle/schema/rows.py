"""Released numbers as rows under names: for files and terminals, which then need not wait for pandas to load."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Rows:
    """Columns of texts and of numbers, all equally long.

    >>> Rows({"sex": ["F", "M"], "count": [3.0, 4.5]}).records()
    [{'sex': 'F', 'count': 3.0}, {'sex': 'M', 'count': 4.5}]
    """

    columns: Mapping[str, Sequence[Any]]
    """By their names; a text or a number that is missing is None or NaN."""

    def __len__(self) -> int:
        return max(map(len, self.columns.values()), default=0)

    def at(self, places: Iterable[int]) -> Rows:
        """Some of the rows, in this order."""
        wanted = list(places)
        return Rows({name: [values[place] for place in wanted] for name, values in self.by_name().items()})

    def by_name(self) -> dict[str, list[Any]]:
        """Each column as a list of Python's own texts or numbers."""
        return {
            name: list(values.tolist() if hasattr(values, "tolist") else values) for name, values in self.columns.items()
        }

    def records(self) -> list[dict[str, Any]]:
        """A dictionary per row, of Python's own texts and numbers."""
        columns = self.by_name()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_csv(self) -> str:
        """The rows as a CSV file, to the byte as pandas writes it.

        >>> Rows({"sex, age": ["F, 31", "M"], "count": [3.0, math.nan]}).to_csv().splitlines()
        ['"sex, age",count', '"F, 31",3.0', 'M,']
        """
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator=os.linesep)
        writer.writerow(self.columns)
        for row in zip(*self.by_name().values(), strict=True):
            writer.writerow(["" if missing(value) else value for value in row])
        return text.getvalue()

    def to_pandas(self) -> DataFrame:
        """The rows as a frame of pandas."""
        import pandas as pd  # takes a while to load

        return pd.DataFrame(dict(self.columns))


def missing(value: Any) -> bool:
    """Whether there is no value.

    >>> missing(None), missing(math.nan), missing(""), missing(math.inf)
    (True, True, False, False)
    """
    return value is None or (isinstance(value, float) and math.isnan(value))


def distinct_names(names: Iterable[str], taken: Collection[str]) -> list[str]:
    """Names for columns of a table that has others: each differs from the taken ones, and from the rest.

    >>> distinct_names(["sex", "low", "low (column)"], ["count", "low", "high"])
    ['sex', 'low (column) (column)', 'low (column)']
    """
    wanted = list(names)
    found: list[str] = []
    for name in wanted:
        free = name
        while free in taken or (free != name and free in (*wanted, *found)):
            free += " (column)"
        found.append(free)
    return found
