"""`jostle run`: a program in the thesis' notation, trained on public data and run on private counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from jostle.cli.delivery import safe_to_show, say_stopped
from jostle.cli.table_options import cap_of
from jostle.cli.terminal import STOPPED, UNWRITTEN, Working, check_apart, check_writable
from jostle.kernel.errors import BadInput

MOST_CELLS = 4096
"""The most cells per axis of a comparison."""


def run(
    program: Annotated[Path, typer.Argument(help="A .jostle file: options, metafeatures and a choice maker.")],
    epsilon: Annotated[str, typer.Option(help="The privacy budget to spend, for instance 0.1.")],
    on: Annotated[Path | None, typer.Option(help="Private counts over a line or a grid: an .npz or .npy file.")] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            help="In place of --on: what each option errs on the program's public data over this domain, for instance 64 or "
            "32x32. Nothing private is read, and nothing charged."
        ),
    ] = None,
    ledger: Annotated[str, typer.Option(help="Where charges are recorded: a file, or a postgresql:// URL.")] = "budget.db",
    budget: Annotated[
        str | None, typer.Option(help="The total ε that may ever be spent on these data; first time only.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The account in the ledger; by default the name of the file.")] = None,
    array: Annotated[str | None, typer.Option(help="Which array of the file, if it has several.")] = None,
    queries: Annotated[
        str | None, typer.Option(help="identity, prefix or rectangles; by default prefix on a line, rectangles on a grid.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="The folder of public shapes; by default, JOSTLE_DATA names it.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the answers to this .csv or .json file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print answers and the trace for a script.")] = False,
) -> None:
    """Run a program in the notation of the Jostle thesis: train its choice maker on public data, then choose privately.

    Dots in the program's training set stand for all public shapes that are here. Of the private counts, only the number of
    cells is looked at before the account is charged. Without --budget, a new account may spend this ε, and no more.
    Exit codes are those of `jostle release`. With --compare, the options are compared on the public data, and that is all.
    """
    from jostle.choice import program_data, programs
    from jostle.schema.files import check_no_database
    from jostle.tables.budget_source import ledger_at

    if (on is None) == (compare is None):
        raise BadInput(
            "on, compare", "one of them is needed", "pass --on counts.npz, or --compare 32x32 to look at public data"
        )
    check_no_database(program, "program")
    try:
        text = program.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise BadInput("program", f"{program} cannot be read as text", "name a .jostle file") from None
    if out is not None:
        if out.suffix not in (".csv", ".json"):
            raise BadInput("out", f"{out.name} does not end in .csv or .json", "rename it")
        check_writable("out", out)
        check_apart("out", out, {"data": on, "program": program, "ledger": ledger})
    read = programs.read(text)
    if on is None:
        _compare(read, _domain(compare), epsilon, queries, data, as_json=as_json)
        return
    counts = program_data.private_counts(on, array)
    asked = program_data.queries_of(queries, counts.ndim)
    public, notes = program_data.training_databases(read, counts.shape, data)
    for note in (*read.notes, *notes):
        typer.echo(f"Note: {note}.", err=True)
    with Working() as working, ledger_at(ledger) as book:
        account = _account(book, name or on.stem, budget, epsilon)
        working.on(f"Training on {len(public)} public databases")
        chooser = read.choice_maker(trained_on=public, queries=asked, epsilon=epsilon)
        working.on("Choosing and drawing noise")
        try:
            answers = chooser.release(counts, asked(counts.shape), epsilon=epsilon, account=account)
        except KeyboardInterrupt:
            say_stopped(ledger)
            raise typer.Exit(STOPPED) from None
        left = account.remaining
    _show(answers, chooser.trace, out, as_json, f"{safe_to_show(ledger)}, account {account.name}: {float(left):g} left")


def _domain(text: str | None) -> tuple[int, ...]:
    """The cells along each axis.

    >>> _domain("32x16")
    (32, 16)
    """
    sides = (text or "").split("x")
    if not 1 <= len(sides) <= 2 or not all(side.isdecimal() and 2 <= int(side) <= MOST_CELLS for side in sides):
        raise BadInput("compare", f"{text!r} is no domain", "write for instance 64 or 32x32")
    return tuple(map(int, sides))


def _compare(
    read: Any, domain: tuple[int, ...], epsilon: str, queries: str | None, data: Path | None, *, as_json: bool
) -> None:
    """What each option of the program errs on each public database: a table, the least error in bold."""
    from rich.table import Table

    from jostle.choice import program_data

    asked = program_data.queries_of(queries, len(domain))
    public, notes = program_data.training_databases(read, domain, data)
    for note in (*read.notes, *notes):
        typer.echo(f"Note: {note}.", err=True)
    with Working() as working:
        working.on(f"Running every option on {len(public)} public databases")
        found = read.choice_maker(trained_on=public, queries=asked, epsilon=epsilon).outcomes
    if as_json:
        rows = [
            {"database": one.name, "errors": dict(zip(found.options, map(float, row), strict=True))}
            for one, row in zip(found.databases, found.losses, strict=True)
        ]
        typer.echo(json.dumps({"comparison": rows, "failed": found.failed}, ensure_ascii=False))
        return
    table = Table("public data, records", *found.options, title="Error per answer (root mean square)")
    for one, row in zip(found.databases, found.losses, strict=True):
        shown = [f"[bold]{error:.3g}[/bold]" if error == row.min() else f"{error:.3g}" for error in row]
        table.add_row(one.name.replace(" at ", ", "), *shown)
    Console(highlight=False).print(table)


def _account(book: Any, name: str, budget: str | None, epsilon: str) -> Any:
    """The account to charge; a new one may spend no more than is asked for, unless --budget says so."""
    if budget is None and name not in (account.name for account in book.accounts()):
        typer.echo(f"Note: the new account {name!r} has a total budget of {epsilon}: this run uses all of it.", err=True)
        budget = epsilon
    return book.account(name, cap=cap_of(budget))


def _show(answers: Any, trace: Any, out: Path | None, as_json: bool, where: str) -> None:
    """Answers go to the file first; if it cannot be written, they are printed."""
    values = [float(value) for value in answers]
    document = json.dumps({"answers": values, "trace": json.loads(trace.dumps())}, ensure_ascii=False)
    table = "query,answer\n" + "".join(f"{at},{value:.6g}\n" for at, value in enumerate(values))
    failed = False
    if out is not None:
        try:
            out.write_text(document + "\n" if out.suffix == ".json" else table, "utf-8")
        except OSError as error:
            failed = True
            typer.echo(
                f"jostle: {out} could not be written: {error.strerror}. The answers were charged, and follow.", err=True
            )
    if as_json:
        typer.echo(document)
    elif out is None or failed:
        typer.echo(table, nl=False)
    if not as_json:
        Console(highlight=False).print(trace)
        typer.echo(f"The charge is in {where}.")
    if failed:
        raise typer.Exit(UNWRITTEN)
