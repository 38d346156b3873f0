"""Tables in workbooks of Excel: one row of a sheet is one row, and each cell is a text, a number, a day or a truth value.

Privacy: a row becomes what its own cells hold, or nothing if all of them are empty. What a cell holds is read by a library
that knows every type of cell; a column of any types is then read value by value, as a column of Python objects is. Some
numbers that are shown as times lie beyond all times of the library, which fails on them, row by row, and says so on standard
error. A row with such a cell is left out, and nothing is said.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from jostle.kernel.errors import BadInput
from jostle.tables.engines.files import checked_names
from jostle.tables.run_in_engine import run_in_engine


def workbook_frame(
    paths: Sequence[Path], wanted: Sequence[str], columns: Sequence[str] | None, sheet: str | None, engine: str
) -> Any:
    """Some columns of a sheet as a frame of Python objects; all of them if none is named."""
    import importlib.util

    import pandas as pd

    if importlib.util.find_spec("python_calamine") is None:
        raise BadInput("data", "a library that reads workbooks is not installed", "pip install 'jostle[excel]'")
    if engine != "duckdb":
        raise BadInput("engine", "does not read workbooks", "leave it out, or save the table as Parquet")
    frames = []
    for path in paths:
        rows = run_in_engine("opening the file", partial(_rows, path, sheet))
        said = columns if columns is not None else [_name(cell) for cell in rows[0]] if rows else []
        names = checked_names(said, path.name, header=columns is None)
        for name in wanted:
            if name not in names:
                remedy = "check that the first row has the names, or pass columns=[…] if it has none"
                raise BadInput("data", f'no column "{name}"', remedy)
        kept = [row for row in (rows if columns is not None else rows[1:]) if any(cell != "" for cell in row)]
        places = {name: names.index(name) for name in wanted or names}
        frames.append({name: [_value(row, at) for row in kept] for name, at in places.items()})
    whole = {name: [value for frame in frames for value in frame[name]] for name in frames[0]}
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in whole.items()})


def _rows(path: Path, sheet: str | None) -> list[list[Any]]:
    """All rows of a sheet, empty cells as empty texts."""
    from python_calamine import CalamineWorkbook

    with CalamineWorkbook.from_path(str(path)) as book:
        names = book.sheet_names
        if sheet is None and len(names) > 1:
            raise BadInput("sheet", f"{path.name} has more than one: {', '.join(names[:20])}", "say which with sheet=…")
        if sheet is not None and sheet not in names:
            raise BadInput("sheet", f"{path.name} has none called {sheet!r}", f"use one of {', '.join(names[:20])}")
        found = book.get_sheet_by_name(sheet or names[0])
        left = [""] * (found.start[1] if found.start else 0)  # the library begins with the first column that is used
        with _SPEECHLESS:
            return [left + row if row else [] for row in _each_row(found.iter_rows())]


def _each_row(rows: Iterator[list[Any]]) -> Iterator[list[Any]]:
    """The rows, and an empty one in place of each that the library fails on."""
    while True:
        try:
            yield next(rows)
        except StopIteration:
            return
        except BaseException as failure:
            if not isinstance(failure, Exception) and type(failure).__name__ != "PanicException":
                raise  # the library's panics are no exceptions of the usual kind
            yield []


class _Speechless:
    """Nothing is written to standard error by the process: a library in another language does not ask Python."""

    def __init__(self) -> None:
        self._lock, self._inside, self._before = threading.Lock(), 0, -1

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = _copied(2)
                with Path(os.devnull).open("wb") as nowhere:
                    _ = self._before >= 0 and os.dup2(nowhere.fileno(), 2)
            self._inside += 1

    def __exit__(self, *what: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._before >= 0:
                os.dup2(self._before, 2)
                os.close(self._before)


_SPEECHLESS = _Speechless()


def _copied(descriptor: int) -> int:
    try:
        return os.dup(descriptor)
    except OSError:  # it is closed, so that nobody reads it
        return -1


def _name(cell: Any) -> str:
    """A cell of the first row as a name. A whole number is written as one, so that it is refused as a number is."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _value(row: Sequence[Any], place: int) -> Any:
    value = row[place] if place < len(row) else None
    return None if value == "" else value
