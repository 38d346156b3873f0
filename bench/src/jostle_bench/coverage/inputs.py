"""Public data sets of several sizes, and questions about them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from jostle import workloads
from jostle.kernel.partition import Counts, Vector
from jostle.workloads import Workload

RECORDS = (1_000, 4_600, 22_000, 100_000)
"""How many records the data sets have, in turn."""

KINDS = {1: ("identity", "prefix", "ranges"), 2: ("identity", "ranges")}
"""The workloads, by dimension."""


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
            yield name, counts / counts.sum()


def artificial(shape: tuple[int, ...]) -> Iterator[tuple[str, Vector]]:
    """Made-up shapes, for where there are no data: even, falling, in clusters, and sparse."""
    rng = np.random.default_rng(5)
    along = np.add.outer(np.arange(shape[0]) / shape[0], np.arange(shape[-1]) / shape[-1] if len(shape) > 1 else 0.0)
    along = along.reshape(shape)
    made = {
        "even": np.ones(shape),
        "falling": np.exp(-6 * along),
        "clusters": np.exp(-((along % 0.25 - 0.1) ** 2) * 400) + 0.01,
        "sparse": rng.random(shape) ** 30,
    }
    for name, counts in made.items():
        yield name, counts / counts.sum()


def inputs(folder: Path | None, shape: tuple[int, ...], turn: int = 0) -> Iterator[tuple[str, Counts]]:
    """Data sets over a domain: the shapes in a folder, or made-up ones. Another turn gives each another size."""
    name = f"dpbench_{len(shape)}d"
    if folder is not None and (folder / f"{name}.npz").exists():
        with np.load(folder / f"{name}.npz") as file:
            known = list(shapes(file, len(shape), shape[0]))
    else:
        known = list(artificial(shape))
    for number, (called, shares) in enumerate(known):
        yield called, drawn(shares, RECORDS[(number + turn) % len(RECORDS)], number)


def drawn(shares: Vector, records: int, seed: int) -> Counts:
    """That many records with these shares."""
    flat = np.random.default_rng(seed).multinomial(records, shares.reshape(-1))
    return np.asarray(flat.reshape(shares.shape), dtype=np.int64)
