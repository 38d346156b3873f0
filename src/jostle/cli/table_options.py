"""The options that commands about a private table share, and how a table is opened with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_type_hints

import typer

from jostle.cli.terminal import all_words, tab_or
from jostle.kernel.errors import BadInput

if TYPE_CHECKING:
    from jostle.tables.table import Table

DataArgument = Annotated[str, typer.Argument(help="CSV, TSV, Parquet, Excel, DuckDB or SQLite file, or postgresql:// URL.")]
WhereOption = Annotated[str | None, typer.Option(help="Only rows where this is true, for instance \"sex = 'F'\".")]

TableOption = Annotated[str | None, typer.Option(help="Which table of a database.")]
ColumnsOption = Annotated[str | None, typer.Option(help="Names of columns, with commas, for a file without a header.")]
DelimiterOption = Annotated[
    str | None, typer.Option(help='The sign between fields of a text file, for instance ";"; a tab is "\\t".')
]
EncodingOption = Annotated[str | None, typer.Option(help="The encoding of a text file, for instance latin-1.")]
DecimalOption = Annotated[str | None, typer.Option(help="The decimal sign of numbers in texts: , or .")]
ThousandsOption = Annotated[str | None, typer.Option(help="The mark between thousands in texts, for instance .")]
QuotedLineBreaksOption = Annotated[
    bool | None,
    typer.Option(
        "--quoted-line-breaks", help="Values between quotation marks may have line breaks in them.", show_default=False
    ),
]
SheetOption = Annotated[str | None, typer.Option(help="Which sheet of a workbook.")]

WholePriceOption = Annotated[str | None, typer.Option(help="The privacy budget to spend, for instance 1.")]
DeltaOption = Annotated[
    str | None, typer.Option(help="With --epsilon: pay with the ρ that (ε, δ) allows, for instance 1e-9; less noise.")
]
EpsilonOption = Annotated[str | None, typer.Option(help="The privacy budget to spend, for instance 0.5.")]
RhoOption = Annotated[str | None, typer.Option(help="Instead of ε: the ρ to spend, with Gaussian noise, such as 0.01.")]


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """What a private table is, how it is written, and which account pays: the same options for all commands."""

    data: DataArgument
    schema: Annotated[Path, typer.Option(help="What is publicly known about the columns: see `jostle schema`.")]
    ledger: Annotated[str | None, typer.Option(help="Where charges are recorded: a file, or a postgresql:// URL.")] = None
    budget: Annotated[
        str | None, typer.Option(help="The total ε that may ever be spent on these data, or ε,δ as 1,1e-6; first time only.")
    ] = None
    unit: Annotated[
        str | None,
        typer.Option(help="Protect persons, not rows: column:max_rows, such as person:3. The account remembers it."),
    ] = None
    neighbours: Annotated[
        Literal["add_remove", "replace"] | None,
        typer.Option(help="What one person may change: add_remove, or replace; by default the account's, or add_remove."),
    ] = None
    name: Annotated[
        str | None, typer.Option(help="The account in the ledger; by default the file's or the table's name.")
    ] = None
    beside: Annotated[
        list[str] | None,
        typer.Option(help="An account that was charged for these rows already: both budgets will be spent."),
    ] = None
    table: TableOption = None
    columns: ColumnsOption = None
    delimiter: DelimiterOption = None
    encoding: EncodingOption = None
    decimal: DecimalOption = None
    thousands: ThousandsOption = None
    quoted_line_breaks: QuotedLineBreaksOption = None
    sheet: SheetOption = None
    view: Annotated[
        str | None, typer.Option(help='For a view of a database, if that is so: "each row comes from one row".')
    ] = None
    engine: Annotated[str, typer.Option(help="duckdb, or spark to read files with Spark on this machine.")] = "duckdb"
    note: Annotated[str, typer.Option(help="What it is for, in your own words: the ledger keeps it with the charge.")] = ""

    def open(self, **changed: Any) -> Table:
        """`jostle.open` with these options, or others in place of some."""
        from jostle.tables.opening import open as open_table

        if changed.get("ledger", self.ledger) is None:
            remedy = "pass --ledger budget.db, and --budget 1 the first time"
            raise BadInput("ledger", "is missing: it records charges", remedy)
        as_typed = {one.name: getattr(self, one.name) for one in fields(self)} | {
            "budget": cap_of(self.budget),
            "columns": all_words(self.columns) if self.columns else None,
            "delimiter": tab_or(self.delimiter),
            "quoted_line_breaks": self.quoted_line_breaks or None,
        }
        return open_table(**as_typed | changed)


_FIRST: Final = ("data", "schema", "ledger")
"""These come before a command's own options, the others after them."""


def about_a_table(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of a table in its signature, which Typer reads, in place of its first argument."""
    _, *own = signature(command, eval_str=True).parameters.values()
    kinds = get_type_hints(TableOptions, include_extras=True)
    shared = {
        one.name: Parameter(
            one.name,
            Parameter.KEYWORD_ONLY,
            default=getattr(TableOptions, one.name, Parameter.empty),
            annotation=kinds[one.name],
        )
        for one in fields(TableOptions)
    }

    @wraps(command)
    def run(**given: Any) -> None:
        command(TableOptions(**{name: given.pop(name) for name in shared}), **given)

    first, last = ([one for name, one in shared.items() if (name in _FIRST) is early] for early in (True, False))
    parameters = [*first, *(one.replace(kind=Parameter.KEYWORD_ONLY) for one in own), *last]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def stated_price(epsilon: str | None, delta: str | None, rho: str | None) -> Any:
    """The price that options state."""
    from jostle.answers.prices import price_of

    if (epsilon is None) == (rho is None):
        remedy = "pass --epsilon 1, --epsilon 1 --delta 1e-6, or --rho 0.01"
        raise BadInput("epsilon", "is one of two ways to say the price, and rho is the other", remedy)
    return price_of(epsilon, delta, rho)


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
        if not budget.strip() or not second.strip() or "," in second:
            raise BadInput("budget", "is not an ε and a δ", "pass --budget 1, --budget 1,1e-6 or --budget rho=0.02")
        if delta is not None:
            raise BadInput("delta", "is named twice", "pass --budget 1,1e-6, or --budget 1 --delta 1e-6")
        delta = second.strip()
    if delta is None:
        return budget
    if budget is None:
        raise BadInput("delta", "goes with an ε, which is missing", "pass --budget 1 --delta 1e-6")
    return Approximate(budget.strip(), delta)
