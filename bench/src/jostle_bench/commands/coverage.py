"""`jostle bench coverage`: how often 95 % intervals hold, and how wide they are."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from jostle.kernel.errors import BadInput
from jostle_bench.reports.terminal import new_table

if TYPE_CHECKING:
    from jostle.kernel.budget import Price
    from jostle_bench.coverage.measuring import Coverage
    from jostle_bench.coverage.plans import Row

QUICK = ("Laplace", "HB", "DAWA")
PRICES = (0.01, 0.1, 0.5, 2.0)


def coverage(
    algorithm: Annotated[list[str] | None, typer.Option(help="Only this algorithm; repeat it for several.")] = None,
    workload: Annotated[list[str] | None, typer.Option(help="identity, prefix or ranges; repeat it for several.")] = None,
    epsilon: Annotated[list[float] | None, typer.Option(help="The ε of a release; repeat it for several.")] = None,
    rho: Annotated[list[float] | None, typer.Option(help="The ρ of a release; repeat it for several.")] = None,
    cells: Annotated[
        int | None, typer.Option(min=4, help="Cells of the domain (per axis with --grid); without it, several domains.")
    ] = None,
    grid: Annotated[bool, typer.Option("--grid", help="Two-dimensional data.")] = False,
    releases: Annotated[int, typer.Option(min=1, help="Releases of each data set.")] = 2,
    draws: Annotated[int, typer.Option(min=1, help="Data sets of each made-up family.")] = 2,
    every: Annotated[
        int, typer.Option(min=1, help="A part of the grid: each data set at every other price (2), every third (3), ….")
    ] = 1,
    neighbours: Annotated[str, typer.Option(help="add_remove, or replace.")] = "add_remove",
    unseen: Annotated[
        bool,
        typer.Option("--unseen", help="Families of data that factors were not fitted on, and columns of public tables."),
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Made-up shapes and a few algorithms, in a minute.")] = False,
    results: Annotated[
        Path | None, typer.Option(help="A folder that keeps what was measured: a later run goes on from there.")
    ] = None,
    stop: Annotated[
        bool, typer.Option("--stop", help="Measure nothing more: show, and fit, what the folder of --results has.")
    ] = False,
    fit: Annotated[
        bool,
        typer.Option("--fit", help="Fit by how much to widen intervals, and show how those hold on families left out."),
    ] = False,
    write: Annotated[
        Path | None, typer.Option(help="With --fit, write the factors to this file: src/jostle/simulate/calibration.json.")
    ] = None,
    tables: Annotated[
        bool, typer.Option("--tables", help="Questions to a made-up table: sums, means, variances, quantiles, marginals.")
    ] = False,
    previews: Annotated[bool, typer.Option("--previews", help="Also compare with the margins that previews show.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as the documentation has it.")] = False,
) -> None:
    """How often 95 % intervals hold, also at the worst price and among the narrowest quarter; and how wide they are.

    The data are those of dpbench_1d.npz and dpbench_2d.npz in the folder that JOSTLE_DATA names, and draws from made-up
    families of shapes.
    """
    from rich.progress import Progress

    from jostle import algorithms
    from jostle.kernel.budget import Price
    from jostle_bench.coverage import fitting, inputs
    from jostle_bench.coverage.measuring import file_of
    from jostle_bench.coverage.plans import DOMAINS, Plan, measured

    if tables:
        prices = [Price.of(one) for one in epsilon or ([] if rho else [0.1, 1.0])] + [
            Price.of(None, one) for one in rho or []
        ]
        _show_tables(releases, prices)
        return
    dimensions = 2 if grid else 1
    if cells is not None or grid or quick:
        side = cells or (32 if grid else 64)
        domains: Sequence[tuple[int, ...]] = [(side,) * dimensions]
    else:
        domains = DOMAINS
    known = sorted({name for shape in domains for name in algorithms.names(task=f"range-{len(shape)}d")})
    for name in algorithm or ():
        if name not in known:
            raise BadInput("algorithm", f"{name!r} is unknown, or not for these data", f"use one of {', '.join(known)}")
    all_kinds = list(dict.fromkeys(kind for shape in domains for kind in inputs.KINDS[len(shape)]))
    for kind in workload or ():
        if kind not in all_kinds:
            raise BadInput("workload", f"{kind!r} is unknown", f"use one of {', '.join(all_kinds)}")
    amounts = epsilon or (() if rho else (0.1,) if quick else PRICES)
    plan = Plan(
        named=algorithm or (QUICK if quick else ()),
        kinds=workload or (),
        prices=[*map(Price.of, amounts), *(Price.of(None, one) for one in rho or ())],
        domains=domains,
        neighbours=neighbours,
        releases=releases,
        draws=draws,
        unseen=unseen,
        every=every,
        folder=_data(quick),
    )
    tasks = list(plan.tasks())
    if stop:
        if results is None:
            raise BadInput("stop", "is for a folder of results", "name it, for instance --results found")
        tasks = [one for one in tasks if file_of(results, *one[:3]).exists()]
        if not tasks:
            raise BadInput("results", "has nothing of this", "leave out --stop to measure it")
    with Progress(console=Console(stderr=True), transient=True) as bar:
        shown = bar.add_task("", total=len(tasks))
        found = measured(tasks, results, lambda cell: bar.update(shown, description=str(cell), advance=1))
    if fit:
        fits = fitting.fitted(found)
        if write is not None:
            fitting.write(fits, write, shlex.join(["jostle", *sys.argv[1:]]))
        found = fitting.checked(found, fits)
    _show(found, _foretold(found) if previews else {}, "Families left out in turn" if fit else "", markdown=markdown)


def _data(quick: bool) -> Path | None:
    folder = os.environ.get("JOSTLE_DATA")
    return None if quick or not folder else Path(folder)


def _foretold(found: Sequence[Coverage]) -> dict[tuple[str, str, str], list[float]]:
    """Per row, the previews' margins over the median released ones, by price: medians over data sets."""
    from jostle_bench.coverage.plans import domain
    from jostle_bench.coverage.previews import foretold

    out: dict[tuple[str, str, str], list[float]] = {}
    for cell, ratio in foretold(found).items():
        out.setdefault((cell.algorithm, cell.workload, domain(cell)), []).append(ratio)
    return out


HEADINGS = (
    "algorithm",
    "workload",
    "cells",
    "releases",
    "covered",
    "at the worst price",
    "standard error there",
    "narrowest quarter",
    "at the worst price",
    "width / ideal",
    "width / a single one",
)


def _show(
    found: Sequence[Coverage], foretold: dict[tuple[str, str, str], list[float]], about: str, *, markdown: bool = False
) -> None:
    from jostle_bench.coverage.plans import rows

    lines = rows(found)
    headings = (*HEADINGS, *(["preview / released"] if foretold else []))
    shown = []
    for line in lines:
        shares = (line.covered, line.worst, line.doubt, line.narrowest, line.worst_narrowest)
        told = foretold.get((line.algorithm, line.workload, line.domain), [])
        shown.append(
            [line.algorithm, line.workload, line.domain, f"{line.releases}"]
            + [f"{100 * share:.1f}" for share in shares]
            + [f"{line.width:.2f}", f"{line.of_single:.2f}"]
            + ([f"{min(told):.2f} to {max(told):.2f}"] if foretold else [])
        )
    if markdown:
        for row in (headings, ["---"] * len(headings), *shown):
            typer.echo(f"| {' | '.join(row)} |")
    else:
        table = new_table(f"Coverage of 95 % intervals. {about}", headings, left=HEADINGS[:3])
        for row in shown:
            table.add_row(*row)
        Console().print(table)
    typer.echo(in_words(lines))


def in_words(lines: Sequence[Row]) -> str:
    """What the rows say together."""
    import numpy as np

    covered, worst, narrow, width, single = (
        np.array([getattr(line, name) for line in lines])
        for name in ("covered", "worst", "worst_narrowest", "width", "of_single")
    )
    return (
        f"{len(lines)} rows: {covered.mean():.1%} in the mean, from {covered.min():.1%} to {covered.max():.1%}. "
        f"At the worst price: {(worst < 0.93).sum()} rows below 93 %, the least {worst.min():.1%}; "
        f"in the narrowest quarter {(narrow < 0.93).sum()}, the least {narrow.min():.1%}. "
        f"Widths over the ideal: {np.median(width):.2f} at the median, {width.mean():.2f} in the mean; "
        f"over a single width that would do: {np.median(single):.2f} and {single.mean():.2f}."
    )


def _show_tables(releases: int, prices: Sequence[Price]) -> None:
    from jostle.kernel.budget import PURE
    from jostle_bench.coverage import tables

    headings = ("figure", "price", "intervals", "covered", "standard error")
    table = new_table("Coverage of 95 % intervals of questions to tables", headings, left=("figure", "price"))
    for price in prices:
        rows = round(2000 / price.rate)
        found = tables.measured(rows, price, releases)
        if price.measure == PURE:
            found |= tables.private_keys(rows, float(price.amount), releases)
        for more in (tables.held_out_accuracy, tables.coefficients):  # few numbers each, and cheap
            found |= more(rows, price, 50 * releases)
        for figure, one in found.items():
            table.add_row(figure, str(price), f"{one.asked:,}", f"{one.covered:.1%}", f"{one.doubt:.1%}")
    Console().print(table)
