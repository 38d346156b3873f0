"""Public shapes of histograms, and data of any domain and total that have them.

A shape is a histogram of which only the proportions matter. The files `dpbench_1d.npz` and `dpbench_2d.npz` hold one array
per data set; the environment variable JOSTLE_DATA names their folder.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np

from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts, Vector

FILES: Final = MappingProxyType({"range-1d": "dpbench_1d.npz", "range-2d": "dpbench_2d.npz"})
"""Where the shapes for a task are."""


def data_folder(folder: str | Path | None = None) -> Path:
    """The folder of public data: the one that is named, else the one that JOSTLE_DATA names."""
    named = folder or os.environ.get("JOSTLE_DATA")
    if not named:
        raise BadInput("data", "no folder of public data is named", "set JOSTLE_DATA to the folder of the .npz files")
    found = Path(named)
    if not found.is_dir():
        raise BadInput("data", f"{found} is not a folder", "set JOSTLE_DATA to the folder of the .npz files")
    return found


@lru_cache(maxsize=4)
def public_shapes(task: str, folder: Path) -> MappingProxyType[str, Counts]:
    """The public shapes for a task, by name."""
    file = folder / FILES[task]
    if not file.is_file():
        raise BadInput("data", f"there is no {file.name} in {folder}", "name the folder that has it in JOSTLE_DATA")
    with np.load(file) as arrays:
        return MappingProxyType({name: np.asarray(arrays[name], dtype=np.int64) for name in sorted(arrays.files)})


def rebin(shape: Counts, domain: tuple[int, ...]) -> Counts:
    """The same shape over equally wide cells of another number: neighbouring cells are added up, or split evenly.

    Evenly split cells keep their counts, for only proportions matter: the density within a cell is taken to be constant.

    >>> rebin(np.array([1, 2, 3, 4]), (2,)).tolist(), rebin(np.array([1, 2]), (4,)).tolist()
    ([3, 7], [1, 1, 2, 2])
    """
    if len(domain) != shape.ndim or any(max(old, new) % min(old, new) for old, new in zip(shape.shape, domain, strict=True)):
        raise BadInput(
            "domain", f"{shape.shape} cannot be cut evenly into {domain}", "double or halve the number of cells per axis"
        )
    for axis, (old, new) in enumerate(zip(shape.shape, domain, strict=True)):
        if new >= old:
            shape = np.repeat(shape, new // old, axis=axis)
        else:
            shape = np.add.reduceat(shape, np.arange(0, old, old // new), axis=axis)
    return shape


def smoothed(
    histogram: Counts, domain: tuple[int, ...], *, axes: Sequence[int] | None = None, bandwidth: float | None = None
) -> Counts:
    """A shape over equally wide cells from a histogram of any size, its categorical axes made continuous (Section 6.1).

    Categories stand side by side, each in the middle of its share of the axis, and are spread by a Gaussian kernel that
    the ends reflect. Its width, as a share of the axis, follows Scott's rule, but is half a category at least:
    neighbouring categories flow into one another. Axes that are not named in `axes` are numeric, and constant within an old
    cell; without `axes`, all are categorical. The counts of the shape are proportions, in units of 2⁻³² of the whole.

    >>> found = smoothed(np.array([6000, 0, 0, 2000]), (8,))
    >>> (found / found.sum()).round(2).tolist()
    [0.36, 0.27, 0.1, 0.02, 0.01, 0.03, 0.09, 0.12]
    """
    weights = _weights(histogram)
    chosen = range(weights.ndim) if axes is None else axes
    if len(domain) != weights.ndim or min(domain) < 1 or not set(chosen) <= set(range(weights.ndim)):
        raise BadInput("domain", f"{domain} does not go with {weights.shape}", "pass one number of cells for each axis")
    if bandwidth is not None and not bandwidth > 0:
        raise BadInput("bandwidth", f"must be above 0, got {bandwidth}", "leave it out, or pass a share of the axis: 0.05")
    density = weights / weights.sum()
    for axis, cells in enumerate(domain):
        line = np.moveaxis(density, axis, -1)
        if axis in chosen:
            shares = line.reshape(-1, line.shape[-1]).sum(axis=0)
            line = line @ _spread(shares.size, cells, bandwidth or _scott(shares, int(weights.sum())))
        else:
            line = _cut(line, cells)
        density = np.moveaxis(line, -1, axis)
    return np.asarray(np.rint(density * 2**32), dtype=np.int64)


def scaled(shape: Counts, total: int, *, seed: int) -> Counts:
    """Whole counts in proportion to the shape that add up to the total: each share rounded down, the largest remainders up.

    Ties between remainders are broken at random: by position, a flat shape would become a block at one end.

    >>> scaled(np.array([3, 0, 1]), 10, seed=0).tolist() in ([8, 0, 2], [7, 0, 3])
    True
    """
    weights = _weights(shape).reshape(-1)
    if int(weights.max()) * total >= 2**63:
        raise BadInput("total", f"{total} times the largest count overflows", "use a smaller total or a coarser shape")
    whole, remainder = np.divmod(weights * total, weights.sum())
    missing = total - int(whole.sum())
    order = np.lexsort((np.random.default_rng(seed).permutation(weights.size), -remainder))
    whole[order[:missing]] += 1
    return whole.reshape(shape.shape)


def drawn(shape: Counts, total: int, *, seed: int) -> Counts:
    """`total` records, each drawn from the shape independently.

    >>> int(drawn(np.array([[3, 0], [1, 4]]), 10, seed=0).sum())
    10
    """
    weights = _weights(shape).reshape(-1)
    records = np.random.default_rng(seed).multinomial(total, weights / weights.sum())
    return records.astype(np.int64).reshape(shape.shape)


def _weights(shape: Counts) -> Counts:
    if shape.size == 0 or int(shape.min()) < 0 or int(shape.sum()) == 0:
        raise BadInput("shape", "has no count above 0, or one below", "pass a histogram that is not empty")
    return shape


def _scott(shares: Vector, records: int) -> float:
    """Scott's rule for the width of a kernel, from the spread of the categories, and half a category at least."""
    places = (np.arange(shares.size) + 0.5) / shares.size
    spread = np.sqrt(np.maximum(shares @ places**2 - (shares @ places) ** 2, 0.0))
    return float(max(spread * records**-0.2, 0.5 / shares.size))


def _spread(categories: int, cells: int, width: float) -> Vector:
    """Where each category's share goes: a row of the kernel's mass in each cell, which adds up to one."""
    from scipy.special import ndtr

    middles = (np.arange(categories) + 0.5) / categories
    # What falls beyond an end is reflected there: cut off, an even histogram would sag at its ends.
    mirrored = np.stack([middles, -middles, 2 - middles])
    below = ndtr((np.arange(cells + 1) / cells - mirrored[..., None]) / width)
    mass = np.diff(below, axis=-1).sum(axis=0)
    return np.asarray(mass / mass.sum(axis=1, keepdims=True), dtype=np.float64)


def _cut(line: Vector, cells: int) -> Vector:
    """Equally wide cells of another number, along the last axis: each gets its share of the old cells that it overlaps."""
    edges = np.arange(cells + 1) * (line.shape[-1] / cells)
    whole = np.minimum(edges.astype(np.int64), line.shape[-1] - 1)
    running = np.concatenate([np.zeros((*line.shape[:-1], 1)), np.cumsum(line, axis=-1)], axis=-1)
    return np.diff(running[..., whole] + (edges - whole) * line[..., whole], axis=-1)
