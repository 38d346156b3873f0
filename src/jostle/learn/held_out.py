"""Learn from some records and test on the others, within one ε: no record is in both parts."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import hypot, sqrt
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from jostle.answers.noise_intervals import share_ends
from jostle.kernel.budget import PURE, Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.records import ArrayColumns, Records, ReleaseRecords, SimulatedRecords
from jostle.kernel.strategies import identity
from jostle.learn.registry import IntArray, Learner, Model
from jostle.learn.task import Task
from jostle.schema.files import check_no_database
from jostle.schema.schema import TextFormat
from jostle.tables.engines.files import separator_of
from jostle.tables.engines.lines import blocks

SHARE: Final = 0.2
"""The probability that a record is held out."""

PART: Final = "(part)"
Encoded = Mapping[str, IntArray]
Source = ReleaseRecords | SimulatedRecords


@dataclass(frozen=True)
class Tested:
    """A model, and how often it is right on records that it was not learned from."""

    model: Model

    accuracy: float
    """The share of right predictions on held-out records."""

    margin: float
    """With 95 % confidence the noise on the accuracy is no larger; 0 if the test records are public."""

    on_others: float = 0.0
    """About how far, at most, the accuracy on other records of the same kind is from it: noise, and which were held out."""


def read(
    path: str | Path,
    task: Task,
    *,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    form: TextFormat | None = None,
    labelled: bool = True,
) -> dict[str, NDArray[Any]]:
    """The columns of a text file: by the names in its first line, by `columns`, or in the order of the schema.

    For a private file, `header` must say whether the first line has the names: otherwise a record that looks like names
    would change how all others are read. For a public file it may be None: then the first line is a header if it names all
    columns. Every line is one record, whatever is in it, so that no record can affect others: quotes end with their line at
    the latest. No line raises an error. A value that is absent, empty or "?" is missing. A full stop after a class is
    ignored. `form` says how the file is written, as for tables: the delimiter, by default a comma, or a tab in a .tsv file;
    and the encoding. The file may be compressed (.gz, .zst). Without `labelled`, the label is not among the columns.
    """
    names = [name for name in task.columns if labelled or name != task.label]
    form, path = form or TextFormat(), Path(path)
    check_no_database(path, "file")
    if form.quoted_line_breaks:
        raise BadInput("quoted_line_breaks", "cannot be read by a classifier: each line is one record", "leave it out")
    try:
        lines = b"".join(blocks(path, form.encoding)).decode("utf-8", "replace").split("\n")
    except OSError:
        raise BadInput("file", f"{path} cannot be read", "name a text file with one record per line") from None
    separator = separator_of(path, form)
    rows = [_row(line, separator) for line in (lines[:-1] if not lines[-1] else lines)]
    places = _places(names, columns)
    first = [cell.strip() for cell in rows[0]] if rows and header is not False else []
    if set(names) <= set(first):
        places = {name: first.index(name) for name in names}
        del rows[0]
    elif header:
        remedy = "name them, check the delimiter, or pass --no-header"
        raise BadInput("header", f"{path} does not name all columns in its first line", remedy)
    found = {name: [_cell(row, places[name]) for row in rows] for name in names}
    classes = {str(known) for known in task.classes}
    if labelled:
        found[task.label] = [_class(cell, classes) for cell in found[task.label]]
    return {name: np.array(cells, dtype=object) for name, cells in found.items()}


def _places(names: Sequence[str], columns: Sequence[str] | None) -> dict[str, int]:
    """The place of each column of the schema in a line, if the file has no header."""
    if columns is None:
        return {name: place for place, name in enumerate(names)}
    lacking = [name for name in names if list(columns).count(name) != 1]
    if lacking:
        raise BadInput("columns", f"must name {', '.join(lacking)}, once", "name every column of the file, in its order")
    return {name: list(columns).index(name) for name in names}


def _row(line: str, separator: str) -> list[str]:
    try:
        # A byte order mark is removed from any line: which line is the first depends on the others.
        return next(
            csv.reader([line.removeprefix("\ufeff").replace("\r", " ")], delimiter=separator, skipinitialspace=True), []
        )
    except csv.Error:  # a field beyond csv's limit
        return []


def _cell(row: Sequence[str], place: int) -> str | None:
    cell = row[place].strip() if place < len(row) else ""
    return cell if cell not in ("", "?") else None


def _class(cell: str | None, classes: set[str]) -> str | None:
    return cell if cell is None or cell in classes else cell.removesuffix(".")


def source(task: Task, codes: Encoded, held_out: NDArray[np.bool_]) -> ArrayColumns:
    """The records that have a class, each in one of two parts."""
    return ArrayColumns.having(task.label, {**codes, PART: held_out.astype(np.int64)}, {**task.sizes, PART: 2})


def learn_and_test(records: Source, task: Task, learner: Learner, epsilon: Any, **tunables: Any) -> Tested:
    """A model of the records that are not held out, and its noisy accuracy on the others.

    `records` are over `source(task, codes, held_out)`. Which ones are held out must not depend on the records.

    Privacy: the records are split in two by a coin that was tossed for each, and each part has the whole budget (parallel
    composition). One part is learned from. The test gets the other part, and nothing else.
    """
    release = isinstance(records, ReleaseRecords)
    learner.dry_run(task, records.neighbours.in_part(), epsilon, tunables, release=release)
    (learned, first), (others, second) = records.split(PART, records.grant(epsilon))
    model = learner.run(learned, task, first, **tunables)
    return tested(model, others, task, second)


def tested(model: Model, records: Records, task: Task, budget: Budget) -> Tested:
    """The model's noisy accuracy on private records that it was not learned from.

    The margin reaches to the further end of the accuracy's exact interval, which holds however few records there are.

    Privacy: the model is public. Each record counts as right or wrong, and the two counts are measured once.
    """
    counts = records.judged([*task.attributes, task.label], partial(right_on, model, task), 2)
    gaussian, variance = budget.measure != PURE, counts.noise_variance(identity((2,)), budget)
    scale = sqrt(variance) if gaussian else counts.noise_scale(identity((2,)), budget)
    noisy = counts.measure(identity((2,)), budget)
    wrong, correct = np.maximum(noisy, 0.0)
    accuracy = float(correct) / max(float(wrong + correct), 1.0)
    low = high = accuracy
    if scale > 0:
        low, high = (float(end[0]) for end in share_ends(noisy[np.newaxis, ::-1], scale, gaussian=gaussian))
    margin = max(accuracy - low, high - accuracy)
    return Tested(model, accuracy, margin, hypot(margin, of_sample(accuracy, float(wrong + correct))))


def of_sample(share: float, records: float) -> float:
    """How far the share among this number of records may be from the share among all like them, with 95 % confidence.

    To the further end of the interval of Agresti and Coull (1998), so that it is not 0 where all are right. Of noisy numbers
    it is post-processing.

    >>> round(of_sample(0.87, 800), 3), round(of_sample(1.0, 10), 2)
    (0.026, 0.33)
    """
    more = max(records, 0.0) + 4
    centre = (share * max(records, 0.0) + 2) / more
    return 2 * sqrt(centre * (1 - centre) / more) + abs(share - centre)


def right_on(model: Model, task: Task, codes: Encoded) -> NDArray[np.bool_]:
    """For each record whether the model predicts its class."""
    attributes = {name: codes[name] for name in task.attributes}
    return np.asarray(model.scores(attributes).argmax(axis=1) == codes[task.label])
