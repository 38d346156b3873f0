"""`jostle classify`: from a file of private records to a classifier, by way of a synthetic table or by any other learner."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

from jostle.cli.running import stopped_orderly
from jostle.cli.terminal import UNWRITTEN, Working, all_words, check_apart, check_writable
from jostle.kernel.budget import exact
from jostle.kernel.errors import BadInput

if TYPE_CHECKING:
    from jostle.kernel.columns import ArrayColumns
    from jostle.kernel.events import Event
    from jostle.kernel.ledger import AccountPurse
    from jostle.learn.held_out import Encoded, Source, Tested
    from jostle.learn.registry import Learner
    from jostle.learn.task import Task

PIPELINE = "Synthetic"
LONGEST_NOTE = 200
USUAL = "replace"
"""What one person may change, if nobody says."""


@dataclass(frozen=True)
class _Payment:
    """Where the charge goes."""

    purse: AccountPurse | None
    """None where nothing remembers it."""

    neighbours: str
    seed: int | None
    note: str


@dataclass(frozen=True)
class _Asked:
    """What is to be learned from which records, and what to test it on."""

    task: Task
    codes: Encoded
    columns: list[str] | None
    test: Path | None
    learner: Learner
    epsilon: str
    tunables: dict[str, Any]


def classify(
    epsilon: Annotated[str, typer.Option(help="The privacy budget, for instance 0.1; all of it is spent.")],
    data: Annotated[
        Path | None, typer.Argument(help="The records: a text file, one a line, with commas.", show_default=False)
    ] = None,
    file: Annotated[Path | None, typer.Option(help="The same, by an option.")] = None,
    schema: Annotated[Path | None, typer.Option(help="What is publicly known of the columns; adult.data is known.")] = None,
    header: Annotated[
        bool | None, typer.Option(help="Whether the first line names the columns; it does, except in files that are known.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Names of all columns of the file, with commas, where no line has them.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="The column to predict; the schema's last unless said.")] = None,
    learner: Annotated[
        str, typer.Option("--learner", "--algorithm", help="Synthetic (the pipeline), Chosen, or another learner's name.")
    ] = PIPELINE,
    buckets: Annotated[Path | None, typer.Option(help="Declared buckets; chosen privately unless said.")] = None,
    neighbours: Annotated[
        str | None, typer.Option(help="What one person may change: replace, or add_remove; the account's, else replace.")
    ] = None,
    test: Annotated[Path | None, typer.Option(help="Public records to test with; else a fifth is held out.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the synthetic records to this file.")] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Where the charge is written down: a file, or a postgresql:// URL; else nowhere.")
    ] = None,
    cap: Annotated[
        str | None,
        typer.Option("--budget", "--cap", help="The most ε that may ever be spent on these data; the first time."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The account in the ledger; the file's name unless said.")] = None,
    note: Annotated[str, typer.Option(help="What it is for, in your own words: the ledger keeps it with the charge.")] = "",
    simulate: Annotated[int | None, typer.Option(help="A seed: the records are public, and nothing is protected.")] = None,
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="What is printed: text or json.")] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Train a private classifier on a file of records, and tell how good it is on records that it has not seen.

    Exit codes: 0 done, 2 asked wrongly, 3 not enough budget, 4 the ledger cannot be reached. 5: done and charged, but the
    synthetic records could not be written to their file, and are printed instead.
    """
    from jostle.answers.release import charge_facts, in_ledger
    from jostle.learn import get, held_out
    from jostle.learn.pipeline import read_buckets
    from jostle.learn.synthetic import checked_buckets
    from jostle.tables.budget_source import check_note, legible

    exact(epsilon)
    file = _one_of(data, file)
    check_note(note)
    task, found = _task(file, schema, label), get(learner)
    tunables: dict[str, Any] = {}
    if buckets is not None:
        tunables["buckets"] = checked_buckets(task, read_buckets(buckets, task))
    if out is not None:
        if learner != PIPELINE:
            raise BadInput(
                "out", "needs the pipeline: it is for synthetic records", f"leave it out, or use --learner {PIPELINE}"
            )
        check_writable("out", out)
        check_apart("out", out, {"data": file, "schema": schema, "ledger": ledger, "test": test, "buckets": buckets})
    found.check(tunables)
    names = all_words(columns) if columns else None
    if names and header:
        raise BadInput("columns", "are for a file without a line for them", "leave out either --columns or --header")
    named = schema is not None and not names if header is None else header
    with stopped_orderly(ledger), Working() as working, ExitStack() as until_done:
        working.on("Reading the records")
        codes = held_out.encode(task, held_out.read(file, task, header=named, columns=names))
        working.on(f"Learning ({found.name})")
        what = legible(f"{found.name}: classes of {task.label}", LONGEST_NOTE) + (f" ({note})" if note else "")
        payment = _payment(ledger, cap, neighbours, simulate, name or file.stem, what, until_done)
        asked = _Asked(task, codes, names, test, found, epsilon, tunables)
        tested, charges = _run(payment, asked, until_done)
        saved = out is None or _saved(tested.model, out)  # before anything else is worked out or printed
    console = Console(highlight=False, quiet=as_json or form == "json")
    try:
        facts = _facts(tested, found.name, epsilon, payment.neighbours, simulate, public_test=test is not None)
        facts["charge"] = charge_facts(charges)
        if out is not None and saved:
            facts["synthetic records"] = str(out)
        if console.quiet:
            typer.echo(json.dumps(facts, ensure_ascii=False))
        _show(facts, in_ledger(charges), console)
    finally:
        if not saved:
            _print_records(tested.model)
    if not saved:
        typer.echo(f"{out} could not be written. Its records were charged, and are on standard output: keep them.", err=True)
        raise typer.Exit(UNWRITTEN)
    if out is not None:
        console.print(f"The synthetic records are in {out}: anybody may have them.", markup=False)


def _print_records(model: Any) -> None:
    typer.echo(model.synthetic.to_frame().to_csv(index=False), nl=False)


def _saved(model: Any, out: Path) -> bool:
    try:
        model.synthetic.to_csv(out)
    except OSError:
        return False
    return True


def _task(file: Path, schema: Path | None, label: str | None) -> Task:
    from jostle.datasets.labelled import declared
    from jostle.learn.task import Task
    from jostle.schema import Schema

    columns = declared(file.name) if schema is None else Schema.load(schema)
    if columns is None:
        raise BadInput("schema", f"is needed: nothing is known of {file.name}", "describe its columns in a schema file")
    return Task.over(columns, label or list(columns)[-1])


def _one_of(data: Path | None, file: Path | None) -> Path:
    given = data if file is None else file
    if given is None or (data is not None and file is not None):
        raise BadInput("file", "is needed, once", "name the records: jostle classify --epsilon 0.1 adult.data")
    return given


def _payment(
    ledger: str | None,
    cap: str | None,
    neighbours: str | None,
    seed: int | None,
    name: str,
    note: str,
    until_done: ExitStack,
) -> _Payment:
    """Where the charge goes, and under which neighbours: as was said, else as the account is kept, else `replace`."""
    if seed is not None or ledger is None:
        if seed is not None and seed < 0:
            raise BadInput("simulate", "must be a seed of at least 0", "pass for instance --simulate 0")
        if seed is not None and ledger is not None:
            raise BadInput("simulate", "a release cannot be seeded", "leave out either --ledger or --simulate")
        return _Payment(None, neighbours or USUAL, seed, note)
    from jostle.kernel.neighbours import Neighbours
    from jostle.tables.accounts import account_of, ledger_at

    book = until_done.enter_context(ledger_at(ledger))
    kept: dict[str, str] = {account.name: account.neighbours.relation for account in book.accounts()}
    relation = kept.get(name, USUAL) if neighbours is None else neighbours
    return _Payment(account_of(book, name, cap, Neighbours.of(relation), None).purse(), relation, None, note)


def _run(how: _Payment, asked: _Asked, until_done: ExitStack) -> tuple[Tested, tuple[Event, ...]]:
    import numpy as np

    from jostle.learn import held_out
    from jostle.learn.dry_run import rehearse

    task, codes, tunables = asked.task, asked.codes, dict(asked.tunables)
    draw = np.random.default_rng(None if how.seed is None else [how.seed, 1])  # not what the noise is drawn from
    coins = draw.uniform(size=len(codes[task.label])) < (0.0 if asked.test else held_out.SHARE)
    if how.neighbours == "replace" and "total" in asked.learner.tunables:
        tunables["total"] = float(max((~coins).sum(), 1))  # rows of the file, labelled or not: public, and so are the coins
    records = _records(how, held_out.source(task, codes, coins), asked.epsilon, until_done)
    if asked.test is None:
        tested = held_out.learn_and_test(records, task, codes, coins, asked.learner, asked.epsilon, **tunables)
    else:
        others = held_out.encode(task, held_out.read(asked.test, task, columns=asked.columns))
        rehearse(asked.learner, task, records.neighbours, asked.epsilon, tunables)
        model = asked.learner.run(records, task, records.grant(asked.epsilon), **tunables)
        right = held_out.right_on(model, task, others)[others[task.label] >= 0]
        tested = held_out.Tested(model, float(right.mean()) if right.size else 0.0, 0.0)
    return tested, () if how.purse is None else tuple(how.purse.charges)


def _records(how: _Payment, columns: ArrayColumns, epsilon: str, until_done: ExitStack) -> Source:
    from jostle.kernel.records import ReleaseRecords, SimulatedRecords

    if how.seed is not None:
        return SimulatedRecords(columns, seed=how.seed, neighbours=how.neighbours, filtered=True)
    purse = how.purse or _thrown_away(epsilon, how.neighbours, until_done)
    return ReleaseRecords(columns, purse=purse, filtered=True, note=how.note)


def _thrown_away(epsilon: str, neighbours: str, until_done: ExitStack) -> AccountPurse:
    import tempfile

    from jostle.kernel.ledger import Ledger

    folder = until_done.enter_context(tempfile.TemporaryDirectory(prefix="jostle-"))
    book = until_done.enter_context(Ledger(Path(folder) / "thrown-away.db"))
    return book.account("records", cap=exact(epsilon), neighbours=neighbours).purse()


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


def _show(facts: dict[str, Any], charged: str, console: Console) -> None:
    kind = "simulation on public records" if facts["simulated"] else "release"
    console.print(f"[bold]{facts['learner']}[/], ε = {facts['epsilon']:g} ({facts['neighbours']} neighbours), {kind}.")
    console.print(facts["model"], markup=False)
    margin = f" ± {facts['margin']:.1%} for noise" if facts["margin"] else ""
    console.print(f"\n[bold]Accuracy on {facts['tested on']}: {facts['accuracy']:.1%}[/]{margin}")
    if "accuracy on synthetic records" in facts:
        share = facts["accuracy on synthetic records"]
        console.print(f"Accuracy on a fifth of the synthetic records: {share:.1%}. It says little about real ones.")
    if charged:
        console.print(charged, markup=False, soft_wrap=True)
    elif not facts["simulated"]:
        console.print("The charge is remembered nowhere: name a --ledger to keep it.")
