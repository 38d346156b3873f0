"""`jostle bench coverage`: how often 95 % intervals hold, and how wide they are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from jostle.kernel.errors import BadInput
from jostle_bench.reports.terminal import new_table

if TYPE_CHECKING:
    from jostle_bench.coverage import Coverage


def coverage(
    algorithm: Annotated[list[str] | None, typer.Option(help="Only this algorithm; repeat it for several.")] = None,
    workload: Annotated[list[str] | None, typer.Option(help="identity, prefix or ranges; repeat it for several.")] = None,
    epsilon: Annotated[list[float] | None, typer.Option(help="The ε of a release; repeat it for several.")] = None,
    cells: Annotated[int, typer.Option(min=4, help="Cells of the domain (per axis with --grid).")] = 256,
    grid: Annotated[bool, typer.Option("--grid", help="Two-dimensional data.")] = False,
    releases: Annotated[int, typer.Option(min=1, help="Releases of each data set.")] = 4,
    neighbours: Annotated[str, typer.Option(help="add_remove, or replace.")] = "add_remove",
    quick: Annotated[bool, typer.Option("--quick", help="Four made-up shapes and a few algorithms, in a minute.")] = False,
    fit: Annotated[bool, typer.Option("--fit", help="Also print by how much intervals must be widened.")] = False,
) -> None:
    """How often 95 % intervals hold on public data: in the mean, and among the narrowest quarter; and how wide they are.

    The data are those of dpbench_1d.npz and dpbench_2d.npz in the folder that JOSTLE_DATA names, or made-up shapes.
    """
    from rich.progress import Progress

    from jostle import algorithms
    from jostle_bench import coverage as measuring

    shape = (cells, cells) if grid else (cells,)
    known = algorithms.names(task="range-2d" if grid else "range-1d")
    named = algorithm or (["Laplace", "HB", "DAWA"] if quick else known)
    kinds = workload or (["identity", "ranges"] if grid else ["identity", "prefix", "ranges"])
    prices = epsilon or ([0.1] if quick else [0.1, 1.0])
    for name in named:
        if name not in known:
            raise BadInput("algorithm", f"{name!r} is unknown, or not for these data", f"use one of {', '.join(known)}")
    inputs = list(measuring.inputs(_data(quick), shape))
    found: list[Coverage] = []
    with Progress(console=Console(stderr=True), transient=True) as bar:
        shown = bar.add_task("", total=len(named) * len(kinds) * len(prices) * len(inputs))
        for name in named:
            for kind in kinds:
                asked = measuring.asked(kind, shape)
                for price in prices:
                    bar.update(shown, description=f"{name}, {kind}, ε = {price:g}")
                    for seed, (dataset, x) in enumerate(inputs):
                        how: dict[str, Any] = {
                            "dataset": dataset,
                            "releases": releases,
                            "seed": seed,
                            "neighbours": neighbours,
                        }
                        found.append(measuring.measure(name, asked, price, x, **how))
                        bar.advance(shown)
    _show(found, fit=fit)


def _data(quick: bool) -> Path | None:
    folder = os.environ.get("JOSTLE_DATA")
    return None if quick or not folder else Path(folder)


def _show(found: Sequence[Coverage], *, fit: bool) -> None:
    from jostle_bench.coverage import fitted, summary

    headings = ("algorithm", "workload", "ε", "covered", "narrowest quarter", "width / ideal")
    table = new_table("Coverage of 95 % intervals", headings, left=("algorithm", "workload"))
    for (name, kind, price), (held, narrow, width) in summary(found).items():
        table.add_row(name, kind, f"{price:g}", f"{held:.1%}", f"{narrow:.1%}", f"{width:.2f}")
    Console().print(table)
    if fit:
        about = ("algorithm", "workload", "widen by", "covered on a data set left out")
        factors = new_table("What is missing", about, left=("algorithm", "workload"))
        for (name, kind), (factor, left_out) in fitted(found).items():
            factors.add_row(name, kind, f"{factor:.2f}", f"{left_out:.1%}")
        Console().print(factors)
