"""`jostle classify`: from a file of private records to a classifier that can be kept, or to synthetic records."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

from jostle.answers.prices import cap_for, price_of
from jostle.cli.delivery import stopped_orderly
from jostle.cli.model_files import PIPELINE, ModelFiles
from jostle.cli.table_options import DecimalOption, DelimiterOption, EncodingOption, ThousandsOption, cap_of
from jostle.cli.terminal import Working, all_words, tab_or, words
from jostle.kernel.budget import PURE, Price, exact, round_up
from jostle.kernel.errors import BadInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from jostle.kernel.ledger import Account, AccountPurse
    from jostle.learn.held_out import Source, Tested
    from jostle.learn.registry import Learner
    from jostle.learn.task import Task
    from jostle.schema.schema import TextFormat
    from jostle.tables.budget_source import PlannedAccount

LONGEST_NOTE = 200
DEFAULT_NEIGHBOURS = "replace"
NAMED = 5
"""The most attributes of which it is said how far they move probabilities."""

"""What one person may change in a new account, or without a ledger."""


def classify(
    epsilon: Annotated[str | None, typer.Option(help="The privacy budget to spend, for instance 0.1.")] = None,
    delta: Annotated[
        str | None, typer.Option(help="With --epsilon: pay with the ρ that (ε, δ) allows, for instance 1e-6.")
    ] = None,
    rho: Annotated[str | None, typer.Option(help="Instead of ε: the ρ to spend, with Gaussian noise, such as 0.01.")] = None,
    data: Annotated[
        Path | None, typer.Argument(help="The records: a text file, one record per line.", show_default=False)
    ] = None,
    file: Annotated[Path | None, typer.Option(help="The same, by an option.")] = None,
    schema: Annotated[
        Path | None, typer.Option(help="What is publicly known of the columns; built in for adult.data.")
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(help="Whether the first line names the columns; by default yes, if you pass --schema."),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Names of all columns, with commas, for a file whose first line lacks them.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="The column to predict; by default the schema's last.")] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            "--learner", "--algorithm", help="A learner's name; by default Chosen, or Synthetic with --out or --buckets."
        ),
    ] = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    decimal: DecimalOption = None,
    thousands: ThousandsOption = None,
    buckets: Annotated[Path | None, typer.Option(help="A file of buckets; by default they are chosen privately.")] = None,
    neighbours: Annotated[
        str | None,
        typer.Option(help="What one person may change, replace or add_remove; by default the account's."),
    ] = None,
    test: Annotated[Path | None, typer.Option(help="Public records to test with; by default a fifth is held out.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write synthetic records to this file.")] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the model to this .json file, for jostle predict; it runs no code when read.")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Where the charge is recorded: a file, or a postgresql:// URL; by default nowhere.")
    ] = None,
    cap: Annotated[
        str | None,
        typer.Option("--budget", "--cap", help="The total ε that may ever be spent on these data, or ε,δ; first time only."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The account in the ledger; by default the file's name.")] = None,
    note: Annotated[str, typer.Option(help="What it is for, in your own words: the ledger keeps it with the charge.")] = "",
    simulate: Annotated[int | None, typer.Option(help="A seed: the records are public, and nothing is protected.")] = None,
    runs: Annotated[int | None, typer.Option(help="With --simulate: learn this many times for each ε.")] = None,
    epsilons: Annotated[str | None, typer.Option(help="With --simulate: several ε, for instance .1,.5,1.")] = None,
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="What is printed: text or json.")] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Train a private classifier on a file of records, and measure its accuracy on records that it has not seen.

    Exit codes: 0 done, 2 refused, 3 not enough budget, 4 the ledger cannot be reached. 5: done and charged, but the
    synthetic records or the model could not be written to their file, and are printed instead.
    """
    from jostle.answers.answer import charge_facts, in_ledger
    from jostle.kernel.neighbours import Neighbours
    from jostle.kernel.records import ReleaseRecords, SimulatedRecords
    from jostle.learn import get, held_out, several_runs
    from jostle.learn.registry import CHOSEN
    from jostle.learn.synthetic import checked_buckets, read_buckets
    from jostle.tables.budget_source import check_note, legible
    from jostle.tables.engines.files import stem_of

    others = {"out": out, "save": save, "ledger": ledger, "test": test, "epsilon": epsilon if epsilons else None}
    several = _several(epsilon, epsilons, runs, simulate, others | {"delta": delta, "rho": rho})
    price = _price(epsilon, delta, rho) if several is None else Price.of(1)
    file = _one_of(data, file)
    check_note(note)
    learner = learner or (PIPELINE if out or buckets else CHOSEN)
    (task, written), found = _task(file, schema, label, (decimal, thousands)), get(learner)
    written = written.with_settings(delimiter=tab_or(delimiter), encoding=encoding)
    tunables: dict[str, Any] = {}
    if buckets is not None:
        tunables["buckets"] = checked_buckets(task, read_buckets(buckets, task))
    files = ModelFiles(out, save)
    files.check(learner, {"data": file, "schema": schema, "ledger": ledger, "test": test, "buckets": buckets})
    found.check(tunables)
    names = all_words(columns) if columns else None
    named = _names_columns(schema, names, header)
    with stopped_orderly(ledger), Working() as working, ExitStack() as until_done:
        working.on("Reading the records")
        codes = task.encode_records(held_out.read(file, task, header=named, columns=names, form=written))
        working.on(f"Learning ({found.name})")
        if several is not None:
            how = (simulate or 0, neighbours or DEFAULT_NEIGHBOURS, tunables)
            graded = several_runs.graded(task, codes, found, several, runs or 10, *how)
            working.stop()
            typer.echo(json.dumps(graded.facts(), ensure_ascii=False) if as_json or form == "json" else str(graded))
            return
        what = legible(f"{found.name}: classes of {task.label}", LONGEST_NOTE) + (f" ({note})" if note else "")
        account, relation = _payer(ledger, cap, neighbours, simulate, name or stem_of(file))
        held = _held_out(len(codes[task.label]), simulate, public_test=test is not None)
        private = held_out.source(task, codes, held)
        trial = lambda: found.dry_run(task, Neighbours.of(relation), price, tunables)  # noqa: E731 (it is run at most once)
        purse = None if account is None else _purse(account, price, trial, until_done)
        if simulate is None:
            paying = purse or _purse_for_this_run(price, relation, until_done)
            records: Source = ReleaseRecords(private, purse=paying, note=what)
        else:
            records = SimulatedRecords(private, seed=simulate, neighbours=relation)
        if relation == "replace" and "total" in found.tunables:
            tunables["total"] = float(max((~held).sum(), 1))  # rows, labelled or not: public, and so is which are held out
        if test is None:
            tested = held_out.learn_and_test(records, task, found, price, **tunables)
        else:
            tested = _learn_and_test_on(test, names, written, records, task, found, price, tunables)
        charges = () if purse is None else tuple(purse.charges)
        files_written = files.write(tested.model, task, found.name)  # before anything else is worked out or printed
    console = Console(highlight=False, quiet=as_json or form == "json")
    try:
        facts = _facts(tested, task, found.name, price, relation, simulate, public_test=test is not None)
        facts |= {"charge": charge_facts(charges), **files_written.facts}
        if console.quiet:
            typer.echo(json.dumps(facts, ensure_ascii=False))
        _show(facts, in_ledger(charges), console)
    finally:
        files_written.print_lost()
    files_written.leave_if_lost()
    for sentence in files_written.done:
        console.print(sentence, markup=False, soft_wrap=True)


def _names_columns(schema: Path | None, names: list[str] | None, header: bool | None) -> bool:
    """Whether the first line holds the columns' names."""
    if names and header:
        raise BadInput("columns", "are for a file without a header", "leave out either --columns or --header")
    return schema is not None and not names if header is None else header


def _price(epsilon: str | None, delta: str | None, rho: str | None) -> Price:
    if epsilon is None and rho is None:
        raise BadInput("epsilon", "is missing", "pass for instance --epsilon 0.1, or --rho 0.01")
    return Price.of(price_of(epsilon, delta, rho))


def _several(
    epsilon: str | None, epsilons: str | None, runs: int | None, seed: int | None, others: dict[str, Any]
) -> list[Fraction] | None:
    """The ε of several runs; None for a single one. Private records would be charged for each run: it takes public ones."""
    if runs is None and epsilons is None:
        return None
    if seed is None:
        remedy = "pass --simulate 0 if the records are public; private ones are charged for every run"
        raise BadInput("runs", "are for public records", remedy)
    if runs is not None and not 1 <= runs <= 10_000:
        raise BadInput("runs", "must be from 1 to 10,000", "pass for instance --runs 10")
    for name, given in others.items():
        if given is not None:
            raise BadInput(name, "does not go with several runs", "leave it out")
    return [exact(amount) for amount in words(epsilons or epsilon or "0.1,0.5,1")]


def _task(
    file: Path, schema: Path | None, label: str | None, signs: tuple[str | None, str | None]
) -> tuple[Task, TextFormat]:
    """What is to be learned, and how the file is written, by its schema."""
    from jostle.datasets.labelled import declared
    from jostle.learn.task import Task
    from jostle.schema import Schema
    from jostle.tables.opening import with_signs

    columns = declared(file.name) if schema is None else Schema.load(schema)
    if columns is None:
        raise BadInput(
            "schema",
            f"is missing: {file.name} has no built-in schema",
            "describe its columns in a schema file: see jostle schema",
        )
    described = with_signs(Schema(columns), *signs)
    return Task.over(described, label or list(described)[-1]), Schema(columns).text_format


def _one_of(data: Path | None, file: Path | None) -> Path:
    given = data if file is None else file
    if given is None or (data is not None and file is not None):
        raise BadInput("file", "is needed, once", "name the records: jostle classify --epsilon 0.1 adult.data")
    return given


def _payer(
    ledger: str | None, cap: str | None, neighbours: str | None, seed: int | None, name: str
) -> tuple[Account | PlannedAccount | None, str]:
    """What is charged, if anything, and under which neighbours: the requested ones, else the account's, else `replace`."""
    if seed is not None and seed < 0:
        raise BadInput("simulate", "must be a seed of at least 0", "pass for instance --simulate 0")
    if seed is not None and ledger is not None:
        raise BadInput("simulate", "a release cannot be seeded", "leave out either --ledger or --simulate")
    if ledger is None:
        return None, neighbours or DEFAULT_NEIGHBOURS
    from jostle.kernel.neighbours import Neighbours
    from jostle.tables.budget_source import PlannedAccount, account_of, check_agreement, existing_account

    found = existing_account(ledger, name)
    if found is None:
        relation = neighbours or DEFAULT_NEIGHBOURS
        return PlannedAccount(ledger, name, cap_of(cap), Neighbours.of(relation)), relation
    check_agreement(found, None if neighbours is None else Neighbours.of(neighbours).relation, None)
    kept = found.neighbours.relation
    return account_of(found.ledger, name, cap_of(cap), Neighbours.of(kept), None), kept


def _purse(
    account: Account | PlannedAccount, price: Price, trial: Callable[[], None], until_done: ExitStack
) -> AccountPurse:
    """The account's purse. An account that is not there yet is made after a trial: what is refused leaves nothing behind."""
    from jostle.tables.budget_source import PlannedAccount

    if isinstance(account, PlannedAccount):
        trial()
        account = account.made_for(price)
    until_done.enter_context(account.ledger)
    return account.purse()


def _purse_for_this_run(price: Price, neighbours: str, until_done: ExitStack) -> AccountPurse:
    import tempfile

    from jostle.kernel.ledger import Ledger

    folder = until_done.enter_context(tempfile.TemporaryDirectory(prefix="jostle-"))
    book = until_done.enter_context(Ledger(Path(folder) / "thrown-away.db"))
    return book.account("records", cap=cap_for(price), neighbours=neighbours).purse()


def _held_out(records: int, seed: int | None, *, public_test: bool) -> NDArray[np.bool_]:
    """Which records are held out for the test, by coins that the noise does not share."""
    import numpy as np

    from jostle.learn.held_out import SHARE

    draw = np.random.default_rng(None if seed is None else [seed, 1])
    return draw.uniform(size=records) < (0.0 if public_test else SHARE)


def _learn_and_test_on(
    file: Path,
    columns: list[str] | None,
    form: TextFormat,
    records: Source,
    task: Task,
    learner: Learner,
    price: Price,
    tunables: dict[str, Any],
) -> Tested:
    from jostle.learn import held_out

    others = task.encode_records(held_out.read(file, task, columns=columns, form=form))
    learner.dry_run(task, records.neighbours, price, tunables)
    model = learner.run(records, task, records.grant(price), **tunables)
    right = held_out.right_on(model, task, others)[others[task.label] >= 0]
    accuracy = float(right.mean()) if right.size else 0.0
    return held_out.Tested(model, accuracy, 0.0, held_out.of_sample(accuracy, right.size))


def _facts(
    tested: Tested, task: Task, learner: str, price: Price, neighbours: str, seed: int | None, *, public_test: bool
) -> dict[str, Any]:
    from jostle.learn.importances import importances
    from jostle.learn.synthetic import SyntheticModel, accuracy_on_synthetic

    facts: dict[str, Any] = {
        "learner": learner,
        "epsilon" if price.measure == PURE else "rho": round_up(price.amount),
        "neighbours": neighbours,
        "simulated": seed is not None,
        "model": tested.model.describe(),
        "accuracy": tested.accuracy,
        "margin": tested.margin,
        "margin on other records": tested.on_others,
        "tested on": "the public test file" if public_test else "a fifth of the records, held out",
    }
    if isinstance(tested.model, SyntheticModel):
        facts["accuracy on synthetic records"] = accuracy_on_synthetic(tested.model.synthetic)
    facts["importances"] = {name: round(moved, 4) for name, moved in importances(tested.model, task).items()}
    return facts


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _show(facts: dict[str, Any], charged: str, console: Console) -> None:
    whom = "each record" if facts["neighbours"] == "add_remove" else "the values of each record"
    kind = "a simulation, which protects nobody" if facts["simulated"] else f"protects {whom}"
    paid = f"ρ = {facts['rho']:g}" if "rho" in facts else f"ε = {facts['epsilon']:g}"
    margin = f" (± {_percent(facts['margin'])} for noise)" if facts["margin"] else ""
    others = f"On other records like these: ± {_percent(min(facts['margin on other records'], 1.0))}, with 95 % confidence."
    console.print(f"[bold]Accuracy on {facts['tested on']}: {_percent(facts['accuracy'])}[/]{margin}")
    console.print(others)
    if "accuracy on synthetic records" in facts:
        share = _percent(facts["accuracy on synthetic records"])
        console.print(f"Accuracy on a fifth of the synthetic records: {share}. It says little about real ones.")
    console.print(f"{facts['learner']} at {paid}: {kind}.\n")
    console.print(facts["model"], markup=False)
    moving = [f"{name} ({_percent(moved)})" for name, moved in facts["importances"].items() if moved >= 0.001][:NAMED]
    if moving:
        console.print(
            f"Probabilities move most with {', '.join(moving)}: the mean, if its value is drawn anew.", markup=False
        )
    console.print()
    if charged:
        console.print(charged, markup=False, soft_wrap=True)
    elif not facts["simulated"]:
        console.print("The charge is recorded nowhere. Pass --ledger to keep it.")
