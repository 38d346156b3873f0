"""`jostle bench documents`: the experiments of the documents that jostle is built on, beside their own figures."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from jostle.cli.terminal import words
from jostle.kernel.errors import BadInput

if TYPE_CHECKING:
    from jostle_bench.documents.talk import Accuracy

FIGURES = ("single", "deeper", "adult", "thesis", "trees", "credit")


def documents(
    figures: Annotated[
        str, typer.Option(help="Of the talk: single, deeper, adult; of the thesis: thesis, trees; of Pythia: credit.")
    ] = "single",
    runs: Annotated[int, typer.Option(help="Runs, each with its own records or its own split.")] = 10,
    sizes: Annotated[str, typer.Option(help="Numbers of records of made-up tables.")] = "500,1000,2000,5000,10000",
    epsilons: Annotated[str, typer.Option(help="For Adult.")] = "0.5,1,2,4",
    form: Annotated[Literal["md", "json"], typer.Option("--format", help="Markdown, or JSON for programs.")] = "md",
    out: Annotated[Path | None, typer.Option(help="Write it to this file.", show_default=False)] = None,
) -> None:
    """Accuracy of private trees by the way they choose splits (the talk), and what the thesis leaves open about its tables.

    Made-up tables and public data (JOSTLE_DATA): simulations, which charge nothing.
    """
    from jostle_bench.documents import credit, figure_4_2, talk, thesis

    numbers = [int(size) for size in words(sizes)]
    found: dict[str, list[Accuracy]] = {}
    more = thesis.as_markdown() if "thesis" in words(figures) else ""
    if "trees" in words(figures):
        more += figure_4_2.as_markdown([float(epsilon) for epsilon in words(epsilons)], runs)
    if "credit" in words(figures):
        more += credit.as_markdown(("credit-1k", "credit-10k"), [float(epsilon) for epsilon in words(epsilons)], runs)
    for figure in [figure for figure in words(figures) if figure not in ("thesis", "trees", "credit")]:
        if figure not in FIGURES:
            raise BadInput("figures", f"{figure!r} is unknown", f"use some of {', '.join(FIGURES)}")
        if figure == "adult":
            found[figure] = talk.adult([float(epsilon) for epsilon in words(epsilons)], runs)
        else:
            found[figure] = (talk.single_split if figure == "single" else talk.deeper_trees)(numbers, runs)
    if form == "json":
        text = json.dumps({figure: [asdict(one) for one in rows] for figure, rows in found.items()}, allow_nan=True) + "\n"
    else:
        text = "\n".join(f"## {figure}\n\n{_table(rows)}" for figure, rows in found.items()) + more
    if out is None:
        typer.echo(text, nl=False)
    else:
        out.write_text(text, "utf-8")


def _table(rows: list[Accuracy]) -> str:
    """One line per way to split, one column per number of records, or per ε."""
    by_epsilon = len({one.records for one in rows}) == 1
    columns = list(dict.fromkeys(one.epsilon if by_epsilon else one.records for one in rows))
    columns = [column for column in columns if column != float("inf")]
    heads = [f"ε = {column:g}" if by_epsilon else f"{column:,} records" for column in columns]
    lines = [f"| split by | {' | '.join(heads)} |", f"| --- |{' ---: |' * len(columns)}"]
    for way in dict.fromkeys(one.way for one in rows):
        cells = []
        for column in columns:
            [one] = [
                one
                for one in rows
                if one.way == way and column == (one.epsilon if by_epsilon and one.epsilon < float("inf") else one.records)
            ] or [one for one in rows if one.way == way]
            cells.append(f"{100 * one.mean:.1f} ±{100 * one.deviation:.1f}")
        lines.append(f"| {way} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
