"""`jostle budget`: what was spent, on what, by whom, and what is left; and `jostle budget cap`, which changes the limit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from jostle.cli.options import Command, Group
from jostle.cli.table_options import cap_of
from jostle.cli.terminal import say
from jostle.kernel.budget import CONCENTRATED, PURE, round_down, round_up
from jostle.kernel.errors import BadInput
from jostle.kernel.measures import Approximate

if TYPE_CHECKING:
    from jostle.kernel.ledger.events import Balance, Event, Statement

SHOWN_OF_KEY = 8
"""In practice, this much of a random key tells it from all others of a ledger; `--json` has the whole key."""

_ROUNDING = "Amounts err on the safe side (spent is rounded up, left is rounded down); --json is exact."
_CHECKED = "Checked: no charge exceeded the cap of its time, and all charges add up to what is spent."

LedgerArgument = Annotated[str, typer.Argument(help="A ledger: a file, or a postgresql:// URL.", show_default=False)]
EVENT_COLUMNS: Final = ("when (UTC)", "account", "event", "ε", "who", "key", "note")

LEAST_NOTE: Final = 18
"""A note is never cut shorter than this. `--wide` and `--event KEY` show it whole."""

WIDEST: Final = 1000
"""The width of a line, in letters, where notes are shown whole."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, with exact amounts as texts.")]


class _ShowByDefault(Group):
    """`jostle budget LEDGER` is short for `jostle budget show LEDGER`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # the context of a package that Typer keeps to itself
        named = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if named else ["show", *args])


budget = typer.Typer(
    cls=_ShowByDefault,
    help="Show what was spent, on what, by whom, and what is left: `jostle budget LEDGER`. Change the limit: `cap`.",
)


@budget.command("show", cls=Command)
def show_ledger(
    ledger: LedgerArgument,
    account: Annotated[str | None, typer.Option("--account", help="Show only this account.", show_default=False)] = None,
    key: Annotated[
        str | None, typer.Option("--event", help="Show all of the event whose key begins like this.", show_default=False)
    ] = None,
    as_json: AsJson = False,
    events: Annotated[bool, typer.Option("--events/--no-events", help="List the events too.")] = True,
    saved: Annotated[
        bool, typer.Option("--saved", help="Show what was not charged because it was released before.")
    ] = False,
    wide: Annotated[bool, typer.Option("--wide", help="Show whole notes, however long the lines become.")] = False,
) -> None:
    """Show the accounts of a ledger: what may be spent, what was, on what, by whom, and what is left. Changes nothing.

    Exit codes: 0 shown, 2 refused, 4 the ledger cannot be reached, or does not add up.
    """
    from jostle.tables.budget_source import ledger_at

    if saved:
        from jostle.cli.memory import show_savings

        show_savings(ledger, account, as_json=as_json)
        return
    with ledger_at(ledger, create=False) as book:
        statement = book.statement(account)
    if key is not None:
        _show_event(statement, key, as_json=as_json)
        return
    if as_json:
        typer.echo(json.dumps(_statement_facts(statement, events=events), indent=2, ensure_ascii=False))
    else:
        _show_statement(statement, Console(width=WIDEST) if wide else Console(), events=events)
    statement.check()  # after it was shown: whoever has to repair a ledger must be able to see it
    if not as_json:
        say(f"\n{_CHECKED}" if events else _CHECKED)


@budget.command("memory", cls=Command)
def show_memory(
    ledger: LedgerArgument,
    account: Annotated[str, typer.Argument(help="The account.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option("--export", help="Write all of it, with the numbers, to this .json file.", show_default=False),
    ] = None,
    forget: Annotated[bool, typer.Option("--forget", help="Forget it. What was paid for it stays paid.")] = False,
    before: Annotated[
        str | None, typer.Option(help="With --forget: only what is older, for instance 2026-01-31.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what the ledger remembers of an account: released numbers that later questions use again.

    Exit codes: 0 done, 2 refused, 4 the ledger cannot be used.
    """
    from jostle.cli.memory import manage_memory

    manage_memory(ledger, account, out=out, forget=forget, before=before, as_json=as_json)


@budget.command(cls=Command)
def cap(
    ledger: LedgerArgument,
    account: Annotated[str, typer.Argument(help="The account whose cap changes.", show_default=False)],
    epsilon: Annotated[
        str | None, typer.Option(help="The total ε that may ever be spent on it, past charges included.", show_default=False)
    ] = None,
    delta: Annotated[str | None, typer.Option(help="The δ beside it, in an account of (ε, δ).", show_default=False)] = None,
    rho: Annotated[str | None, typer.Option(help="The total ρ, in an account of ρ.", show_default=False)] = None,
    note: Annotated[str, typer.Option(help="Why, in your own words: the ledger keeps it.")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Change the cap of an account: the total that may ever be spent. It never falls below what is spent.

    The ledger keeps who changed it, when, and from what to what. Whoever spends at the same moment is charged under the old
    cap or under the new one. Exit codes: 0 changed, 1 you said no, 2 refused, 4 the ledger cannot be used.
    """
    from jostle.kernel.ledger import limits
    from jostle.tables.budget_source import ledger_at

    if epsilon is None and rho is None:
        raise BadInput("epsilon", "is missing", "pass --epsilon 2; --epsilon 2 --delta 1e-6 or --rho 0.02 in other measures")
    with ledger_at(ledger, create=False) as book:
        has = book.balance(account)
        if delta is None and epsilon is not None and isinstance(has.limit, Approximate):
            delta = str(has.limit.delta)  # as it is
        wanted = limits.limit_of(cap_of(epsilon, delta, rho), "epsilon", zero=True)
        if wanted == has.limit:
            problem = f"the cap of {account!r} is {limits.words(has.limit)} already"
            raise BadInput("epsilon", problem, "name another, or leave it as it is")
        fits = limits.name_of(wanted) == has.measure and limits.allowed(wanted, has.spending)
        left = limits.left(wanted, has.spending, has.measure) if fits else Fraction(0)
        question = (
            f"Change the cap of {account!r} from {_first(has.limit)} to {limits.words(wanted)}? "
            f"{few_digits(has.spent, up=True)} is spent; {few_digits(left, up=False) if left else 'nothing'} would be left."
        )
        if fits and not yes:  # what the ledger will refuse needs no confirmation
            typer.confirm(question, abort=True, err=True)
        event = book.set_cap(account, wanted, note=note, was=has.limit)
    if as_json:
        before = {"account": account, "cap_before": str(has.cap), "cap": str(limits.amount_of(wanted))}
        facts = before | {"key": event.key, "at": event.at, "who": event.who, "note": event.note}
        if has.measure != PURE:
            facts |= {"measure": event.measure}
        typer.echo(json.dumps(facts, ensure_ascii=False))
        return
    now = f"is {_first(wanted)} from now on; it was {limits.words(has.limit)}"
    changed = f"The cap of {account!r} {now}. Event {event.key}."
    Console(highlight=False, soft_wrap=True).print(escape(changed))


def _first(limit: Any) -> str:
    """A cap in words, with its unit."""
    from jostle.kernel.ledger import limits

    return f"ε = {limits.words(limit)}" if isinstance(limit, Fraction) else limits.words(limit)


def few_digits(amount: Fraction, *, up: bool) -> str:
    """An amount for people, rounded up or down to six digits.

    >>> few_digits(Fraction(2, 3), up=True)
    '0.666667'
    """
    rounded = Context(prec=6, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return f"{rounded.divide(Decimal(amount.numerator), Decimal(amount.denominator)).normalize():f}"


def _statement_facts(statement: Statement, *, events: bool) -> dict[str, object]:
    """The statement in exact amounts, as texts, with floats beside them that err on the side of less budget."""
    charges, before = _charges(statement), _caps_before(statement)
    facts: dict[str, object] = {"accounts": [_account_facts(one, charges[one.dataset]) for one in statement.balances]}
    return facts | {"events": [_event_facts(event, before) for event in statement.events]} if events else facts


def _show_statement(statement: Statement, console: Console, *, events: bool) -> None:
    charges = _charges(statement)
    accounts = _table("Accounts", "account", "protects", "ε in all", "ε spent", "ε left", "charges")
    for has in statement.balances:
        amounts = _short(has)
        _add(accounts, has.dataset, _protected(has), *amounts, f"{charges[has.dataset]:,}")
    console.print(accounts, _ROUNDING, sep="\n")
    others = [has for has in statement.balances if has.measure != PURE]
    if others:
        console.print("", _in_other_measures(others), sep="\n")
    if not events:
        return
    before = _caps_before(statement)
    listed, rows = _table("Events", *EVENT_COLUMNS), []
    for event in statement.events:
        when = event.at.replace("T", " ").split(".")[0]
        amount = few_digits(event.amount, up=event.kind == "charge")
        if event.kind == "charge" and event.measure == CONCENTRATED:
            amount = f"ρ {amount}"
        if event.key in before:
            amount = f"{few_digits(before[event.key], up=False)} → {amount}"
        what = event.operator or event.kind
        rows.append((when, event.dataset, what, amount, event.who, event.key[:SHOWN_OF_KEY], event.note))
    taken = sum(2 + max(map(len, column)) for column in zip(EVENT_COLUMNS[:-1], *(row[:-1] for row in rows), strict=True))
    room = max(LEAST_NOTE, console.width - taken)
    for *cells, note in rows:
        _add(listed, *cells, note if len(note) <= room else f"{note[: room - 1].rstrip()}…")
    console.print("", listed, sep="\n")


def _show_event(statement: Statement, key: str, *, as_json: bool) -> None:
    found = [event for event in statement.events if event.key.startswith(key)]
    if len(found) != 1 or not key:
        remedy = "write more of the key" if found and key else "list the events with jostle budget LEDGER"
        raise BadInput("event", f"{len(found)} events of these accounts have a key that begins like this", remedy)
    facts = _event_facts(found[0], _caps_before(statement))
    if as_json:
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    shown = Table(box=None, pad_edge=False, show_header=False)
    for name, value in facts.items():
        _add(shown, name, str(value))
    Console().print(shown)


def _caps_before(statement: Statement) -> dict[str, Fraction]:
    """The old cap of each change of a cap, by the key of its event."""
    caps: dict[str, Fraction] = {}
    before: dict[str, Fraction] = {}
    for event in statement.events:
        if event.kind == "cap" and event.dataset in caps:
            before[event.key] = caps[event.dataset]
        if event.kind != "charge":
            caps[event.dataset] = event.amount
    return before


def _charges(statement: Statement) -> Counter[str]:
    return Counter(event.dataset for event in statement.events if event.kind == "charge")


def _short(has: Balance) -> tuple[str, str, str]:
    """Cap, spent and remaining of an account, in its own measure."""
    amounts = few_digits(has.cap, up=False), few_digits(has.spent, up=True), few_digits(has.remaining, up=False)
    if has.measure == CONCENTRATED:
        return f"ρ {amounts[0]}", f"ρ {amounts[1]}", f"ρ {amounts[2]}"
    if isinstance(has.limit, Approximate):
        return f"{amounts[0]}, δ {float(has.limit.delta):g}", amounts[1], amounts[2]
    return amounts


def _protected(has: Balance) -> str:
    """Whom an account protects, and against what, in few words."""
    rows = has.neighbours.rows
    whom = "each row" if rows == 1 else f"persons, {rows:,} rows each"
    return whom if has.neighbours.relation == "add_remove" else f"values of {whom}"


def _in_other_measures(accounts: Sequence[Balance]) -> Table:
    """All totals of accounts beyond pure ε, and what is left for the next question of each kind."""
    table = _table(
        "Beyond pure ε", "account", "sum of ε", "sum of ρ", "ρ cap", "left in ε", "left in ρ", "left of δ for keys"
    )
    for has in accounts:
        sums, left = has.spending, has.left
        epsilon = (
            "" if has.measure == CONCENTRATED else "none" if sums.epsilon is None else few_digits(sums.epsilon, up=True)
        )
        cap = Fraction(0) if isinstance(has.limit, Fraction) else has.limit.rho
        keys = f"{float(left.delta):g}" if has.measure != CONCENTRATED else ""
        numbers = few_digits(sums.rho, up=True), few_digits(cap, up=False)
        _add(table, has.dataset, epsilon, *numbers, few_digits(left.pure, up=False), few_digits(left.rho, up=False), keys)
    return table


def _account_facts(has: Balance, charges: int) -> dict[str, object]:
    facts = _amounts(has, charges)
    if isinstance(has.limit, Fraction):
        return facts
    sums, left = has.spending, has.left
    return facts | {
        "limit": {"measure": has.measure} | _texts(vars(has.limit)) | {"rho": str(has.limit.rho)},
        "sums": {name: None if value is None else str(value) for name, value in vars(sums).items()},
        "left": _texts(vars(left)),
        "left_float": {name: round_down(value) for name, value in vars(left).items()},
    }


def _texts(numbers: Mapping[str, Fraction]) -> dict[str, str]:
    return {name: str(number) for name, number in numbers.items()}


def _amounts(has: Balance, charges: int) -> dict[str, object]:
    return {
        "dataset": has.dataset,
        "measure": has.measure,
        "neighbours": str(has.neighbours),
        "cap": str(has.cap),
        "cap_float": round_down(has.cap),
        "spent": str(has.spent),
        "spent_float": round_up(has.spent),
        "remaining": str(has.remaining),
        "remaining_float": round_down(has.remaining),
        "charges": charges,
    }


def _event_facts(event: Event, before: dict[str, Fraction]) -> dict[str, object]:
    rounded = round_up(event.amount) if event.kind == "charge" else round_down(event.amount)
    was = {"cap_before": str(before[event.key])} if event.key in before else {}
    return asdict(event) | {"amount": str(event.amount), "amount_float": rounded} | was


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        right = column.startswith(("ε", "ρ", "sum", "left")) or column == "charges"
        whole = column in ("when (UTC)", "key")
        table.add_column(column, justify="right" if right else "left", overflow="fold", no_wrap=whole)
    return table


def _add(table: Table, *cells: str) -> None:
    table.add_row(*map(Text, cells))  # as they are: a note may look like markup
