"""`jostle synthesize`: from a private table to a synthetic one, with the charge in a ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.delivery import Destination
from jostle.cli.release import check_destination, paid
from jostle.cli.running import stoppable
from jostle.cli.table_options import (
    BudgetOption,
    ColumnsOption,
    DataArgument,
    DecimalOption,
    DelimiterOption,
    EncodingOption,
    EngineOption,
    LedgerOptionOrNone,
    NameOption,
    NeighboursOption,
    NoteOption,
    QuotedLineBreaksOption,
    RhoOption,
    SchemaOption,
    SheetOption,
    TableOption,
    ThousandsOption,
    UnitOption,
    ViewOption,
    cap_of,
    open_private,
)
from jostle.cli.terminal import Format, Working, words
from jostle.kernel.errors import BadInput


def synthesize(
    data: DataArgument,
    schema: SchemaOption,
    ledger: LedgerOptionOrNone = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the synthetic records to this .csv, .parquet, .xlsx or .json file.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="The privacy budget to spend, for instance 1.")] = None,
    delta: Annotated[
        str | None, typer.Option(help="With --epsilon: pay with the ρ that (ε, δ) allows, for instance 1e-9; less noise.")
    ] = None,
    rho: RhoOption = None,
    only: Annotated[str | None, typer.Option(help="Only these columns, with commas; by default all of the schema.")] = None,
    rows: Annotated[int | None, typer.Option(help="How many records; by default about as many as the table has.")] = None,
    label: Annotated[str | None, typer.Option(help="A column to be predicted: pairs with it matter most.")] = None,
    where: Annotated[str | None, typer.Option(help="Only rows where this is true, for instance \"sex = 'F'\".")] = None,
    budget: BudgetOption = None,
    unit: UnitOption = None,
    neighbours: NeighboursOption = None,
    name: NameOption = None,
    table: TableOption = None,
    columns: ColumnsOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    decimal: DecimalOption = None,
    thousands: ThousandsOption = None,
    quoted_line_breaks: QuotedLineBreaksOption = None,
    sheet: SheetOption = None,
    view: ViewOption = None,
    engine: EngineOption = "duckdb",
    note: NoteOption = "",
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
    from jostle.answers.prices import price_of

    if (epsilon is None) == (rho is None):
        raise BadInput("epsilon", "is the price, and so is rho", "pass --epsilon 1, --epsilon 1 --delta 1e-9, or --rho 0.01")
    if out is None and form == "text":
        raise BadInput("out", "is missing: there may be many records", "name a file for them, or use --format csv")
    price = price_of(epsilon, delta, rho)
    to = Destination(out=out, plot=plot, form=form, ledger=str(ledger))
    check_destination(to, ledger, data, schema)
    with Working() as working:
        working.on("Opening the table")
        private = open_private(
            data,
            schema=schema,
            ledger=ledger,
            budget=cap_of(budget, None),
            unit=unit,
            neighbours=neighbours,
            name=name,
            table=table,
            columns=columns,
            note=note,
            delimiter=delimiter,
            encoding=encoding,
            decimal=decimal,
            thousands=thousands,
            quoted_line_breaks=quoted_line_breaks,
            sheet=sheet,
            view=view,
            engine=engine,
        )
        kept = private if where is None else private.where(where)
        question = kept.ask_synthesis(*words(only or ""), rows=rows, label=label)
        working.on("Measuring, fitting and drawing records")
        with stoppable():
            status = paid(question, to, working, epsilon=price)
    if status:
        raise typer.Exit(status)
