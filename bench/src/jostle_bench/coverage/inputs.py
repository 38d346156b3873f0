"""Data sets of several sizes, public and made-up, and questions about them."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from jostle import workloads
from jostle.kernel.partition import Counts, Vector
from jostle.simulate.calibration import FEW
from jostle.workloads import Workload
from jostle_bench.coverage.families import FITTED, UNSEEN

RECORDS = (300, 200_000)
"""Between these the data sets' numbers of records are drawn, evenly by their logarithm."""

MOST_FEW = 30_000
"""The most records of data sets with few cells."""

KINDS = {1: ("identity", "prefix", "ranges"), 2: ("identity", "ranges")}
"""The workloads, by dimension."""

_COLUMNS = {
    "adult.data": {0: 75, 2: 500_000, 4: 16, 10: 20_000, 12: 100},
    "credit_default.csv.gz": {0: 800_000, 4: 80, 11: 300_000, 17: 30_000},
    "cmc.csv": {0: 50},
}
"""Columns of public tables: the file, the number of the column, and where its histogram ends."""


def asked(kind: str, shape: tuple[int, ...]) -> Workload:
    """A workload of this kind over a domain: 200 random ranges, or every cell or prefix."""
    if kind == "prefix":
        return workloads.prefix(shape[0])
    if kind == "identity":
        return workloads.identity(shape)
    rng = np.random.default_rng(7)
    ends = np.sort([[rng.choice(n + 1, 2, replace=False) for n in shape] for _ in range(200)], axis=2)
    if len(shape) == 1:
        return workloads.ranges(shape[0], ends[:, 0, 0], ends[:, 0, 1])
    return workloads.rectangles(shape, ends[:, :, 0], ends[:, :, 1])


def shapes(file: Any, dimensions: int, cells: int) -> Iterator[tuple[str, Vector]]:
    """The shapes in a file of counts, with neighbouring cells added up to this many (on each axis of a grid)."""
    for name in file.files:
        counts = np.asarray(file[name], dtype=np.float64)
        if counts.ndim != dimensions or any(n % cells for n in counts.shape):
            continue
        for axis in range(counts.ndim):
            step = counts.shape[axis] // cells
            counts = np.add.reduceat(counts, np.arange(0, counts.shape[axis], step), axis=axis)
        if counts.sum() > 0:
            yield name, counts


def columns(folder: Path, cells: int) -> Iterator[tuple[str, Vector]]:
    """Histograms of columns of public tables, which no fit has seen either."""
    for name, ends in _COLUMNS.items():
        if not (folder / name).exists():
            continue
        with gzip.open(folder / name, "rt") if name.endswith(".gz") else (folder / name).open() as file:
            rows = [row for row in csv.reader(file) if len(row) > max(ends)]
        for column, end in ends.items():
            numbers = [float(row[column]) for row in rows if _is_number(row[column])]
            counts = np.histogram(numbers, bins=cells, range=(0, end))[0].astype(np.float64)
            if counts.sum() > 0:
                yield f"{name.split('.')[0]} {column}", counts


def inputs(
    folder: Path | None, shape: tuple[int, ...], *, draws: int = 1, unseen: bool = False, turn: int = 0
) -> Iterator[tuple[str, Counts]]:
    """Data sets over a domain: the shapes in a folder, and some draws from each family. Another turn draws others.

    A name is that of a public data set or of a family, with the number of the draw behind it.
    """
    found: list[tuple[str, Vector]] = []
    file = None if folder is None else folder / f"dpbench_{len(shape)}d.npz"
    if unseen and folder is not None and len(shape) == 1:
        found += columns(folder, shape[0])
    elif not unseen and file is not None and file.exists():
        with np.load(file) as read:
            found += shapes(read, len(shape), shape[0])
    for name, draw in (UNSEEN if unseen else FITTED[len(shape)]).items():
        for number in range(draws):
            called = f"{name} #{number + draws * turn}"
            found.append((called, draw(shape, np.random.default_rng(zlib.crc32(f"{called} {shape}".encode())))))
    for name, counts in found:
        yield name, drawn(counts, zlib.crc32(f"{name} {shape} {turn}".encode()))


def family(name: str) -> str:
    """What is left out together: a public data set, or all draws of a family."""
    return name.split(" #")[0]


def drawn(counts: Vector, seed: int) -> Counts:
    """A data set with these shares; one cell's, if there are none at all."""
    rng = np.random.default_rng(seed)
    flat = np.asarray(counts, dtype=np.float64).reshape(-1)
    flat = flat if flat.sum() > 0 else np.eye(1, flat.size)[0]
    most = MOST_FEW if flat.size <= FEW else RECORDS[1]
    records = round(10 ** rng.uniform(np.log10(RECORDS[0]), np.log10(most)))
    return np.asarray(rng.multinomial(records, flat / flat.sum()).reshape(counts.shape), dtype=np.int64)


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False
