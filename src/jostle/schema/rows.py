"""Released numbers as rows under names: for files and terminals, which then need not wait for pandas to load."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jostle.kernel.errors import BadInput

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_DECIMALS = 9
"""Numbers that need more are written with an exponent."""

MOST_LINES = 60
"""Longer tables are cut in the middle where they are shown."""

FILES = (".csv", ".json", ".parquet", ".xlsx")
"""What answers can be written to."""


class IntervalLabel(str):
    """The label of a cell of numbers, which knows where the cell begins and ends: frames sort by it.

    >>> IntervalLabel("0–9", 0, 9, "both"), IntervalLabel("0–9", 0, 9, "both").interval
    ('0–9', Interval(0, 9, closed='both'))
    """

    __slots__ = ("closed", "high", "low")

    def __new__(cls, text: str, low: float, high: float, closed: str) -> IntervalLabel:
        made = super().__new__(cls, text)
        made.low, made.high, made.closed = low, high, closed
        return made

    def __getnewargs__(self) -> tuple[str, float, float, str]:  # type: ignore[override]  # more than a text has
        return str(self), self.low, self.high, self.closed

    low: float
    high: float
    closed: str

    @property
    def interval(self) -> Any:
        """The same as an interval of pandas."""
        import pandas as pd

        return pd.Interval(self.low, self.high, closed=self.closed)


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
        """The rows as a frame of pandas. Cells of numbers are intervals, so that they sort as numbers do."""
        import pandas as pd  # takes a while to load

        return pd.DataFrame({name: _with_intervals(values) for name, values in self.columns.items()})

    def to_arrow(self) -> Any:
        """The rows as an Arrow table of texts and numbers."""
        import pyarrow as pa

        return pa.table({name: [*map(_plain_value, values)] for name, values in self.by_name().items()})

    def to_polars(self) -> Any:
        """The rows as a frame of Polars."""
        try:
            import polars
        except ImportError:
            raise BadInput("to_polars", "Polars is not installed", "pip install polars, or use to_pandas") from None

        return polars.from_arrow(self.to_arrow())

    def to_parquet(self) -> bytes:
        """The content of a Parquet file."""
        import pyarrow.parquet as pq

        content = io.BytesIO()
        pq.write_table(self.to_arrow(), content)
        return content.getvalue()

    def write(self, path: Path) -> None:
        """Write the rows to a .csv, .parquet or .xlsx file."""
        if path.suffix == ".parquet":
            path.write_bytes(self.to_parquet())
        elif path.suffix == ".xlsx":
            check_writer(path, "path")
            texts = Rows({name: [*map(_plain_value, values)] for name, values in self.by_name().items()})
            texts.to_pandas().to_excel(path, index=False, engine="xlsxwriter")
        else:
            path.write_text(self.to_csv(), encoding="utf-8", newline="")

    def to_text(self, most: int | None = None, *, intervals: bool = True, decimals: Mapping[str, int] | None = None) -> str:
        """The rows for people: each number and its interval, if it has one, with as many decimals as these need.

        If there are more than `most` lines, those in the middle are left out. Intervals are found by the names of their
        columns; pass `intervals=False` if names such as "low" and "high" are something else. `decimals` says how many
        columns without intervals have.

        >>> means = {"mean": [0.012341, 2.0], "low": [0.010341, 1.9], "high": [0.014341, 2.1]}
        >>> print(Rows({"sex": ["F", "M"], **means}).to_text())
        sex     mean  95 % interval
        F    0.01234  0.01034 – 0.01434
        M    2.00000  1.90000 – 2.10000
        """
        kept = [([name, *_cut(cells, most)], right) for name, cells, right in self.in_text(intervals, decimals)]
        lines = _side_by_side(kept).splitlines()
        if most is not None and len(self) > most:
            lines.append(f"({len(self):,} rows)")
        return "\n".join(lines)

    def in_text(
        self, intervals: bool = True, decimals: Mapping[str, int] | None = None
    ) -> list[tuple[str, list[str], bool]]:
        """The columns of `to_text`: the name of each, its cells, and whether they are set to the right."""
        columns = self.by_name()
        ends = _ends(list(columns)) if intervals else {}
        shown: list[tuple[str, list[str], bool]] = []
        for place, (name, values) in enumerate(columns.items()):
            if name in {end for pair in ends.values() for end in pair}:
                continue
            told = decimals is not None and name in decimals
            if name not in ends and not told and (ends or not place or any(isinstance(value, str) for value in values)):
                shown.append((_one_line(name), [*map(_cell, values)], False))
                continue
            needed = decimals_of(values, *(columns[end] for end in ends.get(name, ())))
            write = _written_with((decimals or {}).get(name, needed))
            shown.append((_one_line(name), [*map(write, values)], True))
            if name in ends:
                lows, highs = ([*map(write, columns[end])] for end in ends[name])
                width = max(map(len, lows), default=0)
                between = [f"{low:>{width}} – {high}" for low, high in zip(lows, highs, strict=True)]
                shown.append(("95 % interval", between, False))
        return shown


def short(value: float) -> str:
    """A number in a sentence: three significant digits, or whole with commas from 1,000 on.

    >>> [short(value) for value in (2999.8, 28.94, 0.5, 0.0000123, 0.0, math.inf)]
    ['3,000', '28.9', '0.5', '0.0000123', '0', 'inf']
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 999.5:
        return f"{value:,.0f}"
    text = f"{value:.3g}"
    return f"{value:.{2 - math.floor(math.log10(abs(value)))}f}".rstrip("0") if "e" in text else text


def _ends(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The columns with the ends of a number's interval: those that follow the number, if they are named so.

    >>> _ends(["sex", "mean", "low", "high", "n"])
    {'mean': ('low', 'high')}
    """

    def named(name: str, end: str) -> bool:
        return name.split(" (")[0].endswith(end)

    threes = zip(names, names[1:], names[2:], strict=False)
    return {value: (low, high) for value, low, high in threes if named(low, "low") and named(high, "high")}


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


def check_writer(path: Path, argument: str) -> None:
    """Raise unless the rows can be written to a file that ends so, with what is installed."""
    import importlib.util

    if path.suffix == ".xlsx" and importlib.util.find_spec("xlsxwriter") is None:
        raise BadInput(argument, "a library that writes workbooks is not installed", "pip install 'jostle[excel]'")


def _with_intervals(values: Any) -> Any:
    if isinstance(values, (list, tuple)) and any(isinstance(value, IntervalLabel) for value in values):
        return [value.interval if isinstance(value, IntervalLabel) else value for value in values]
    return values


def _plain_value(value: Any) -> Any:
    return str(value) if isinstance(value, IntervalLabel) else value


# ------------------------------------------------------------------------------------------------------------- text


def _cell(value: Any) -> str:
    if missing(value):
        return "NaN"
    return _one_line(value) if isinstance(value, str) else f"{value:.12g}"


def _cut(cells: Sequence[str], most: int | None) -> list[str]:
    """At most `most` lines: the first and the last, and a sign for those between."""
    if most is None or len(cells) <= most:
        return list(cells)
    return [*cells[: most // 2], "…", *cells[len(cells) - most // 2 :]]


def _one_line(text: str) -> str:
    return text.replace("\t", "\\t").replace("\r", "\\r").replace("\n", "\\n")


def _side_by_side(columns: Sequence[tuple[Sequence[str], bool]]) -> str:
    """Columns with two spaces between them, numbers to the right; some letters are two places wide on a terminal."""
    from rich.cells import cell_len

    aligned = []
    for cells, right in columns:
        width = max(map(cell_len, cells))
        gaps = [" " * (width - cell_len(cell)) for cell in cells]
        aligned.append([gap + cell if right else cell + gap for gap, cell in zip(gaps, cells, strict=True)])
    return "\n".join("  ".join(row).rstrip() for row in zip(*aligned, strict=True))


def decimals_of(values: Sequence[float], lows: Sequence[float] = (), highs: Sequence[float] = ()) -> int:
    """As many decimals as three digits of the narrowest half interval need.

    From 1 on, the median decides: none from 10 on, else one, and none for whole numbers only. Where no interval has a width,
    three digits of the number closest to 0 decide; traces of rounding do not.

    >>> decimals_of([2913.2, 4.1], [2883.0, -1.2], [2943.1, 9.9]), decimals_of([0.51, 7.0], [0.49, 1.0], [0.53, 12.0])
    (0, 4)
    """
    if all(float(number).is_integer() for number in (*values, *lows, *highs) if not missing(number)):
        return 0
    half_widths = [(high - low) / 2 for low, high in zip(lows, highs, strict=True)]
    for sizes in (half_widths, [abs(value) for value in (*values, *lows, *highs)]):
        finite = [size for size in sizes if math.isfinite(size)]
        known = [size for size in finite if size > 1e-9 * max(finite)]
        if known:
            least, usual = min(known), sorted(known)[len(known) // 2]
            return 2 - math.floor(math.log10(least)) if least < 1 else 1 if usual < 10 else 0
    return 0


def _written_with(decimals: int) -> Callable[[float], str]:
    def write(number: float) -> str:
        if missing(number):
            return "NaN"
        text = f"{number:.6g}" if decimals > MOST_DECIMALS else f"{number:,.{decimals}f}"
        return text.removeprefix("-") if not text.strip("-0.,") else text  # no "-0"

    return write
