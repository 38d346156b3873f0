"""`jostle budget cap`: change what may ever be spent on a data set, on the record."""

from __future__ import annotations

import json
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from jostle.kernel.budget import exact
from jostle.kernel.errors import BadInput, show

LEDGER_HELP = "A ledger: the path of its file, or a postgresql:// URL."


def cap(
    ledger: Annotated[str, typer.Argument(help=LEDGER_HELP, show_default=False)],
    account: Annotated[str, typer.Argument(help="The account whose cap changes.", show_default=False)],
    epsilon: Annotated[str, typer.Option(help="The most ε that may ever be spent on it, all charges of the past included.")],
    note: Annotated[str, typer.Option(help="Why, in your own words: the ledger keeps it.")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with exact amounts as texts.")] = False,
) -> None:
    """Change the cap of an account: the most that may ever be spent. It never falls below what is spent.

    The ledger keeps who changed it, when, and from what to what. Whoever spends at the same moment is charged under the old
    cap or under the new one. Exit codes: 0 changed, 1 you said no, 2 refused, 4 the ledger cannot be used.
    """
    from jostle.tables.budget_source import ledger_at

    wanted = exact(epsilon, zero=True)
    with ledger_at(ledger, create=False) as book:
        has = book.balance(account)
        if wanted == has.cap:
            raise BadInput(
                "epsilon", f"the cap of {account!r} is {show(has.cap)} already", "name another, or leave it as it is"
            )
        question = (
            f"Change the cap of {account!r} from ε = {show(has.cap)} to {show(wanted)}? "
            f"{few_digits(has.spent, up=True)} is spent; {_left(wanted - has.spent)}."
        )
        if wanted >= has.spent and not yes:  # what will be refused need not be asked
            typer.confirm(question, abort=True, err=True)
        event = book.set_cap(account, wanted, note=note, was=has.cap)
    if as_json:
        facts = {"account": account, "cap_before": str(has.cap), "cap": str(wanted), "key": event.key, "at": event.at}
        typer.echo(json.dumps(facts | {"who": event.who, "note": event.note}, ensure_ascii=False))
        return
    _say(f"The cap of {account!r} is ε = {show(wanted)} from now on; it was {show(has.cap)}. Event {event.key}.")


def few_digits(amount: Fraction, *, up: bool) -> str:
    """An amount for people, in six digits, rounded in the direction that is told.

    >>> few_digits(Fraction(2, 3), up=True)
    '0.666667'
    """
    rounded = Context(prec=6, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return f"{rounded.divide(Decimal(amount.numerator), Decimal(amount.denominator)).normalize():f}"


def _left(amount: Fraction) -> str:
    return f"{few_digits(amount, up=False)} would be left" if amount > 0 else "nothing would be left"


def _say(text: str) -> None:
    Console(highlight=False, soft_wrap=True).print(escape(text))
