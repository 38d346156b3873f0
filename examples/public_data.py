"""Public histograms over a grid to train on: those of the folder that JOSTLE_DATA names; without it, made-up ones."""

from __future__ import annotations

import os

import numpy as np

from jostle.choice.public_databases import Public
from jostle.datasets.shapes import data_folder, public_shapes, rebin, scaled
from jostle.workloads import Workload, random_rectangles

SIDE = 32
SCALES = (2**6, 2**9, 2**12, 2**15)


def shapes() -> dict[str, np.ndarray]:
    """Grids of counts by name."""
    if os.environ.get("JOSTLE_DATA"):
        return dict(public_shapes("range-2d", data_folder()))
    rng = np.random.default_rng(7)
    x, y = np.mgrid[0:SIDE, 0:SIDE] / SIDE
    made = {"flat": np.ones((SIDE, SIDE)), "slope": x + y, "hills": np.exp(-8 * ((x - 0.3) ** 2 + (y - 0.6) ** 2))}
    made |= {f"points-{n}": (rng.random((SIDE, SIDE)) < n / SIDE**2) * rng.pareto(1, (SIDE, SIDE)) for n in (9, 40, 160)}
    made |= {f"streets-{n}": np.where((x * n % 1 < 0.08) | (y * n % 1 < 0.08), 1.0, 0.01) for n in (2, 5)}
    return {name: np.ceil(1000 * shape).astype(np.int64) for name, shape in made.items()}


def rectangles(domain: tuple[int, int]) -> Workload:
    """Random rectangles of all sizes: what is asked."""
    return random_rectangles(domain, 200, seed=3)


def grids() -> list[Public]:
    """Every shape at every scale; those of one shape are alike, and held out together."""
    return [
        Public(data=scaled(rebin(shape, (SIDE, SIDE)), total, seed=1), name=f"{name} at {total}", group=name)
        for name, shape in shapes().items()
        for total in SCALES
    ]
