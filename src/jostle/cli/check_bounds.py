"""`jostle check-bounds`: for a small price, what a table's bounds leave out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from jostle.cli.delivery import Destination, deliver, say_stopped
from jostle.cli.running import stoppable
from jostle.cli.terminal import STOPPED, Format, Working, all_words, check_apart, check_writable, tab_or
from jostle.kernel.errors import BadInput
from jostle.tables.caps import cap_of


def check_bounds(
    data: Annotated[str, typer.Argument(help="CSV, TSV, Parquet, Excel, DuckDB or SQLite file, or postgresql:// URL.")],
    schema: Annotated[Path, typer.Option(help="What is publicly known about the columns: see `jostle schema`.")],
    epsilon: Annotated[str, typer.Option(help="The privacy budget to spend: a small share, for instance 0.05.")],
    ledger: Annotated[str, typer.Option(help="Where charges are recorded: a file, or a postgresql:// URL.")],
    column: Annotated[
        list[str] | None, typer.Option(help="Check only this column; repeat it for several. All share ε.")
    ] = None,
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
    decimal: Annotated[str | None, typer.Option(help="The decimal sign of numbers in texts: , or .")] = None,
    thousands: Annotated[str | None, typer.Option(help="The mark between thousands in texts, for instance .")] = None,
    note: Annotated[str, typer.Option(help="What it is for, in your own words: the ledger keeps it with the charge.")] = "",
    out: Annotated[Path | None, typer.Option(help="Write the counts to this .csv, .parquet, .xlsx or .json file.")] = None,
    form: Annotated[Format, typer.Option("--format", help="What is printed: text, csv or json.")] = "text",
) -> None:
    """About how many rows are left out by max_rows, moved to a bound, not listed or missing; with error bars.

    It costs ε and helps to choose max_rows and bounds. Exit codes are those of `jostle release`.
    """
    from jostle.schema.rows import FILES, check_writer
    from jostle.tables.check_bounds import check_bounds as checked
    from jostle.tables.opening import open as open_table

    if out is not None:
        if out.suffix not in FILES:
            raise BadInput("out", f"{out.name} does not end in {' or '.join(FILES)}", "rename it")
        check_writable("out", out)
        check_writer(out, "out")
        check_apart("out", out, {"data": data, "schema": schema, "ledger": ledger})
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
            decimal=decimal,
            thousands=thousands,
        )
        working.on("Counting rows and drawing noise")
        with stoppable():
            try:
                found = checked(private, epsilon=epsilon, columns=column)
            except KeyboardInterrupt:
                say_stopped(ledger)
                raise typer.Exit(STOPPED) from None
            status = deliver(found, Destination(out=out, plot=None, form=form, ledger=ledger), working)
    if status:
        raise typer.Exit(status)
