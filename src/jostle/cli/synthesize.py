"""`jostle synthesize`: from a private table to a synthetic one, with the charge in a ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.delivery import Destination, check_destination, pay_and_deliver
from jostle.cli.table_options import (
    DeltaOption,
    RhoOption,
    TableOptions,
    WhereOption,
    WholePriceOption,
    about_a_table,
    stated_price,
)
from jostle.cli.terminal import Format, Working, words
from jostle.kernel.errors import BadInput


@about_a_table
def synthesize(
    table: TableOptions,
    out: Annotated[
        Path | None, typer.Option(help="Write the synthetic records to this .csv, .parquet, .xlsx or .json file.")
    ] = None,
    epsilon: WholePriceOption = None,
    delta: DeltaOption = None,
    rho: RhoOption = None,
    only: Annotated[str | None, typer.Option(help="Only these columns, with commas; by default all of the schema.")] = None,
    rows: Annotated[int | None, typer.Option(help="How many records; by default about as many as the table has.")] = None,
    label: Annotated[str | None, typer.Option(help="A column to be predicted: pairs with it matter most.")] = None,
    strategy: Annotated[
        str | None, typer.Option(help="How to choose what is measured, such as tree; by default jostle picks.")
    ] = None,
    where: WhereOption = None,
    data_version: Annotated[
        str | None,
        typer.Option(
            help="Which state of the data this is, such as 2026-10. No synthetic table is used again.", show_default=False
        ),
    ] = None,
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
    price = stated_price(epsilon, delta, rho)
    if out is None and form == "text":
        raise BadInput("out", "is missing: there may be many records", "name a file for them, or use --format csv")
    to = Destination(out=out, plot=plot, form=form, ledger=str(table.ledger))
    check_destination(to, table.data, table.schema)
    with Working() as working:
        working.on("Opening the table")
        private = table.open(version=data_version)
        kept = private if where is None else private.where(where)
        question = kept.ask_synthesis(*words(only or ""), rows=rows, label=label, strategy=strategy)
        working.on("Measuring, fitting and drawing records")
        pay_and_deliver(lambda: question.release(epsilon=price), to, working)
