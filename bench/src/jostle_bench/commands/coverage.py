"""`jostle bench coverage`: how often 95 % intervals hold, and how wide they are."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from jostle.kernel.errors import BadInput
from jostle_bench.reports.terminal import new_table

if TYPE_CHECKING:
    from jostle_bench.coverage.measuring import Cell, Coverage

QUICK = ("Laplace", "HB", "DAWA")
PRICES = (0.01, 0.1, 0.5, 2.0)


def coverage(
    algorithm: Annotated[list[str] | None, typer.Option(help="Only this algorithm; repeat it for several.")] = None,
    workload: Annotated[list[str] | None, typer.Option(help="identity, prefix or ranges; repeat it for several.")] = None,
    epsilon: Annotated[list[float] | None, typer.Option(help="The ε of a release; repeat it for several.")] = None,
    rho: Annotated[list[float] | None, typer.Option(help="The ρ of a release; repeat it for several.")] = None,
    cells: Annotated[int, typer.Option(min=4, help="Cells of the domain (per axis with --grid).")] = 256,
    grid: Annotated[bool, typer.Option("--grid", help="Two-dimensional data.")] = False,
    releases: Annotated[int, typer.Option(min=1, help="Releases of each data set.")] = 4,
    sizes: Annotated[int, typer.Option(min=1, max=4, help="How many numbers of records each data set is drawn with.")] = 1,
    neighbours: Annotated[str, typer.Option(help="add_remove, or replace.")] = "add_remove",
    quick: Annotated[bool, typer.Option("--quick", help="Four made-up shapes and a few algorithms, in a minute.")] = False,
    results: Annotated[
        Path | None, typer.Option(help="A folder that keeps what was measured: a later run goes on from there.")
    ] = None,
    fit: Annotated[bool, typer.Option("--fit", help="Also print by how much intervals must be widened.")] = False,
    write: Annotated[
        Path | None, typer.Option(help="With --fit, write the factors to this file: src/jostle/simulate/calibration.json.")
    ] = None,
    tables: Annotated[
        bool, typer.Option("--tables", help="Questions to a made-up table: sums, means, variances, quantiles, marginals.")
    ] = False,
    previews: Annotated[bool, typer.Option("--previews", help="Also compare with the margins that previews show.")] = False,
) -> None:
    """How often 95 % intervals hold on public data: in the mean, and among the narrowest quarter; and how wide they are.

    The data are those of dpbench_1d.npz and dpbench_2d.npz in the folder that JOSTLE_DATA names, or made-up shapes.
    """
    from rich.progress import Progress

    from jostle import algorithms
    from jostle.kernel.budget import Price
    from jostle_bench.coverage import inputs
    from jostle_bench.coverage.measuring import Cell, kept, measure

    if tables:
        _show_tables(releases, epsilon or [0.1, 1.0])
        return
    shape = (cells, cells) if grid else (cells,)
    known = algorithms.names(task="range-2d" if grid else "range-1d")
    named = algorithm or (QUICK if quick else known)
    kinds = workload or inputs.KINDS[len(shape)]
    amounts = epsilon or (() if rho else (0.1,) if quick else PRICES)
    prices = [*map(Price.of, amounts), *(Price.of(None, one) for one in rho or ())]
    for name in named:
        if name not in known:
            raise BadInput("algorithm", f"{name!r} is unknown, or not for these data", f"use one of {', '.join(known)}")
    for kind in kinds:
        if kind not in inputs.KINDS[len(shape)]:
            raise BadInput("workload", f"{kind!r} is unknown", f"use one of {', '.join(inputs.KINDS[len(shape)])}")
    todo = []
    for name in named:
        for kind in kinds:
            asked = inputs.asked(kind, shape)
            for number, price in enumerate(prices):
                cell = Cell(algorithm=name, workload=asked.kind, shape=shape, price=price, neighbours=neighbours)
                for turn in range(sizes):
                    todo += [(cell, asked, *one) for one in inputs.inputs(_data(quick), shape, number + turn)]
    found: list[Coverage] = []
    with Progress(console=Console(stderr=True), transient=True) as bar:
        shown = bar.add_task("", total=len(todo))
        for cell, asked, dataset, x in todo:
            bar.update(shown, description=str(cell))
            now = partial(measure, cell, asked, x, dataset=dataset, releases=releases)
            found.append(kept(results, cell, dataset, int(x.sum()), now))
            bar.advance(shown)
    _show(found, _foretold(found) if previews else {})
    if fit:
        _show_fit(found, write)


def _data(quick: bool) -> Path | None:
    folder = os.environ.get("JOSTLE_DATA")
    return None if quick or not folder else Path(folder)


def _foretold(found: Sequence[Coverage]) -> dict[Cell, float]:
    """Per line, the preview's margin over the median released one; the median over data sets."""
    from jostle_bench.coverage.previews import foretold

    return foretold(found)


def _show(found: Sequence[Coverage], foretold: dict[Cell, float]) -> None:
    from jostle.kernel.budget import SYMBOLS
    from jostle_bench.coverage.measuring import summary

    about = (
        "algorithm",
        "workload",
        "price",
        "releases",
        "covered",
        "± (standard error)",
        "narrowest quarter",
        "width / ideal",
    )
    headings = (*about, *(["preview / released"] if foretold else []))
    table = new_table("Coverage of 95 % intervals", headings, left=("algorithm", "workload", "price"))
    lines = summary(found)
    for cell, line in lines.items():
        price = f"{SYMBOLS[cell.price.measure]} = {float(cell.price.amount):g}"
        shown = (f"{line.covered:.1%}", f"{line.doubt:.1%}", f"{line.narrowest:.1%}", f"{line.width:.2f}")
        more = (f"{foretold[cell]:.2f}",) if foretold else ()
        table.add_row(cell.algorithm, cell.workload, price, f"{line.releases}", *shown, *more)
    Console().print(table)
    held = [line.covered for line in lines.values()]
    Console().print(f"In the mean over lines: {sum(held) / len(held):.1%}; the least: {min(held):.1%}.")


def _show_tables(releases: int, prices: Sequence[float]) -> None:
    from jostle_bench.coverage.tables import measured

    headings = ("figure", "ε", "intervals", "covered", "standard error")
    table = new_table("Coverage of 95 % intervals of questions to tables", headings, left=("figure",))
    for price in prices:
        for figure, found in measured(round(2000 / price), price, releases).items():
            shown = (f"{found.asked:,}", f"{found.covered:.1%}", f"{found.doubt:.1%}")
            table.add_row(figure, f"{price:g}", *shown)
    Console().print(table)


def _show_fit(found: Sequence[Coverage], file: Path | None) -> None:
    from jostle_bench.coverage.fitting import fitted, write

    fits = fitted(found)
    about = (
        "algorithm, workload",
        "releases",
        "factors by signal",
        "covered on data sets left out",
        "narrowest",
        "width / ideal",
    )
    table = new_table("Fitted with each data set left out in turn", about, left=("algorithm, workload", "factors by signal"))
    for name, one in fits.items():
        factors = " ".join(f"{factor:.2f}" for factor in one.numbers[1:])
        shown = (f"{one.left_out:.1%}", f"{one.narrowest:.1%}", f"{one.width:.2f}")
        table.add_row(name, f"{one.releases}", factors, *shown)
    Console().print(table)
    if file is not None:
        write(fits, file, shlex.join(["jostle", *sys.argv[1:]]))
