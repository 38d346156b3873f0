"""What commands with many simulations share: the jobs under a bar with the time left, and what failed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import typer

from jostle.cli.terminal import STOPPED

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from jostle.simulate.measure import FailedJob, MeasurementJob
    from jostle.simulate.results import Results


@dataclass
class RunSummary:
    """What one run did, without the jobs whose results were there before."""

    failed: list[FailedJob] = field(default_factory=list)
    done: int = 0
    inputs: int = 0
    seconds: float = 0.0


def bar() -> Progress:
    """A bar with the time left, on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    # Inputs differ in cost: the time left is estimated from the last ten minutes.
    return Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=600)


def processes(workers: int | None) -> int:
    """The requested number of processes, or one per core."""
    from jostle.simulate import parallel

    return parallel.cores() if workers is None else workers


def run(todo: Sequence[MeasurementJob], results: Results, *, workers: int | None, cluster: str | None = None) -> RunSummary:
    """Do the jobs that are not in the results yet, under a bar; an interrupt ends the command with status 130."""
    from rich.console import Console

    from jostle.simulate import measure

    kept = sum(results.get(job.key) is not None for job in todo)
    ran, inputs, began = RunSummary(), set(), time.perf_counter()
    outcomes = measure.run(todo, results, workers=processes(workers), cluster=cluster)
    try:
        with bar() as shown_bar, closing(outcomes):
            shown = shown_bar.add_task("", total=len(todo), completed=kept)
            for outcome in outcomes:
                shown_bar.update(shown, advance=1, description=outcome.algorithm)
                ran.done += 1
                inputs.add(outcome.cell)
                if isinstance(outcome, measure.FailedJob):
                    ran.failed.append(outcome)
    except KeyboardInterrupt:
        Console(stderr=True, highlight=False).print(
            f"Stopped. {len(results)} results are kept in {results.folder}; the same command goes on from there.",
            soft_wrap=True,
        )
        raise typer.Exit(STOPPED) from None
    ran.inputs, ran.seconds = len(inputs), time.perf_counter() - began
    return ran


def say_failures(failed: Sequence[FailedJob], console: Console) -> None:
    """Print one line per algorithm that failed."""
    for name in sorted({one.algorithm for one in failed}):
        first, *others = [one for one in failed if one.algorithm == name]
        more = f" and on {len(others)} more" if others else ""
        console.print(f"[red]{name} failed[/] on {first.cell}{more}: ", end="")
        console.print(first.reason, markup=False)
