"""`jostle classify`: from a file of private records to a classifier, by way of a synthetic table or by any other learner."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from jostle.cli.terminal import Working
from jostle.kernel.budget import exact
from jostle.kernel.errors import BadInput

if TYPE_CHECKING:
    from jostle.kernel.columns import ArrayColumns
    from jostle.learn.held_out import Encoded, Source, Tested
    from jostle.learn.registry import Learner
    from jostle.learn.task import Task

PIPELINE = "Synthetic"
LONGEST_NOTE = 200


@dataclass(frozen=True)
class _Payment:
    """Where the charge goes."""

    ledger: Path | None
    cap: str | None
    neighbours: str
    seed: int | None
    name: str
    note: str


def classify(
    file: Annotated[Path, typer.Option(help="The records: a text file, one a line, with commas.")],
    epsilon: Annotated[str, typer.Option(help="The privacy budget, for instance 0.1; all of it is spent.")],
    schema: Annotated[Path | None, typer.Option(help="What is publicly known of the columns; adult.data is known.")] = None,
    header: Annotated[
        bool | None, typer.Option(help="Whether the first line names the columns; it does, except in files that are known.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="The column to predict; the schema's last unless said.")] = None,
    learner: Annotated[str, typer.Option(help="Synthetic (the pipeline), Chosen, or another learner's name.")] = PIPELINE,
    buckets: Annotated[Path | None, typer.Option(help="Declared buckets; chosen privately unless said.")] = None,
    neighbours: Annotated[str, typer.Option(help="replace, or add_remove.")] = "replace",
    test: Annotated[Path | None, typer.Option(help="Public records to test with; else a fifth is held out.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the synthetic records to this file.")] = None,
    ledger: Annotated[Path | None, typer.Option(help="Where the charge is written down; else nowhere.")] = None,
    cap: Annotated[str | None, typer.Option(help="The most that may ever be spent on it; the first time alone.")] = None,
    simulate: Annotated[int | None, typer.Option(help="A seed: the records are public, and nothing is protected.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print numbers for a script.")] = False,
) -> None:
    """Train a private classifier on a file of records, and tell how good it is on records that it has not seen."""
    from jostle.learn import get, held_out
    from jostle.learn.pipeline import SyntheticModel, read_buckets
    from jostle.learn.synthetic import checked_buckets

    exact(epsilon)
    task, found = _task(file, schema, label), get(learner)
    tunables: dict[str, Any] = {}
    if buckets is not None:
        tunables["buckets"] = checked_buckets(task, read_buckets(buckets, task))
    if out is not None and (learner != PIPELINE or not out.absolute().parent.is_dir()):
        raise BadInput("out", "needs the pipeline and a folder that exists", f"leave it out, or use --learner {PIPELINE}")
    found.check(tunables)
    named = schema is not None if header is None else header
    with Working() as working:
        working.on("Reading the records")
        codes = held_out.encode(task, held_out.read(file, task, header=named))
        working.on(f"Learning ({found.name})")
        note = f"{found.name}: classes of {task.label}"[:LONGEST_NOTE]
        payment = _Payment(ledger, cap, neighbours, simulate, file.stem, note)
        tested = _run(payment, task, codes, test, found, epsilon, tunables)
    facts = _facts(tested, found.name, epsilon, neighbours, simulate, public_test=test is not None)
    if out is not None and isinstance(tested.model, SyntheticModel):
        tested.model.synthetic.to_csv(out)
        facts["synthetic records"] = str(out)
    if as_json:
        typer.echo(json.dumps(facts, ensure_ascii=False))
    else:
        _show(facts, ledger, Console(highlight=False))


def _task(file: Path, schema: Path | None, label: str | None) -> Task:
    from jostle.datasets.labelled import declared
    from jostle.learn.task import Task
    from jostle.schema import Schema

    columns = declared(file.name) if schema is None else Schema.load(schema)
    if columns is None:
        raise BadInput("schema", f"is needed: nothing is known of {file.name}", "describe its columns in a schema file")
    return Task.over(columns, label or list(columns)[-1])


def _run(
    how: _Payment, task: Task, codes: Encoded, test: Path | None, found: Learner, epsilon: str, tunables: dict[str, Any]
) -> Tested:
    import numpy as np

    from jostle.learn import held_out

    draw = np.random.default_rng(None if how.seed is None else [how.seed, 1])  # not what the noise is drawn from
    coins = draw.uniform(size=len(codes[task.label])) < (0.0 if test else held_out.SHARE)
    if how.neighbours == "replace" and "total" in found.tunables:
        tunables["total"] = float(max((~coins).sum(), 1))  # rows of the file, labelled or not: public, and so are the coins
    with ExitStack() as until_done:
        records = _records(how, held_out.source(task, codes, coins), epsilon, until_done)
        if test is None:
            return held_out.learn_and_test(records, task, codes, coins, found, epsilon, **tunables)
        others = held_out.encode(task, held_out.read(test, task))
        model = found.run(records, task, records.grant(epsilon), **tunables)
        right = held_out.right_on(model, task, others)[others[task.label] >= 0]
        return held_out.Tested(model, float(right.mean()) if right.size else 0.0, 0.0)


def _records(how: _Payment, columns: ArrayColumns, epsilon: str, until_done: ExitStack) -> Source:
    import tempfile

    from jostle.kernel.ledger import Ledger
    from jostle.kernel.records import ReleaseRecords, SimulatedRecords

    if how.seed is not None:
        if how.ledger is not None:
            raise BadInput("simulate", "a release cannot be seeded", "leave out either --ledger or --simulate")
        return SimulatedRecords(columns, seed=how.seed, neighbours=how.neighbours, filtered=True)
    place: Path | None = how.ledger
    cap: object = how.cap
    if place is None:
        place = Path(until_done.enter_context(tempfile.TemporaryDirectory(prefix="jostle-"))) / "thrown-away.db"
        cap = exact(epsilon)
    book = until_done.enter_context(Ledger(place))
    account = book.account(how.name, cap=cap, neighbours=how.neighbours)
    return ReleaseRecords(columns, purse=account.purse(), filtered=True, note=how.note)


def _facts(
    tested: Tested, learner: str, epsilon: str, neighbours: str, seed: int | None, *, public_test: bool
) -> dict[str, Any]:
    from jostle.learn.pipeline import SyntheticModel, accuracy_on_synthetic

    facts: dict[str, Any] = {
        "learner": learner,
        "epsilon": float(exact(epsilon)),
        "neighbours": neighbours,
        "simulated": seed is not None,
        "model": tested.model.describe(),
        "accuracy": tested.accuracy,
        "margin": tested.margin,
        "tested on": "the public test file" if public_test else "a fifth of the records, held out",
    }
    if isinstance(tested.model, SyntheticModel):
        facts["accuracy on synthetic records"] = accuracy_on_synthetic(tested.model.synthetic)
    return facts


def _show(facts: dict[str, Any], ledger: Path | None, console: Console) -> None:
    kind = "simulation on public records" if facts["simulated"] else "release"
    console.print(f"[bold]{facts['learner']}[/], ε = {facts['epsilon']:g} ({facts['neighbours']} neighbours), {kind}.")
    console.print(facts["model"], markup=False)
    margin = f" ± {facts['margin']:.1%} for noise" if facts["margin"] else ""
    console.print(f"\n[bold]Accuracy on {facts['tested on']}: {facts['accuracy']:.1%}[/]{margin}")
    if "accuracy on synthetic records" in facts:
        share = facts["accuracy on synthetic records"]
        console.print(f"Accuracy on a fifth of the synthetic records: {share:.1%}. It says little about real ones.")
    if "synthetic records" in facts:
        console.print(f"The synthetic records are in {facts['synthetic records']}: anybody may have them.")
    if not facts["simulated"] and ledger is None:
        console.print("The charge is remembered nowhere: name a --ledger to keep it.")
