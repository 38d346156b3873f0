"""`jostle bench tables`: from a file of many rows to a release, in seconds and megabytes."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from jostle.kernel.errors import BadInput
from jostle_bench.reports.terminal import new_table

if TYPE_CHECKING:
    from jostle_bench.table_speed import Run

GOALS = {
    ("histogram of 4,096 cells", 10**7, False): 1.5,
    ("histogram of 4,096 cells", 10**7, True): 4.0,
    ("histogram of 4,096 cells", 10**8, False): 15.0,
    ("private keys among 100,000", 10**7, False): 4.0,
    ("private keys among 100,000", 10**7, True): 4.0,
}
"""Seconds from opening the file to the noisy answers."""


def tables(
    rows: Annotated[list[int] | None, typer.Option(help="How many rows; repeat it for several files.")] = None,
    only: Annotated[
        str | None, typer.Option(help="Only questions with this in their names, such as histogram or keys.")
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Measure so often, and tell the quickest.")] = 3,
    folder: Annotated[Path | None, typer.Option(help="Where the made-up files are kept for the next time.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print numbers for a script.")] = False,
) -> None:
    """Histograms, groups and private keys from Parquet files of 10⁶ and 10⁷ rows (or --rows), by rows and by persons."""
    from rich.progress import Progress

    from jostle_bench import table_speed as speed

    asked = [question for question in speed.QUESTIONS if only is None or only in question]
    if not asked:
        raise BadInput("only", f"no question has {only!r} in its name", f"use a part of: {'; '.join(speed.QUESTIONS)}")
    wanted = rows or [10**6, 10**7]
    if any(number < 1 for number in wanted):
        raise BadInput("rows", "must be above 0", "pass for instance --rows 1000000")
    where = folder or Path(tempfile.gettempdir()) / "jostle-bench-tables"
    runs: list[Run] = []
    with Progress(console=Console(stderr=True), transient=True) as bar:
        each = [(number, question, bounded) for number in wanted for question in asked for bounded in (False, True)]
        shown = bar.add_task("", total=len(each) * repeat)
        for number, question, bounded in each:
            bar.update(shown, description=f"{number:,} rows, {question}{', persons' if bounded else ''}")
            path = speed.make(number, where, speed.QUESTIONS[question].file)
            measured = []
            for _ in range(repeat):
                measured.append(speed.measure(path, number, bounded=bounded, question=question))
                bar.advance(shown)
            runs.append(min(measured, key=lambda run: run.first))
    if as_json:
        typer.echo(json.dumps([asdict(run) for run in runs]))
        return
    _show(runs)


def _show(runs: list[Run]) -> None:
    headings = ("asked", "rows", "protects", "with imports", "again", "memory", "goal")
    table = new_table("From a Parquet file to noisy answers, on DuckDB", headings, left=("asked", "protects"))
    for run in runs:
        goal = GOALS.get((run.question, run.rows, run.bounded))
        told = "" if goal is None else f"{goal:g} s"
        whose = "persons (3 rows)" if run.bounded else "rows"
        table.add_row(
            run.question,
            f"{run.rows:,}",
            whose,
            f"{run.first:.2f} s",
            f"{run.again:.2f} s",
            f"{run.megabytes:,.0f} MB",
            told,
        )
    Console().print(table)
