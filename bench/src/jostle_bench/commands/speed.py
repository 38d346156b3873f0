"""`jostle bench speed`: how long a run takes, against the size of the domain."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from jostle.cli.terminal import words
from jostle_bench.reports.terminal import new_table

if TYPE_CHECKING:
    from jostle_bench.speed import Speed


def speed(
    algorithms: Annotated[str | None, typer.Option(help="Only these, for instance HB,AHP.")] = None,
    task: Annotated[str | None, typer.Option(help="Only range-1d or range-2d.")] = None,
    limit: Annotated[float, typer.Option(help="Stop at the domain where a run takes this many seconds.")] = 2.0,
    largest: Annotated[int | None, typer.Option(help="The most cells to try.")] = None,
    folder: Annotated[
        Path | None, typer.Option("--reference", help="A reference with times beside ours; else JOSTLE_REFERENCE names it.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("jostle-speed.html"),
    as_json: Annotated[bool, typer.Option("--json", help="Print numbers for a script.")] = False,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Time the error bars of 4,096 answers in place of runs, the first time.")
    ] = False,
) -> None:
    """How fast: the time and memory of a run against the domain's size, with the growth fitted, and what compiling takes."""
    from rich.progress import track

    from jostle import algorithms as known
    from jostle import plots
    from jostle_bench import reference
    from jostle_bench.speed import machine, speeds

    if intervals:
        _show_intervals(words(algorithms) if algorithms else None, [task] if task else list(known.TASKS))
        return
    plots.savable(out)  # before long work is done for it
    names = [known.get(name).name for name in words(algorithms)] if algorithms else known.names()
    tasks = [task] if task else list(known.TASKS)
    total = sum(len([name for name in names if name in known.names(one)]) for one in tasks)
    beside = reference.reference_folder(folder) if folder or os.environ.get("JOSTLE_REFERENCE") else None
    with tempfile.TemporaryDirectory() as cache:
        found = list(
            track(
                speeds(names, tasks, Path(cache), limit=limit, largest=largest, folder=beside),
                "Timing",
                total=total,
                console=Console(stderr=True),
                transient=True,
            )
        )
    if as_json:
        typer.echo(json.dumps({"machine": machine(), "speeds": [_numbers(one) for one in found]}, ensure_ascii=False))
        return
    console = Console(highlight=False)
    about = machine()
    console.print(f"{about['processor']}, one of {about['cores']} cores, Python {about['python']}, NumPy {about['numpy']}\n")
    console.print(_times(found), "")
    if any(one.beside for one in found):
        console.print(_beside(found), "")
    compiling = sum(one.compiling or 0 for one in found)
    console.print(f"First calls on a fresh machine take {compiling:.1f} s longer in all, for compiling.")
    _picture(found, out)
    console.print(f"The picture: open {out}")


def _show_intervals(named: list[str] | None, tasks: list[str]) -> None:
    """Of data-dependent algorithms, which take longer, only Bayes and AdaptiveGrid unless others are named."""
    from jostle import algorithms as known
    from jostle_bench.interval_speed import interval_speeds
    from jostle_bench.speed import machine

    usual = [name for name in known.names() if not known.get(name).data_dependent or name in ("Bayes", "AdaptiveGrid")]
    headings = ("algorithm", "questions", "kind", "milliseconds")
    table = new_table("Error bars, worked out for the first time", headings, left=headings[:3])
    for one in interval_speeds([known.get(name).name for name in named or usual], tasks):
        domain = "×".join(map(str, one.workload.domain))
        about = f"{one.workload.shape[0]:,} {one.workload.kind}, {domain} cells"
        table.add_row(one.algorithm, about, "exact" if one.exact else "calibrated", f"{1000 * one.seconds:,.0f}")
    console = Console(highlight=False)
    console.print(f"{machine()['processor']}, Python {machine()['python']}, NumPy {machine()['numpy']}\n")
    console.print(table)


def _times(found: list[Speed]) -> Table:
    headings = ("algorithm", "task", "first call", "a run at", "takes", "and at", "takes ", "grows as", "memory", "")
    table = new_table("Processor time of a run in a simulation", headings, left=("algorithm", "task", ""))
    for one in found:
        if not one.timings:
            table.add_row(one.algorithm, one.task, *[""] * 7, one.stopped)
            continue
        usual = 4096 if one.task == "range-1d" else 128 * 128
        typical, last = [timing for timing in one.timings if timing.cells <= usual][-1], one.timings[-1]
        table.add_row(
            one.algorithm,
            one.task,
            f"{one.timings[0].first:.2f} s",
            _by(typical.domain),
            _duration(typical.seconds),
            _by(last.domain),
            _duration(last.seconds),
            "–" if one.exponent is None else f"n^{one.exponent:.2f}",
            "–" if last.memory is None else f"{last.memory / 1e6:,.0f} MB",
            one.stopped,
        )
    return table


def _beside(found: list[Speed]) -> Table:
    table = new_table(
        "On the reference's inputs, beside the reference's time on its machine",
        ("algorithm", "domain", "ours", "theirs", "times faster", ""),
        left=("algorithm", ""),
    )
    for one in found:
        for pair in one.beside:
            row = (one.algorithm, _by(pair.domain), _duration(pair.ours), _duration(pair.theirs))
            short = f"[red]short of {pair.goal}[/]" if pair.faster < pair.goal else ""
            table.add_row(*row, f"{pair.faster:.2g}" if pair.faster < 100 else f"{pair.faster:,.0f}", short)
    return table


def _duration(seconds: float) -> str:
    """A time with its unit.

    >>> _duration(0.0000123), _duration(0.0451), _duration(3.14159)
    ('0.012 ms', '45 ms', '3.1 s')
    """
    return (
        f"{seconds:.2g} s" if seconds >= 1 else f"{1000 * seconds:.2g} ms" if seconds < 0.1 else f"{1000 * seconds:.0f} ms"
    )


def _by(domain: tuple[int, ...]) -> str:
    return "×".join(f"{side:,}" for side in domain)


def _numbers(one: Speed) -> dict[str, Any]:
    return {
        "algorithm": one.algorithm,
        "task": one.task,
        "compiling": one.compiling,
        "exponent": one.exponent,
        "stopped": one.stopped,
        "timings": [
            {"domain": list(t.domain), "seconds": t.seconds, "first": t.first, "memory": t.memory} for t in one.timings
        ],
        "beside": [
            {"domain": list(pair.domain), "ours": pair.ours, "theirs": pair.theirs, "faster": pair.faster, "goal": pair.goal}
            for pair in one.beside
        ],
    }


def _picture(found: list[Speed], out: Path) -> None:
    from jostle import plots

    title = "Time of a run against the size of the domain"
    figure = plots.new(title, x="cells", y="seconds", log_x=True, log_y=True)
    for one in found:
        figure.add_scatter(
            x=[timing.cells for timing in one.timings],
            y=[timing.seconds for timing in one.timings],
            name=f"{one.algorithm} {one.task[-2:]}",
            mode="lines+markers",
            line_dash="solid" if one.task == "range-1d" else "dot",
        )
    plots.save(figure, out)
