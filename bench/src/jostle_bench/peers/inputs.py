"""What accuracy is measured on: public histograms of given domains and totals, and the queries that are asked of them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from jostle import workloads
from jostle.datasets.shapes import public_shapes, rebin, scaled
from jostle.kernel.partition import Counts, Vector
from jostle.workloads import Workload

RANGES: Final = 1000
"""So many random ranges or rectangles are asked for."""

LEVELS: Final = tuple(k / 10 for k in range(1, 10))
"""The quantiles that are asked for together: deciles."""

MADE_UP: Final = "made-up"
"""The data set that is there without public data, and that no selector was trained on."""


@dataclass(frozen=True, kw_only=True)
class Input:
    """Data over a domain, and an ε."""

    dataset: str
    """The shape's name."""

    domain: tuple[int, ...]
    """The cells of each axis."""

    scale: int
    """The number of records."""

    epsilon: float
    """The budget."""

    @property
    def array(self) -> str:
        """The name of its counts in the file of its domain."""
        return f"{self.dataset} {self.scale}"

    @property
    def name(self) -> str:
        """By which its results are known."""
        return f"{self.array} {self.epsilon:g}"


def shape(dataset: str, domain: tuple[int, ...], folder: Path | None) -> Counts:
    """A public shape over a domain; a made-up one is the same everywhere.

    >>> shape("made-up", (4,), None).shape, shape("made-up", (8, 8), None).shape
    ((4,), (8, 8))
    """
    if dataset.startswith(MADE_UP) or folder is None:
        return _made_up(dataset, domain)
    return rebin(public_shapes(f"range-{len(domain)}d", folder)[dataset], domain)


def _made_up(name: str, domain: tuple[int, ...]) -> Counts:
    """Some hills of different widths on a plain, and spikes: what real histograms have."""
    draw = np.random.default_rng([zlib.crc32(name.encode()), len(domain)])
    density = np.full(domain, 0.05)
    places = np.meshgrid(*((np.arange(n) + 0.5) / n for n in domain), indexing="ij")
    for _ in range(4):
        middle, width = draw.uniform(size=len(domain)), draw.uniform(0.01, 0.15, size=len(domain))
        far = sum(((place - at) / wide) ** 2 for place, at, wide in zip(places, middle, width, strict=True))
        density += draw.uniform(0.2, 1.0) * np.exp(-np.asarray(far) / 2)
    for spot in draw.uniform(size=(6, len(domain))):
        density[tuple((spot * domain).astype(int))] += 0.02 * density.sum()
    return np.asarray(np.rint(density / density.sum() * 2**32), dtype=np.int64)


def write(inputs: Sequence[Input], folder: Path | None, file: Path) -> Path:
    """The counts of all inputs over one domain, in one file."""
    domain = inputs[0].domain
    counts = {
        one.array: scaled(shape(one.dataset, domain, folder), one.scale, seed=zlib.crc32(one.array.encode()))
        for one in inputs
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new.npz")
    np.savez_compressed(new, allow_pickle=False, **counts)
    return new.replace(file)


@lru_cache(maxsize=32)
def workload(name: str, domain: tuple[int, ...]) -> Workload:
    """The queries by their name; random ones are the same for all data over a domain.

    >>> workload("ranges", (256,)), workload("rectangles", (32, 32)), workload("quantiles", (256,))
    (<ranges: 1000 queries over 256>, <rectangles: 1000 queries over 32×32>, <ranks: 725 queries over 256>)
    """
    if name == "histogram":
        return workloads.identity(domain)
    if name == "prefix":
        return workloads.prefix(*domain)
    if name == "quantiles":
        return workloads.ranks(*domain)
    draw = np.random.default_rng(zlib.crc32(f"{name} {domain}".encode()))
    ends = np.sort(draw.integers(0, np.array(domain) + 1, size=(4 * RANGES, 2, len(domain))).swapaxes(1, 2), axis=-1)
    lows, highs = (ends[(ends[..., 0] < ends[..., 1]).all(axis=1)][:RANGES, :, side] for side in (0, 1))
    return (
        workloads.ranges(*domain, lows[:, 0], highs[:, 0]) if len(domain) == 1 else workloads.rectangles(domain, lows, highs)
    )


def rank_errors(found: Vector, counts: Counts) -> Vector:
    """How many records lie between each returned quantile and the right one: the L2 norm over quantiles, one row per run.

    Records are spread evenly over their cells. Less than half a record off is as good as right.

    >>> rank_errors(np.array([[k * 0.4 for k in range(1, 10)]]), np.full(4, 10)).tolist()
    [0.5]
    """
    edges = np.arange(counts.size + 1)
    below = np.interp(found, edges, np.concatenate([[0], np.cumsum(counts)]))
    off = below - np.array(LEVELS) * counts.sum()
    return np.asarray(np.maximum(np.linalg.norm(off, axis=-1), 0.5))
