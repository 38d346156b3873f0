"""`jostle synthesize`: from a private table to a synthetic one, with the charge in a ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from jostle.cli.delivery import Destination
from jostle.cli.release import check_destination, paid
from jostle.cli.running import stoppable
from jostle.cli.terminal import Format, Working, all_words, tab_or, words
from jostle.kernel.errors import BadInput
from jostle.tables.caps import cap_of


def synthesize(
    data: Annotated[str, typer.Argument(help="CSV, TSV, Parquet, Excel, DuckDB or SQLite file, or postgresql:// URL.")],
    schema: Annotated[Path, typer.Option(help="What is publicly known about the columns: see `jostle schema`.")],
    ledger: Annotated[str | None, typer.Option(help="Where charges are recorded: a file, or a postgresql:// URL.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the synthetic records to this .csv, .parquet, .xlsx or .json file.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="The privacy budget to spend, for instance 1.")] = None,
    delta: Annotated[
        str | None, typer.Option(help="With --epsilon: pay with the ρ that (ε, δ) allows, for instance 1e-9; less noise.")
    ] = None,
    rho: Annotated[str | None, typer.Option(help="Instead of ε: the ρ to spend, with Gaussian noise, such as 0.01.")] = None,
    only: Annotated[str | None, typer.Option(help="Only these columns, with commas; by default all of the schema.")] = None,
    rows: Annotated[int | None, typer.Option(help="How many records; by default about as many as the table has.")] = None,
    label: Annotated[str | None, typer.Option(help="A column to be predicted: pairs with it matter most.")] = None,
    where: Annotated[str | None, typer.Option(help="Only rows where this is true, for instance \"sex = 'F'\".")] = None,
    budget: Annotated[
        str | None, typer.Option(help="The total ε that may ever be spent on these data, or ε,δ as 1,1e-6; first time only.")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(help="Protect persons, not rows: column:max_rows, such as person:3. The account remembers it."),
    ] = None,
    neighbours: Annotated[
        Literal["add_remove", "replace"] | None,
        typer.Option(help="What one person may change: add_remove, or replace; by default the account's, or add_remove."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The account in the ledger; by default the file's or the table's name.")
    ] = None,
    table: Annotated[str | None, typer.Option(help="Which table of a database.")] = None,
    columns: Annotated[str | None, typer.Option(help="Names of columns, with commas, for a file without a header.")] = None,
    delimiter: Annotated[
        str | None, typer.Option(help='The sign between fields of a text file, for instance ";"; a tab is "\\t".')
    ] = None,
    encoding: Annotated[str | None, typer.Option(help="The encoding of a text file, for instance latin-1.")] = None,
    sheet: Annotated[str | None, typer.Option(help="Which sheet of a workbook.")] = None,
    note: Annotated[str, typer.Option(help="What it is for, in your own words: the ledger keeps it with the charge.")] = "",
    plot: Annotated[
        Path | None, typer.Option(help="Draw how well pairs of columns are known into this .html or .png file.")
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="What is printed: text, csv or json.")] = "text",
) -> None:
    """Release a synthetic table: records that belong to nobody, with all columns of a private table.

    Exit codes: 0 done, 2 refused, 3 not enough budget, 4 the data, the engine or the ledger cannot be reached, 130 stopped,
    1 a fault in a program: the ledger shows what was charged. 5: released and charged, but a file could not be written; the
    message says where the records are.
    """
    from jostle.tables.opening import open as open_table
    from jostle.tables.synthesis import price_of

    if (epsilon is None) == (rho is None):
        raise BadInput("epsilon", "is the price, and so is rho", "pass --epsilon 1, --epsilon 1 --delta 1e-9, or --rho 0.01")
    if out is None and form == "text":
        raise BadInput("out", "is missing: there may be many records", "name a file for them, or use --format csv")
    price = price_of(epsilon, delta, rho)
    to = Destination(out=out, plot=plot, form=form, ledger=str(ledger))
    check_destination(to, ledger, data, schema)
    with Working() as working:
        working.on("Opening the table")
        private = open_table(
            data,
            schema=schema,
            ledger=ledger,
            budget=cap_of(budget, None),
            unit=unit,
            neighbours=neighbours,
            name=name,
            table=table,
            columns=all_words(columns) if columns else None,
            note=note,
            delimiter=tab_or(delimiter),
            encoding=encoding,
            sheet=sheet,
        )
        kept = private if where is None else private.where(where)
        question = kept.ask_synthesis(*words(only or ""), rows=rows, label=label)
        working.on("Measuring, fitting and drawing records")
        with stoppable():
            status = paid(question, to, working, epsilon=price)
    if status:
        raise typer.Exit(status)
