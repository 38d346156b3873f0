"""`jostle bench synthetic`: how far synthetic tables are from those behind them."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from jostle.cli.terminal import words
from jostle.kernel.errors import BadInput
from jostle_bench.reports.terminal import new_table

if TYPE_CHECKING:
    from jostle_bench.synthetic import CodedTable


def synthetic(
    tables: Annotated[
        list[str] | None, typer.Argument(help="Files of codes, each with a file of sizes beside it, or made-COLUMNSxROWS.")
    ] = None,
    epsilon: Annotated[str, typer.Option(help="The ε of the synthetic tables.")] = "0.1,1,10",
    delta: Annotated[float, typer.Option(help="The δ that stands beside them.")] = 1e-9,
    pure: Annotated[bool, typer.Option(help="Also without δ.")] = True,
    label: Annotated[str | None, typer.Option(help="Train gradient boosting to predict this column.")] = None,
    against: Annotated[Path | None, typer.Option(help="Synthetic records of another program for the first table.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="How often; errors are means.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of all noise.")] = 0,
    intervals: Annotated[bool, typer.Option(help="Instead: how often 95 % intervals hold, by what they come from.")] = False,
    train: Annotated[
        Path | None,
        typer.Option(help="Grow the trees that choose a strategy, judge them on other tables, and write this JSON file."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print numbers for a script.")] = False,
) -> None:
    """Errors of the histograms of two and three columns, and of models trained on synthetic records. Public tables only."""
    from jostle_bench import synthetic as measuring

    if train is not None:
        _train(train)
        return
    if not tables:
        raise BadInput("tables", "are missing", "name some, for instance made-10x5000")
    amounts = [_number(text) for text in words(epsilon)]
    if intervals:
        for name, amount, bound in product(tables, amounts, (delta, None) if pure else (delta,)):
            held = measuring.intervals(_table(name), amount, bound, runs=runs, seed=seed)
            shares = ", ".join(f"{basis}: {inside / of:.1%} of {of:,}" for basis, (inside, of) in held.items())
            typer.echo(f"{name} at ε = {amount:g}{'' if bound is None else f', δ = {bound:g}'}: {shares}")
        return
    found = []
    for place, name in enumerate(tables):
        table = _table(name)
        known = label if label in table.columns else None
        found.append(measuring.independent(table))
        if place == 0 and against is not None:
            found.append(measuring.of_file(table, against, known))
        for amount in amounts:
            for bound in (delta, None) if pure else (delta,):
                each = [measuring.measure(table, amount, bound, seed=seed + run, label=known) for run in range(runs)]
                found.append(measuring.mean(each))
    if as_json:
        facts = [{name: None if value != value else value for name, value in one.facts().items()} for one in found]
        typer.echo(json.dumps(facts, ensure_ascii=False))
        return
    headings = ("table", "price", "two columns", "three columns", "boosting", "seconds")
    shown = new_table("L1 distance from the records", headings, left=("table", "price"))
    for one in found:
        boosting = "–" if one.boosting is None else f"{one.boosting:.3f}"
        seconds = "–" if math.isnan(one.seconds) else f"{one.seconds:.1f}"
        shown.add_row(one.table, one.price, f"{one.pairs:.4f}", f"{one.triples:.4f}", boosting, seconds)
    Console().print(shown)


def _train(path: Path) -> None:
    """About ten minutes: every strategy on every table, whose errors are kept beside the file."""
    from jostle.synthetic.strategies import STRATEGIES
    from jostle_bench import synthetic_training as training

    found = []
    for part in (0, 1):
        inputs: list[training.Inputs] = []
        for name, columns, codes in training.tables(part):
            typer.echo(f"measuring {name}", err=True)
            inputs += training.measured(name, columns, codes, STRATEGIES)
        training.save(inputs, path.with_name(f"{path.stem}-{part}.csv"))
        found.append(inputs)
    chooser = training.train(found[0])
    chooser.save(path)
    typer.echo(training.judged(chooser, found[1]).words())


def _number(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < math.inf:
        raise BadInput("epsilon", f"{text!r} is no number above 0", "write for instance 0.1,1,10")
    return found


def _table(name: str) -> CodedTable:
    from jostle_bench import synthetic as measuring

    if not name.startswith("made-"):
        return measuring.read_table(Path(name))
    sides = name.removeprefix("made-").split("x")
    if len(sides) != 2 or not all(side.isdecimal() and 2 <= int(side) <= 10**7 for side in sides):
        raise BadInput("tables", f"{name!r} is no made-up table", "write for instance made-20x5000")
    return measuring.made_up(int(sides[0]), int(sides[1]))
