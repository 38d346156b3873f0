"""Learn from some records and test on the others, within one ε: no record is in both parts."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from jostle.kernel.columns import ArrayColumns
from jostle.kernel.errors import BadInput, InternalError
from jostle.kernel.records import ReleaseRecords, SimulatedRecords
from jostle.kernel.strategy import identity
from jostle.learn.dry_run import rehearse
from jostle.learn.registry import IntArray, Learner, Model
from jostle.learn.task import Task
from jostle.schema.files import check_no_database

SHARE: Final = 0.2
"""The chance of a record to be held out."""

PART: Final = "(part)"
Encoded = Mapping[str, IntArray]
Source = ReleaseRecords | SimulatedRecords


@dataclass(frozen=True)
class Tested:
    """A model, and how often it is right on records that it was not learned from."""

    model: Model
    """The model: public."""

    accuracy: float
    """The share of right predictions on held-out records."""

    margin: float
    """In 95 of 100 cases the noise on the accuracy is no larger; 0 where the test records are public."""


def read(
    path: str | Path, task: Task, *, header: bool | None = None, columns: Sequence[str] | None = None
) -> dict[str, NDArray[Any]]:
    """The columns of a text file: by their names in its first line, as `columns` names them, or in the order of the schema.

    Whether there is such a line has to be said of a private file: else a record that reads like one would change how all
    others are read. Of a public file it may be left open (None): a first line that names all columns is then one.
    A line is a record, whatever is in it, so that none can take others with it: quotes end with their line at the latest. No
    line raises: a value that is not there is missing, and so is "?". A full stop after a class is ignored.
    """
    names = [*task.columns]
    check_no_database(Path(path), "file")
    try:
        with Path(path).open(encoding="utf-8", errors="replace", newline="") as file:
            lines = file.read().split("\n")
    except OSError:
        raise BadInput("file", f"{path} cannot be read", "name a text file with one record a line") from None
    rows = [_row(line) for line in (lines[:-1] if not lines[-1] else lines)]
    places = _places(names, columns)
    first = [cell.strip() for cell in rows[0]] if rows and header is not False else []
    if set(names) <= set(first):
        places = {name: first.index(name) for name in names}
        del rows[0]
    elif header:
        raise BadInput("header", f"{path} does not name all columns in its first line", "name them, or say --no-header")
    found = {name: [_cell(row, places[name]) for row in rows] for name in names}
    classes = {str(known) for known in task.classes}
    found[task.label] = [_class(cell, classes) for cell in found[task.label]]
    return {name: np.array(cells, dtype=object) for name, cells in found.items()}


def _places(names: Sequence[str], columns: Sequence[str] | None) -> dict[str, int]:
    """Where each column of the schema stands in a line that names none."""
    if columns is None:
        return {name: place for place, name in enumerate(names)}
    lacking = [name for name in names if list(columns).count(name) != 1]
    if lacking:
        raise BadInput("columns", f"must name {', '.join(lacking)}, once", "name every column of the file, in its order")
    return {name: list(columns).index(name) for name in names}


def _row(line: str) -> list[str]:
    try:
        # A mark of the encoding is taken off any line: which one is the first depends on the others.
        return next(csv.reader([line.removeprefix("\ufeff").replace("\r", " ")], skipinitialspace=True), [])
    except csv.Error:  # a field beyond csv's limit
        return []


def _cell(row: Sequence[str], place: int) -> str | None:
    cell = row[place].strip() if place < len(row) else ""
    return cell if cell not in ("", "?") else None


def _class(cell: str | None, classes: set[str]) -> str | None:
    return cell if cell is None or cell in classes else cell.removesuffix(".")


def encode(task: Task, columns: Mapping[str, Any]) -> dict[str, NDArray[np.int64]]:
    """The codes of a table's records; the class of one that has none is −1."""
    codes = {name: task.encode(name, columns[name]) for name in task.attributes}
    return codes | {task.label: task.encode_label(columns[task.label])}


def source(task: Task, codes: Encoded, held_out: NDArray[np.bool_]) -> ArrayColumns:
    """Records that have a class, each in one of two parts."""
    counted = codes[task.label] >= 0
    kept = {name: column[counted] for name, column in codes.items()} | {PART: held_out[counted].astype(np.int64)}
    return ArrayColumns(kept, dict(task.sizes) | {PART: 2})


def learn_and_test(
    records: Source, task: Task, codes: Encoded, held_out: NDArray[np.bool_], learner: Learner, epsilon: Any, **tunables: Any
) -> Tested:
    """A model of the records that are not held out, and its noisy accuracy on the others.

    `records` are over `source(task, codes, held_out)`. Who is held out must not depend on the records.

    Privacy: the records are split in two by a coin that was tossed for each, and each part has the whole budget (parallel
    composition). One part is learned from; in the other each record is turned into whether the model, which is released, is
    right about it, and the two counts are measured once.
    """
    release = isinstance(records, ReleaseRecords)
    rehearse(learner, task, records.neighbours.in_part(), epsilon, tunables, release=release)
    (learned, first), (tested, second) = records.split(PART, records.grant(epsilon))
    if not isinstance(tested, (ReleaseRecords, SimulatedRecords)):
        raise InternalError("a part of records became something else")
    model = learner.run(learned, task, first, **tunables)
    wanted = held_out & (codes[task.label] >= 0)
    right = right_on(model, task, {name: column[wanted] for name, column in codes.items()})
    counts = tested.over(ArrayColumns({"right": right.astype(np.int64)}, {"right": 2})).vector("right")
    scale = counts.noise_scale(identity((2,)), second)
    wrong, correct = np.maximum(counts.laplace(identity((2,)), second), 0.0)
    total = max(float(wrong + correct), 1.0)
    return Tested(model, float(correct) / total, min(1.0, 3 * scale / total))


def right_on(model: Model, task: Task, codes: Encoded) -> NDArray[np.bool_]:
    """For each record whether the model tells its class."""
    attributes = {name: codes[name] for name in task.attributes}
    return np.asarray(model.scores(attributes).argmax(axis=1) == codes[task.label])
