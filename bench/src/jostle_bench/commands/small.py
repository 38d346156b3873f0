"""`jostle bench small`: the default choice on few cells and few records, beside every option."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from jostle.cli.terminal import words
from jostle.kernel.errors import BadInput
from jostle_bench.reports.terminal import new_table

if TYPE_CHECKING:
    from jostle_bench.small import Measured


def small(
    domains: Annotated[str | None, typer.Option(help="Lines and grids, for instance 5,60,5x3; by default several.")] = None,
    records: Annotated[str, typer.Option(help="Numbers of records.")] = "300,3000,30000",
    epsilon: Annotated[float, typer.Option(help="The ε of a release.")] = 0.1,
    rho: Annotated[float | None, typer.Option(help="The ρ of a release, with Gaussian noise, in place of ε.")] = None,
    options: Annotated[str | None, typer.Option(help="Compare with these, for instance Laplace,OPT,Bayes.")] = None,
    draws: Annotated[int, typer.Option(min=2, help="Inputs per kind of shape.")] = 6,
    trials: Annotated[int, typer.Option(min=2, help="Releases per input.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Of the inputs and of all noise.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print numbers for a script.")] = False,
) -> None:
    """What leaving the choice to jostle costs on 2 to 64 cells: beside the best option and beside plain noise."""
    from rich.progress import Progress

    from jostle_bench import small as measuring

    named = words(options) if options else None
    if named is not None and "Laplace" not in named:
        raise BadInput("options", "must include Laplace", "all are compared with it")
    asked = [
        (queries, domain, number)
        for domain in ([_domain(text) for text in words(domains)] if domains else measuring.DOMAINS)
        for queries in measuring.QUERIES[len(domain)]
        for number in _numbers(records)
    ]
    how: dict[str, Any] = {
        "epsilon": None if rho else epsilon,
        "rho": rho,
        "number": draws,
        "trials": trials,
        "seed": seed,
        "options": named,
    }
    found: list[Measured] = []
    with Progress(console=Console(stderr=True), transient=True) as bar:
        shown = bar.add_task("", total=len(asked))
        for queries, domain, number in asked:
            bar.update(shown, description=f"{queries} of {'×'.join(map(str, domain))}, {number:,} records")
            found.append(measuring.measure(queries, domain, number, **how))
            bar.advance(shown)
    if as_json:
        typer.echo(json.dumps([_facts(one) for one in found], ensure_ascii=False))
        return
    _show(found)


def _domain(text: str) -> tuple[int, ...]:
    sides = text.split("x")
    if len(sides) > 2 or not all(side.isdecimal() and 1 <= int(side) <= 2**14 for side in sides):
        raise BadInput("domains", f"{text!r} is not a domain", "write for instance 5,60,5x3")
    return tuple(map(int, sides))


def _numbers(text: str) -> list[int]:
    if not all(part.isdecimal() and int(part) > 0 for part in words(text)):
        raise BadInput("records", f"{text!r} is no list of numbers", "write for instance 300,3000")
    return [int(part) for part in words(text)]


def _facts(one: Measured) -> dict[str, Any]:
    best, noise = one.beside(one.best), one.beside("Laplace")
    return {
        "queries": one.queries,
        "domain": list(one.domain),
        "records": one.records,
        "best": one.best,
        "over_best": best[0],
        "over_best_stderr": best[1],
        "over_noise": noise[0],
        "over_noise_stderr": noise[1],
        "worst_shape": one.worst_shape[0],
        "worst_over_noise": one.worst_shape[1],
    }


def _show(found: list[Measured]) -> None:
    headings = ("queries", "cells", "records", "best option", "default / best", "default / noise", "worst shape")
    table = new_table("The default choice", headings, left=("queries", "best option", "worst shape"))
    for one in found:
        best, noise, worst = one.beside(one.best), one.beside("Laplace"), one.worst_shape
        table.add_row(
            one.queries,
            "×".join(map(str, one.domain)),
            f"{one.records:,}",
            one.best,
            f"{best[0]:.3f} ± {best[1]:.3f}",
            f"{noise[0]:.3f} ± {noise[1]:.3f}",
            f"{worst[0]} {worst[1]:.3f}",
        )
    Console().print(table)
