"""`jostle check-bounds`: for a small price, what a table's bounds leave out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.delivery import Destination, deliver, say_stopped
from jostle.cli.release import check_destination
from jostle.cli.running import stoppable
from jostle.cli.table_options import (
    BudgetOption,
    ColumnsOption,
    DataArgument,
    DecimalOption,
    DelimiterOption,
    EncodingOption,
    EngineOption,
    LedgerOption,
    NameOption,
    NeighboursOption,
    NoteOption,
    QuotedLineBreaksOption,
    SchemaOption,
    SheetOption,
    TableOption,
    ThousandsOption,
    UnitOption,
    ViewOption,
    cap_of,
    open_private,
)
from jostle.cli.terminal import STOPPED, Format, Working


def check_bounds(
    data: DataArgument,
    schema: SchemaOption,
    epsilon: Annotated[str, typer.Option(help="The privacy budget to spend: a small share, for instance 0.05.")],
    ledger: LedgerOption,
    column: Annotated[
        list[str] | None, typer.Option(help="Check only this column; repeat it for several. All share ε.")
    ] = None,
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
    out: Annotated[Path | None, typer.Option(help="Write the counts to this .csv, .parquet, .xlsx or .json file.")] = None,
    form: Annotated[Format, typer.Option("--format", help="What is printed: text, csv or json.")] = "text",
) -> None:
    """About how many rows are left out by max_rows, moved to a bound, not listed or missing; with error bars.

    It costs ε and helps to choose max_rows and bounds. Exit codes are those of `jostle release`.
    """
    from jostle.tables.check_bounds import check_bounds as checked

    to = Destination(out=out, plot=None, form=form, ledger=ledger)
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
        working.on("Counting rows and drawing noise")
        with stoppable():
            try:
                found = checked(private, epsilon=epsilon, columns=column)
            except KeyboardInterrupt:
                say_stopped(ledger)
                raise typer.Exit(STOPPED) from None
            status = deliver(found, to, working)
    if status:
        raise typer.Exit(status)
