"""The options that commands about a private table share, and how a table is opened with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from jostle.cli.terminal import all_words, tab_or
from jostle.kernel.errors import BadInput

if TYPE_CHECKING:
    from jostle.tables.table import Table

PRICE, ACCOUNT, READING, OUTPUT = "The price", "The account, and whom it protects", "How the data are read", "What you get"
"""Under which heading `--help` lists an option."""

DataArgument = Annotated[
    str, typer.Argument(metavar="DATA", help="CSV, TSV, Parquet, Excel, DuckDB or SQLite file, or postgresql:// URL.")
]
SchemaOption = Annotated[Path, typer.Option(help="What is publicly known about the columns: see `jostle schema`.")]
WhereOption = Annotated[str | None, typer.Option(help="Count only rows where this is true, for instance \"sex = 'F'\".")]

LEDGER = typer.Option(rich_help_panel=ACCOUNT, help="Where charges are recorded: a file, or a postgresql:// URL.")
LedgerOption = Annotated[str, LEDGER]
LedgerOptionOrNone = Annotated[str | None, LEDGER]
BudgetOption = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=ACCOUNT, help="The total ε that may ever be spent on these data, or ε,δ as 1,1e-6; first time only."
    ),
]
UnitOption = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=ACCOUNT,
        help="Protect persons, not rows: column:max_rows, such as person:3. The account remembers it.",
    ),
]
NeighboursOption = Annotated[
    Literal["add_remove", "replace"] | None,
    typer.Option(
        rich_help_panel=ACCOUNT,
        help="What one person may change: add_remove, or replace; by default the account's, or add_remove.",
    ),
]
NameOption = Annotated[
    str | None,
    typer.Option(rich_help_panel=ACCOUNT, help="The account in the ledger; by default the file's or the table's name."),
]
BesideOption = Annotated[
    list[str] | None,
    typer.Option(
        rich_help_panel=ACCOUNT, help="An account that was charged for these rows already: both budgets will be spent."
    ),
]
NoteOption = Annotated[
    str,
    typer.Option(rich_help_panel=ACCOUNT, help="What it is for, in your own words: the ledger keeps it with the charge."),
]

TableOption = Annotated[str | None, typer.Option(rich_help_panel=READING, help="Which table of a database.")]
ColumnsOption = Annotated[
    str | None, typer.Option(rich_help_panel=READING, help="Names of columns, with commas, for a file without a header.")
]
DelimiterOption = Annotated[
    str | None,
    typer.Option(rich_help_panel=READING, help='The sign between fields of a text file, for instance ";"; a tab is "\\t".'),
]
EncodingOption = Annotated[
    str | None, typer.Option(rich_help_panel=READING, help="The encoding of a text file, for instance latin-1.")
]
DecimalOption = Annotated[
    str | None, typer.Option(rich_help_panel=READING, help="The decimal sign of numbers in texts: , or .")
]
ThousandsOption = Annotated[
    str | None, typer.Option(rich_help_panel=READING, help="The mark between thousands in texts, for instance .")
]
QuotedLineBreaksOption = Annotated[
    bool | None,
    typer.Option(
        "--quoted-line-breaks",
        rich_help_panel=READING,
        help="Values between quotation marks may have line breaks in them.",
        show_default=False,
    ),
]
SheetOption = Annotated[str | None, typer.Option(rich_help_panel=READING, help="Which sheet of a workbook.")]
ViewOption = Annotated[
    str | None,
    typer.Option(rich_help_panel=READING, help='For a view of a database, if that is so: "each row comes from one row".'),
]
EngineOption = Annotated[
    str, typer.Option(rich_help_panel=READING, help="duckdb, or spark to read files with Spark on this machine.")
]

EpsilonOption = Annotated[
    str | None, typer.Option(rich_help_panel=PRICE, help="The privacy budget to spend, for instance 0.5.")
]
RhoOption = Annotated[
    str | None, typer.Option(rich_help_panel=PRICE, help="Instead of ε: the ρ to spend, with Gaussian noise, such as 0.01.")
]


def cap_of(budget: str | None, delta: str | None = None, rho: str | None = None) -> Any:
    """The cap that options describe; None if they name none.

    >>> cap_of("1"), cap_of("1,1e-6") == cap_of("1", "1e-6"), cap_of("rho=0.02")
    ('1', True, Concentrated(rho=Fraction(1, 50)))
    """
    from jostle.kernel.measures import Approximate, Concentrated

    if budget is not None and budget.replace(" ", "").startswith("rho="):
        rho, budget = budget.partition("=")[2].strip(), None
    if rho is not None:
        if budget is not None or delta is not None:
            raise BadInput("budget", "is in ρ, and in ε or δ, too", "pass one of them")
        return Concentrated(rho)
    if budget is not None and "," in budget:
        budget, _, second = budget.partition(",")
        if delta is not None:
            raise BadInput("delta", "is named twice", "pass --budget 1,1e-6, or --budget 1 --delta 1e-6")
        delta = second.strip()
    if delta is None:
        return budget
    if budget is None:
        raise BadInput("delta", "goes with an ε, which is missing", "pass --budget 1 --delta 1e-6")
    return Approximate(budget.strip(), delta)


def open_private(
    data: str, *, columns: str | None, delimiter: str | None, quoted_line_breaks: bool | None, **others: Any
) -> Table:
    """`jostle.open`, with columns, delimiter and the switch as they are typed on the command line."""
    from jostle.tables.opening import open as open_table

    return open_table(
        data,
        columns=all_words(columns) if columns else None,
        delimiter=tab_or(delimiter),
        quoted_line_breaks=quoted_line_breaks or None,
        **others,
    )
