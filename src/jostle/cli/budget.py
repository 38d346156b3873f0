"""`jostle budget`: what was spent, on what, and what is left."""

from __future__ import annotations

import json
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from jostle.kernel.budget import round_down, round_up

if TYPE_CHECKING:
    from jostle.kernel.events import Balance, Event, Statement

_ROUNDING = "Spent is rounded up, remaining down; --json has the exact amounts."
_CHECKED = "Checked: each charge was within the cap of its time, and all add up to what is spent."


def budget(
    ledger: Annotated[
        str, typer.Argument(help="A ledger: the path of its file, or a postgresql:// URL.", show_default=False)
    ],
    account: Annotated[str | None, typer.Option("--account", help="Show this account alone.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with exact amounts as texts.")] = False,
    events: Annotated[bool, typer.Option("--events/--no-events", help="List the events too.")] = True,
) -> None:
    """Show the accounts of a ledger: what may be spent, what was, on what, and what is left. Changes nothing."""
    from jostle.kernel.ledger import Ledger  # a database toolkit, which other commands do without

    with Ledger(ledger, create=False) as book:
        statement = book.statement(account)
    if as_json:
        typer.echo(json.dumps(to_json(statement, events=events), indent=2, ensure_ascii=False))
    else:
        show(statement, Console(), events=events)
    statement.check()  # after it was shown: whoever has to repair a ledger must be able to see it
    if not as_json:
        Console().print(f"\n{_CHECKED}" if events else _CHECKED, soft_wrap=True)


def to_json(statement: Statement, *, events: bool) -> dict[str, object]:
    """The statement in exact amounts, as texts, with floats beside them that err on the side of less budget."""
    charges = _charges(statement)
    shown: dict[str, object] = {"accounts": [_account(balance, charges[balance.dataset]) for balance in statement.balances]}
    return shown | {"events": [_event(event) for event in statement.events]} if events else shown


def show(statement: Statement, console: Console, *, events: bool) -> None:
    """The statement as tables in a terminal."""
    charges, accounts = (
        _charges(statement),
        _table("Accounts", "dataset", "neighbours", "ε cap", "ε spent", "ε remaining", "charges"),
    )
    for has in statement.balances:
        amounts = (_few_digits(has.cap, up=False), _few_digits(has.spent, up=True), _few_digits(has.remaining, up=False))
        _add(accounts, has.dataset, str(has.neighbours), *amounts, f"{charges[has.dataset]:,}")
    console.print(accounts, _ROUNDING, sep="\n")
    if events:
        listed = _table("Events", "when (UTC)", "dataset", "event", "ε", "note")
        for event in statement.events:
            what = event.operator or event.kind
            when = event.at.replace("T", " ").split(".")[0]
            _add(listed, when, event.dataset, what, _few_digits(event.amount, up=event.kind == "charge"), event.note)
        console.print("", listed, sep="\n")


def _account(balance: Balance, charges: int) -> dict[str, object]:
    return {
        "dataset": balance.dataset,
        "measure": balance.measure,
        "neighbours": str(balance.neighbours),
        "cap": str(balance.cap),
        "cap_float": round_down(balance.cap),
        "spent": str(balance.spent),
        "spent_float": round_up(balance.spent),
        "remaining": str(balance.remaining),
        "remaining_float": round_down(balance.remaining),
        "charges": charges,
    }


def _event(event: Event) -> dict[str, object]:
    rounded = round_up(event.amount) if event.kind == "charge" else round_down(event.amount)
    return {
        "key": event.key,
        "at": event.at,
        "kind": event.kind,
        "dataset": event.dataset,
        "operator": event.operator,
        "measure": event.measure,
        "amount": str(event.amount),
        "amount_float": rounded,
        "neighbours": event.neighbours,
        "note": event.note,
        "version": event.version,
    }


def _charges(statement: Statement) -> dict[str, int]:
    counts = {balance.dataset: 0 for balance in statement.balances}
    for event in statement.events:
        if event.kind == "charge":
            counts[event.dataset] = counts.get(event.dataset, 0) + 1
    return counts


def _few_digits(amount: Fraction, *, up: bool) -> str:
    rounded = Context(prec=6, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return f"{rounded.divide(Decimal(amount.numerator), Decimal(amount.denominator)).normalize():f}"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(
            column, justify="right" if column.startswith("ε") or column == "charges" else "left", overflow="fold"
        )
    return table


def _add(table: Table, *cells: str) -> None:
    table.add_row(*map(Text, cells))  # as they are: a note may look like markup
