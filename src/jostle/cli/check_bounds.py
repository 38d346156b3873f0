"""`jostle check-bounds`: for a small price, what a table's bounds leave out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jostle.cli.delivery import Destination, check_destination, pay_and_deliver
from jostle.cli.table_options import TableOptions, about_a_table
from jostle.cli.terminal import Format, Working


@about_a_table
def check_bounds(
    table: TableOptions,
    epsilon: Annotated[str, typer.Option(help="The privacy budget to spend: a small share, for instance 0.05.")],
    column: Annotated[
        list[str] | None, typer.Option(help="Check only this column; repeat it for several. All share ε.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the counts to this .csv, .parquet, .xlsx or .json file.")] = None,
    form: Annotated[Format, typer.Option("--format", help="What is printed: text, csv or json.")] = "text",
) -> None:
    """About how many rows are left out by max_rows, moved to a bound, not listed or missing; with error bars.

    It costs ε and helps to choose max_rows and bounds. Exit codes are those of `jostle release`.
    """
    from jostle.tables.check_bounds import check_bounds as checked

    to = Destination(out=out, plot=None, form=form, ledger=str(table.ledger))
    check_destination(to, table.data, table.schema)
    with Working() as working:
        working.on("Opening the table")
        private = table.open()
        working.on("Counting rows and drawing noise")
        pay_and_deliver(lambda: checked(private, epsilon=epsilon, columns=column), to, working)
