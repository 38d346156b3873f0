"""`jostle budget`: what was spent, on what, by whom, and what is left."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from jostle.cli.cap import LEDGER_HELP, cap, few_digits
from jostle.cli.options import Command, Group
from jostle.kernel.budget import round_down, round_up
from jostle.kernel.errors import BadInput

if TYPE_CHECKING:
    from jostle.kernel.events import Balance, Event, Statement

SHOWN_OF_KEY = 8
"""So much of a random key tells it from all others of a ledger, in practice; `--json` has the whole."""

_ROUNDING = "Spent is rounded up, remaining down; --json has the exact amounts."
_CHECKED = "Checked: each charge was within the cap of its time, and all add up to what is spent."


class _ShowUnlessTold(Group):
    """`jostle budget LEDGER` is short for `jostle budget show LEDGER`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # the context of a package that Typer keeps to itself
        """A first word that is no command is what to show."""
        told = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if told else ["show", *args])


budget = typer.Typer(
    cls=_ShowUnlessTold,
    help="What was spent, on what, by whom, and what is left: `jostle budget LEDGER`. And what may be spent: `cap`.",
)
budget.command(cls=Command)(cap)


@budget.command("show", cls=Command)
def show_ledger(
    ledger: Annotated[str, typer.Argument(help=LEDGER_HELP, show_default=False)],
    account: Annotated[str | None, typer.Option("--account", help="Show this account alone.", show_default=False)] = None,
    key: Annotated[
        str | None, typer.Option("--event", help="Show the event whose key begins like this, whole.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with exact amounts as texts.")] = False,
    events: Annotated[bool, typer.Option("--events/--no-events", help="List the events too.")] = True,
) -> None:
    """Show the accounts of a ledger: what may be spent, what was, on what, by whom, and what is left. Changes nothing.

    Exit codes: 0 shown, 2 asked wrongly, 4 the ledger cannot be reached, or does not add up.
    """
    from jostle.tables.accounts import ledger_at

    with ledger_at(ledger, create=False) as book:
        statement = book.statement(account)
    if key is not None:
        _show_event(statement, key, as_json=as_json)
        return
    if as_json:
        typer.echo(json.dumps(to_json(statement, events=events), indent=2, ensure_ascii=False))
    else:
        show(statement, Console(), events=events)
    statement.check()  # after it was shown: whoever has to repair a ledger must be able to see it
    if not as_json:
        Console().print(f"\n{_CHECKED}" if events else _CHECKED, soft_wrap=True)


def to_json(statement: Statement, *, events: bool) -> dict[str, object]:
    """The statement in exact amounts, as texts, with floats beside them that err on the side of less budget."""
    charges, before = _charges(statement), _caps_before(statement)
    shown: dict[str, object] = {"accounts": [_account(balance, charges[balance.dataset]) for balance in statement.balances]}
    return shown | {"events": [_event(event, before) for event in statement.events]} if events else shown


def show(statement: Statement, console: Console, *, events: bool) -> None:
    """The statement as tables in a terminal."""
    charges, accounts = (
        _charges(statement),
        _table("Accounts", "dataset", "neighbours", "ε cap", "ε spent", "ε remaining", "charges"),
    )
    for has in statement.balances:
        amounts = (few_digits(has.cap, up=False), few_digits(has.spent, up=True), few_digits(has.remaining, up=False))
        _add(accounts, has.dataset, str(has.neighbours), *amounts, f"{charges[has.dataset]:,}")
    console.print(accounts, _ROUNDING, sep="\n")
    if events:
        before = _caps_before(statement)
        listed = _table("Events", "when (UTC)", "dataset", "event", "ε", "who", "key", "note")
        for event in statement.events:
            what = event.operator or event.kind
            when = event.at.replace("T", " ").split(".")[0]
            amount = few_digits(event.amount, up=event.kind == "charge")
            if event.key in before:
                amount = f"{few_digits(before[event.key], up=False)} → {amount}"
            _add(listed, when, event.dataset, what, amount, event.who, event.key[:SHOWN_OF_KEY], event.note)
        console.print("", listed, sep="\n")


def _show_event(statement: Statement, key: str, *, as_json: bool) -> None:
    found = [event for event in statement.events if event.key.startswith(key)]
    if len(found) != 1 or not key:
        remedy = "write more of the key" if found and key else "list them with jostle budget LEDGER"
        raise BadInput("event", f"{len(found)} events of these accounts have a key that begins like this", remedy)
    facts = _event(found[0], _caps_before(statement))
    if as_json:
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    shown = Table(box=None, pad_edge=False, show_header=False)
    for name, value in facts.items():
        _add(shown, name, str(value))
    Console().print(shown)


def _caps_before(statement: Statement) -> dict[str, Fraction]:
    """What each change of a cap changed it from, by the key of its event."""
    caps: dict[str, Fraction] = {}
    before: dict[str, Fraction] = {}
    for event in statement.events:
        if event.kind == "cap" and event.dataset in caps:
            before[event.key] = caps[event.dataset]
        if event.kind != "charge":
            caps[event.dataset] = event.amount
    return before


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


def _event(event: Event, before: dict[str, Fraction]) -> dict[str, object]:
    rounded = round_up(event.amount) if event.kind == "charge" else round_down(event.amount)
    was = {"cap_before": str(before[event.key])} if event.key in before else {}
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
        "who": event.who,
        "version": event.version,
        **was,
    }


def _charges(statement: Statement) -> dict[str, int]:
    counts = {balance.dataset: 0 for balance in statement.balances}
    for event in statement.events:
        if event.kind == "charge":
            counts[event.dataset] = counts.get(event.dataset, 0) + 1
    return counts


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        right = column.startswith("ε") or column == "charges"
        whole = column in ("when (UTC)", "key")
        table.add_column(column, justify="right" if right else "left", overflow="fold", no_wrap=whole)
    return table


def _add(table: Table, *cells: str) -> None:
    table.add_row(*map(Text, cells))  # as they are: a note may look like markup
