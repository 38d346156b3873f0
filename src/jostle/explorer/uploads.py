"""Public data that a person uploads: histograms as CSV or JSON, and labelled tables as CSV with a schema."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np

from jostle.datasets.labelled import Labelled
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts
from jostle.schema import Schema

LARGEST_FILE: Final = 2 * 2**20
LARGEST_TABLE: Final = 6 * 2**20
MOST_CELLS: Final = 2**18
MOST_COUNT: Final = 2**40
MOST_ROWS: Final = 100_000
COUNT_NAMES: Final = ("count", "counts", "n", "frequency")

_HISTOGRAM = "upload a CSV of whole numbers (one column, or a grid), or a JSON list of them"


def histogram(content: bytes) -> Counts:
    r"""A histogram in one or two dimensions.

    A CSV has one number per line, a grid of numbers, or a heading with a column called `count`. JSON is a list of numbers,
    a list of such lists, or either under the name `counts`.

    >>> histogram(b"age,count\n0-9,12\n10-19,40\n").tolist(), histogram(b"[[1, 2], [3, 4]]").tolist()
    ([12, 40], [[1, 2], [3, 4]])
    """
    text = text_of(content, "upload", _HISTOGRAM)
    found = _json(text) if text.lstrip()[:1] in ("[", "{") else _csv(text)
    return _counts(found)


def labelled(name: str, content: bytes, schema_text: str, label: str) -> Labelled:
    """A public table from a CSV with a heading; the schema says what its columns mean, and which are used."""
    schema = schema_of(schema_text)
    if label not in schema:
        raise BadInput("label", f"the schema has no column {label[:60]!r}", f"name one of {', '.join(schema)}"[:300])
    rows = _rows(text_of(content, "upload", "upload a CSV with a heading"), "upload")
    heading, records = [cell.strip() for cell in rows[0]], rows[1:]
    if not 10 <= len(records) <= MOST_ROWS:
        raise BadInput("upload", f"has {len(records):,} rows", f"upload a table with 10 to {MOST_ROWS:,}")
    if any(len(row) != len(heading) for row in records):
        raise BadInput("upload", "has rows that are longer or shorter than the heading", "repair them")
    for column in schema:
        if column not in heading:
            raise BadInput("schema", f"the file has no column {column[:60]!r}", "name columns as in the file's heading")
    places = {column: heading.index(column) for column in schema}
    values = {c: np.array([row[at].strip() or None for row in records], dtype=object) for c, at in places.items()}
    return Labelled(Path(name).stem[:60], schema, label, values)


def schema_of(text: str) -> Schema:
    """A schema from the text of its file."""
    if not text.strip():
        raise BadInput("schema", "is missing", "describe each column, or upload a schema file")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "schema.toml"
        file.write_text(text, "utf-8")
        try:
            return Schema.load(file)
        except BadInput as refused:
            place = "" if refused.argument in ("schema", "path") else f"{refused.argument} "
            raise BadInput("schema", place + refused.problem, refused.remedy) from None


def text_of(content: bytes, field: str, remedy: str = "upload a text file in UTF-8") -> str:
    """The text of a text file."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise BadInput(field, "is not a text file", remedy)
    if not text.strip():
        raise BadInput(field, "is empty", remedy)
    return text


def _json(text: str) -> Any:
    try:
        found = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        raise BadInput("upload", "is no JSON that can be read", _HISTOGRAM) from None
    return found.get("counts") if isinstance(found, dict) else found


def _rows(text: str, field: str) -> list[list[str]]:
    try:
        separator = csv.Sniffer().sniff(text[:4096], ",;\t").delimiter
    except csv.Error:
        separator = ","
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=separator) if any(cell.strip() for cell in row)]
    except csv.Error:
        rows = []
    if not rows:
        raise BadInput(field, "is no CSV that can be read", "upload lines of values with commas between them")
    return rows


def _csv(text: str) -> list[Any]:
    rows = _rows(text, "upload")
    heading = [cell.strip().lower() for cell in rows[0]]
    if any(_number(cell) is None for cell in heading):
        rows = rows[1:]
        column = next((heading.index(name) for name in COUNT_NAMES if name in heading), None)
        if column is not None:
            return [_number(row[column]) if column < len(row) else None for row in rows]
    grid = [[_number(cell) for cell in row] for row in rows]
    if all(len(row) == 1 for row in grid):
        return [row[0] for row in grid]
    return grid[0] if len(grid) == 1 else grid


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _counts(found: Any) -> Counts:
    try:
        numbers = np.array(found, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = np.empty(0)
    fits = numbers.ndim in (1, 2) and numbers.size >= 2 and min(numbers.shape) >= 1
    if not fits or not np.isfinite(numbers).all() or (numbers < 0).any() or (numbers != np.floor(numbers)).any():
        raise BadInput(
            "upload", "is not a histogram: it must hold whole numbers of 0 or more, in equally long rows", _HISTOGRAM
        )
    if numbers.size > MOST_CELLS:
        raise BadInput("upload", f"has {numbers.size:,} cells, and may have {MOST_CELLS:,}", "add neighbouring cells up")
    if not 0 < numbers.sum() <= MOST_COUNT:
        raise BadInput("upload", "has no records, or more than 2^40", "upload a histogram with records")
    return numbers.astype(np.int64)
