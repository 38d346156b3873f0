"""The Pythia paper's grid of inputs (Sections 6.1 and 8.1): public shapes × domain sizes × scales × workloads, at ε = 1.

Every input has a name such as "HEPTH|n1024|s2^12|e1|prefix" and is the same wherever it is built: it depends only on its
name and the public shape.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from jostle import algorithms, workloads
from jostle.datasets.shapes import drawn, public_shapes, rebin, scaled
from jostle.kernel.budget import CONCENTRATED, Price
from jostle.kernel.partition import Counts
from jostle.workloads import Workload

SIDES: Final = MappingProxyType(
    {"range-1d": tuple(2**k for k in range(7, 14)), "range-2d": tuple(2**k for k in range(2, 8))}
)
"""The cells of a line, and of a side of a square grid."""

EXPONENTS: Final = tuple(range(5, 25))
"""The scales, as powers of two."""

WORKLOADS: Final = MappingProxyType({"range-1d": ("identity", "prefix"), "range-2d": ("short", "medium", "long", "mixed")})
"""The representative workloads of a task."""

SUITE: Final = MappingProxyType(
    {
        "range-1d": ("Laplace", "HB", "Privelet", "Uniform", "DAWA", "MWEM", "AHP"),
        "range-2d": ("Laplace", "HB", "Privelet", "Uniform", "DAWA", "MWEM", "AHP", "AGrid", "DPCube"),
    }
)
"""The algorithms that the paper chooses among (its Table 1; two of the nine are only for grids)."""

RECTANGLES: Final = 1000
"""How many queries a workload on a grid has."""


@dataclass(frozen=True, kw_only=True)
class GridCell:
    """An input of the paper's grid."""

    folder: Path | None
    """Where the public shapes are; None if `shape` is given."""

    task: str
    """Either "range-1d" or "range-2d"."""

    dataset: str
    side: int
    """The cells of an axis."""

    exponent: int
    """The scale is 2 to this power."""

    queries: str
    sampled: bool = False
    """Whether records are drawn from the shape one by one; if not, the shape is scaled up and rounded, as in the paper."""

    shape: Counts | None = field(default=None, compare=False, repr=False)
    """The shape over this domain, if it comes from no folder: it travels with the input."""

    in_rho: bool = False
    """Whether runs are paid for in ρ, with noise on one count that is as large as at ε = 1."""

    @property
    def domain(self) -> tuple[int, ...]:
        return (self.side,) * algorithms.TASKS[self.task]

    @property
    def epsilon(self) -> float:
        """The budget: other values are reached by changing the scale instead (Section 6.3)."""
        return 1.0

    @property
    def data_key(self) -> str:
        """The name of its data, which the workloads share."""
        cells = "x".join(map(str, self.domain))
        return f"{self.dataset}|n{cells}|s2^{self.exponent}" + ("|drawn" if self.sampled else "")

    @property
    def key(self) -> str:
        return f"{self.data_key}|e{self.epsilon:g}|{self.queries}" + ("|in rho" if self.in_rho else "")

    @property
    def price(self) -> Price:
        """What a run costs: ε = 1, or the ρ with the same standard deviation on one count, which is 1/4."""
        return Price(Fraction(1, 4), CONCENTRATED) if self.in_rho else Price(Fraction(1))

    @property
    def scale(self) -> int:
        return int(2**self.exponent)

    def vector(self) -> Counts:
        if self.shape is not None:
            return _filled(self.shape, self.exponent, self.sampled, self.data_key)
        return _vector(self.folder, self.task, self.dataset, self.domain, self.exponent, self.sampled, self.data_key)

    def workload(self) -> Workload:
        return representative(self.queries, self.domain)


def cells(
    task: str,
    shapes: Path | Mapping[str, Counts],
    *,
    sides: Sequence[int] | None = None,
    exponents: Sequence[int] | None = None,
    sampled: bool = False,
    in_rho: bool = False,
) -> list[GridCell]:
    """The whole grid of a task, or the part of it with these domains and scales.

    Shapes are those of a folder of public data, or a mapping from names to public histograms.
    """
    folder, histograms = (shapes, None) if isinstance(shapes, Path) else (None, shapes)
    return [
        GridCell(
            folder=folder,
            task=task,
            dataset=dataset,
            side=side,
            exponent=exponent,
            queries=queries,
            sampled=sampled,
            shape=shape,
            in_rho=in_rho,
        )
        for dataset in (public_shapes(task, shapes) if isinstance(shapes, Path) else shapes)
        for side in sides or SIDES[task]
        for shape in [None if histograms is None else rebin(histograms[dataset], (side,) * algorithms.TASKS[task])]
        for exponent in exponents or EXPONENTS
        for queries in WORKLOADS[task]
    ]


@lru_cache(maxsize=64)
def representative(name: str, domain: tuple[int, ...]) -> Workload:
    """A workload of the grid; its random rectangles are the same for all data over a domain.

    >>> representative("prefix", (128,)), representative("mixed", (16, 16))
    (<prefix: 128 queries over 128>, <rectangles: 1000 queries over 16×16>)
    """
    if name == "identity":
        return workloads.identity(domain)
    if name == "prefix":
        return workloads.prefix(*domain)
    return workloads.random_rectangles(domain, RECTANGLES, seed=zlib.crc32(f"{name}|{domain}".encode()), lengths=name)


@lru_cache(maxsize=64)
def _vector(
    folder: Path, task: str, dataset: str, domain: tuple[int, ...], exponent: int, sampled: bool, key: str
) -> Counts:
    return _filled(rebin(public_shapes(task, folder)[dataset], domain), exponent, sampled, key)


def _filled(shape: Counts, exponent: int, sampled: bool, key: str) -> Counts:
    counts = (drawn if sampled else scaled)(shape, 2**exponent, seed=zlib.crc32(key.encode()))
    counts.setflags(write=False)  # it is cached and shared
    return counts


def suite(task: str) -> list[str]:
    """The algorithms of the paper's suite that are registered."""
    return [name for name in SUITE[task] if name in algorithms.names(task)]


def options(task: str) -> list[str]:
    """All other registered algorithms for the task that do not themselves choose: jostle's own options."""
    return [name for name in algorithms.names(task) if name not in SUITE[task] and not algorithms.get(name).choosing]
