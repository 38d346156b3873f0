"""`jostle train`: measure every option on public inputs, and learn which to choose when."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from jostle.cli.terminal import check_apart, check_writable, words

if TYPE_CHECKING:
    from jostle.choice.delphi import ErrorTable
    from jostle.choice.selectors import Selector
    from jostle.cli.running import RunSummary


def train(
    task: Annotated[str, typer.Option(help="The kind of questions: range-1d or range-2d.")],
    options: Annotated[str | None, typer.Option(help="Choose only among these, for instance HB,DAWA,OPT.")] = None,
    sides: Annotated[str | None, typer.Option(help="Cells per axis, for instance 128,1024; by default the paper's.")] = None,
    exponents: Annotated[str | None, typer.Option(help="Scales as powers of two, for instance 5,12,24 or 5-24.")] = None,
    trials: Annotated[int, typer.Option(help="Runs per option and input.")] = 20,
    criterion: Annotated[
        str | None, typer.Option(help="How selectors are grown, for instance group-regret; by default expected-regret.")
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(help="What the selector may ask for, for instance domain,scale,nonzeros; by default domain,scale."),
    ] = None,
    rho: Annotated[float | None, typer.Option(help="The share of ε for private features; by default 0.01.")] = None,
    theta: Annotated[float | None, typer.Option(help="How alike options of a group are (group-regret).")] = None,
    depth: Annotated[int | None, typer.Option(help="The most questions on a way; by default 6.")] = None,
    as_published: Annotated[
        bool,
        typer.Option("--as-published", help="The Pythia paper's options and way of training, but for what is said here."),
    ] = False,
    in_rho: Annotated[bool, typer.Option("--in-rho", help="With Gaussian noise: at ρ = 1/4, not at ε = 1.")] = False,
    seed: Annotated[int, typer.Option(help="Of all noise, and of the training.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Processes; by default one per core.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="A Dask cluster in place of this machine's cores: tcp://host:8786, or local:2.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="The folder of public shapes; by default, JOSTLE_DATA names it.")] = None,
    ledger_file: Annotated[
        Path | None, typer.Option("--ledger", help="Refuse to train on data with an account in this ledger.")
    ] = None,
    store: Annotated[Path, typer.Option(help="The folder of measurements, which are not made again.")] = Path(
        "jostle-training"
    ),
    out: Annotated[Path, typer.Option(help="Where the selector goes.")] = Path("selector.json"),
    as_json: Annotated[bool, typer.Option("--json", help="Print numbers for a script.")] = False,
) -> None:
    """Train a selector on public data: measure every option on every input, then learn which to choose when.

    You can stop at any time: the same command continues from there, and a new option costs only its own runs.
    """
    from jostle.choice import delphi, selectors, training
    from jostle.cli import running
    from jostle.simulate import grid, measure
    from jostle.simulate.results import Results

    given = {"features": tuple(words(features)) if features else None, "rho": rho, "theta": theta, "depth": depth}
    settings: dict[str, Any] = dict(training.AS_PUBLISHED) if as_published else {}
    settings |= {name: value for name, value in given.items() if value is not None}
    criterion = criterion or ("group-regret" if as_published else "expected-regret")
    training.understood(criterion, settings)  # now, and not after an hour of measuring
    check_writable("out", out)
    check_apart("out", out, {"ledger": ledger_file})
    suite = grid.suite(task) if as_published else None
    names = delphi.candidates(task, words(options) if options else suite)
    cells = _inputs(task, data, _numbers("sides", sides), _numbers("exponents", exponents), ledger_file, in_rho)
    todo = measure.jobs(cells, names, trials=trials, seed=seed)
    with Results(store) as results:
        ran = running.run(todo, results, workers=workers, cluster=cluster)
        table = delphi.table_of(task, cells, names, todo, results)
    broken = {one.algorithm for one in ran.failed}
    table = table.only(*(name for name in names if name not in broken))
    selector = selectors.train(table, criterion=criterion, seed=seed, **settings)
    selector.save(out)
    if as_json:
        typer.echo(json.dumps(_facts(table, ran, out, store), ensure_ascii=False))
        return
    _show(Console(highlight=False), table, selector, ran, out, store)


def _inputs(
    task: str,
    data: Path | None,
    sides: list[int] | None,
    exponents: list[int] | None,
    ledger_file: Path | None,
    in_rho: bool,
) -> list[Any]:
    from jostle.choice import delphi
    from jostle.tables.budget_source import ledger_at

    if ledger_file is None:
        return list(delphi.inputs(task, data, sides=sides, exponents=exponents, in_rho=in_rho))
    with ledger_at(ledger_file, create=False) as ledger:
        return list(delphi.inputs(task, data, sides=sides, exponents=exponents, ledger=ledger, in_rho=in_rho))


def _numbers(argument: str, text: str | None) -> list[int] | None:
    """Whole numbers from a list, in which a hyphen stands for all that lie between.

    >>> _numbers("exponents", "5, 8-10"), _numbers("sides", None)
    ([5, 8, 9, 10], None)
    """
    from jostle.kernel.errors import BadInput

    found: list[int] = []
    for part in words(text or ""):
        low, _, high = part.partition("-")
        if not low.isdecimal() or not (high or low).isdecimal() or not int(low) <= int(high or low) < 2**20:
            raise BadInput(argument, f"{part!r} is neither a number nor a range", "write for instance 5,8 or 5-24")
        found += range(int(low), int(high or low) + 1)
    return found or None


def _facts(table: ErrorTable, ran: RunSummary, out: Path, store: Path) -> dict[str, Any]:
    return {
        "task": table.task,
        "inputs": len(table.inputs),
        "options": table.options,
        "measured": ran.done,
        "seconds": ran.seconds,
        "inputs_per_second": ran.inputs / ran.seconds if ran.done else None,
        "mean_regrets": dict(zip(table.options, _means(table), strict=True)),
        "failed": [{"algorithm": one.algorithm, "cell": one.cell, "reason": one.reason} for one in ran.failed],
        "store": str(store),
        "selector": str(out),
    }


def _means(table: ErrorTable) -> list[float]:
    return [float(mean) for mean in table.complete().regrets().mean(axis=0)]


def _show(console: Console, table: ErrorTable, selector: Selector, ran: RunSummary, out: Path, store: Path) -> None:
    from jostle.cli import running

    if ran.done:
        console.print(
            f"Measured {ran.done:,} results on {ran.inputs:,} inputs in {ran.seconds:,.1f} s: "
            f"[bold]{ran.inputs / ran.seconds:.3g} inputs per second[/]."
        )
    there = f"{len(table.inputs):,} inputs and {len(table.options)} options of {table.task} are in {store}.\n"
    console.print(there, markup=False)
    shown = Table(box=None, pad_edge=False)
    for heading in ("one option for all inputs", "mean regret", "ms per run"):
        shown.add_column(heading, justify="left" if heading.startswith("one") else "right")
    times = table.complete().seconds.mean(axis=0)
    for mean, time, name in sorted(zip(_means(table), times, table.options, strict=True)):
        shown.add_row(f"  {name}", f"{mean:,.3f}", f"{1000 * time:,.2f}")
    console.print(shown, "")
    console.print(selector.summary(), markup=False)
    console.print(f"\nThe selector: {out}", markup=False)
    running.say_failures(ran.failed, console)
