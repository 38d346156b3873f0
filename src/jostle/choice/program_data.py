"""What a program in the thesis' notation is trained and run on: public databases by name, and private counts from a file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from jostle.choice.programs import ChoiceProgram
from jostle.choice.public_databases import PublicDatabase
from jostle.datasets.shapes import data_folder, public_shapes, rebin, scaled, smoothed
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts
from jostle.workloads import Workload, identity, prefix, random_rectangles

SCALES: Final = (2**6, 2**9, 2**12, 2**15)
"""The numbers of records that every public shape is trained with."""

MOST_PER_AXIS: Final = {1: 1024, 2: 32}
"""Cells per axis to train on, by the number of axes: finer private data are chosen for by what coarser ones teach."""

RECTANGLES: Final = 200

QUERIES: Final[Mapping[str, Callable[[tuple[int, ...]], Workload]]] = {
    "identity": identity,
    "prefix": lambda domain: prefix(*domain),
    "rectangles": lambda domain: random_rectangles(domain, RECTANGLES, seed=3),
}
"""What can be asked, by name."""


def queries_of(name: str | None, dimensions: int) -> Callable[[Any], Workload]:
    """The queries of that name; by default rectangles on a grid, and prefix sums on a line."""
    named = name or ("prefix" if dimensions == 1 else "rectangles")
    if named not in QUERIES or (named == "prefix" and dimensions != 1):
        raise BadInput("queries", f"{named!r} does not go with {dimensions} axes", "use identity or rectangles")
    build = QUERIES[named]
    return lambda domain: build((domain,) if isinstance(domain, int) else tuple(domain))


def training_databases(
    program: ChoiceProgram, shape: tuple[int, ...], folder: Path | None = None
) -> tuple[list[PublicDatabase], list[str]]:
    """The public databases of a program over a domain like this one, and notes about names that are not there.

    Shapes are those of the folder, by default the one that JOSTLE_DATA names; without any, made-up ones.
    """
    wanted, more = program.databases(program.entry.maker)
    shapes, notes = _shapes(len(shape), folder), list[str]()
    by_name = {_plain(name): name for name in shapes}
    chosen = dict.fromkeys(shapes) if more else dict[str, None]()
    for name in wanted:
        if _plain(name) in by_name:
            chosen[by_name[_plain(name)]] = None
        elif more:
            notes.append(f"{name} is not among the public data sets here: {', '.join(shapes)}")
        else:
            raise BadInput("trained on", f"there is no public data set {name!r}", f"use some of {', '.join(shapes)}")
    if len(chosen) < 2:
        raise BadInput("trained on", "names fewer than two public data sets", f"use some of {', '.join(shapes)}")
    domain = tuple(min(cells, MOST_PER_AXIS[len(shape)]) for cells in shape)
    return [
        PublicDatabase(data=scaled(_over(shapes[name], domain), total, seed=1), name=f"{name} at {total}", group=name)
        for name in chosen
        for total in SCALES
    ], notes


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def _over(shape: Counts, domain: tuple[int, ...]) -> Counts:
    """The shape over a domain of any size."""
    try:
        return rebin(shape, domain)
    except BadInput:
        return smoothed(shape, domain, axes=())


def _shapes(dimensions: int, folder: Path | None) -> Mapping[str, Counts]:
    if dimensions not in MOST_PER_AXIS:
        raise BadInput("on", f"has {dimensions} axes", "pass counts along one or two axes")
    if folder is not None or os.environ.get("JOSTLE_DATA"):
        return public_shapes(f"range-{dimensions}d", data_folder(folder))
    return made_up_shapes(dimensions)


def made_up_shapes(dimensions: int) -> dict[str, Counts]:
    """Shapes that are flat, sloped, hilly, or a few points: public by construction.

    >>> sorted(made_up_shapes(2))
    ['flat', 'hills', 'points-160', 'points-40', 'points-9', 'slope', 'streets-2', 'streets-5']
    """
    side = MOST_PER_AXIS[dimensions]
    rng, size = np.random.default_rng(7), (side,) * dimensions
    at = np.indices(size) / side
    middle = (0.3, 0.6)[:dimensions]
    distance = sum((along - centre) ** 2 for along, centre in zip(at, middle, strict=True))
    made = {"flat": np.ones(size), "slope": at.sum(axis=0), "hills": np.exp(-8 * distance)}
    made |= {f"points-{n}": (rng.random(size) < n / side**dimensions) * rng.pareto(1, size) for n in (9, 40, 160)}
    made |= {f"streets-{n}": np.where((at * n % 1 < 0.08).any(axis=0), 1.0, 0.01) for n in (2, 5)}
    return {name: np.ceil(1000 * shape).astype(np.int64) for name, shape in made.items()}


def private_counts(file: Path, array: str | None = None) -> Counts:
    """The counts in an .npz or .npy file. Nothing is said about the counts themselves."""
    refused = BadInput("on", f"{file.name} is not a file of NumPy arrays", "save counts: np.savez('grid.npz', grid=counts)")
    try:
        found = np.load(file, allow_pickle=False)
    except (OSError, ValueError):
        raise refused from None
    if isinstance(found, np.ndarray):
        return found
    with found:
        names = found.files
        if array is None and len(names) != 1:
            raise BadInput("array", f"{file.name} has {len(names)} arrays", f"name one: {', '.join(names[:20])}")
        name = array or names[0]
        if name not in names:
            raise BadInput("array", f"{file.name} has no array {name!r}", f"use one of {', '.join(names[:20])}")
        try:
            return np.asarray(found[name])
        except ValueError:
            raise refused from None
