"""How released answers reach a person or a script, so that nothing that was paid for is lost on its way."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import typer

from jostle.cli.terminal import UNWRITTEN, Format, Working
from jostle.kernel.budget import round_down, round_up

if TYPE_CHECKING:
    import numpy as np
    from pandas import DataFrame

    from jostle.kernel.events import Event

MOST_DECIMALS = 9
"""Numbers that need more are written with an exponent."""


class Answer(Protocol):
    """What every released answer has."""

    @property
    def spent(self) -> Fraction:
        """What it was charged."""
        ...

    @property
    def remaining(self) -> Fraction:
        """What is left."""
        ...

    @property
    def charges(self) -> tuple[Event, ...]:
        """The ledger's events about it."""
        ...

    def explain(self) -> str:
        """In words."""
        ...

    def to_pandas(self) -> DataFrame:
        """As a table."""
        ...

    def plot(self) -> Any:
        """As a picture."""
        ...


@dataclass(frozen=True, kw_only=True)
class Destination:
    """Where answers go."""

    out: Path | None
    """A .csv or .json file."""

    plot: Path | None
    """An .html or .png file."""

    form: Format
    """What is printed."""

    ledger: str
    """Where the charge is."""


def deliver(answer: Answer, to: Destination, working: Working, *, stopped: BaseException | None = None) -> int:
    """Hand over what was paid for, and give the status to end with.

    The file comes first, and gets the answers at once, without intervals that have yet to be simulated: that may take
    minutes, fail, or be stopped, or have been before. What the file does not take is printed, and what cannot be printed
    goes to standard error.
    """
    from jostle.tables.plain import plain

    frame, explanation = plain(answer), None
    unwritten = _failure(lambda: _write(answer, frame, explanation, to.out))
    if stopped is None:
        working.on("Simulating the error")
        try:
            frame, explanation = answer.to_pandas(), answer.explain()
        except (Exception, KeyboardInterrupt) as failure:  # noqa: BLE001  # whatever it was, the answers are there
            stopped = failure
        else:
            unwritten = _failure(lambda: _write(answer, frame, explanation, to.out))
    working.stop()
    in_file = to.out is not None and unwritten is None
    unprinted = _failure(lambda: _print_answers(answer, frame, explanation, to, in_file=in_file))
    undrawn = None if stopped else _failure(lambda: _draw(answer, to.plot))
    failures = [one for one in (stopped, unwritten, unprinted, undrawn) if one is not None]
    if not failures and to.form == "text":
        unprinted = _failure(lambda: _print_places(answer, to))
        failures = [] if unprinted is None else [unprinted]
    if not failures:
        return 0
    if unprinted is not None:
        _give_up_standard_output()
    for one in failures:
        typer.echo(_said(one), err=True)
    if unprinted is not None and not in_file:
        typer.echo(frame.to_csv(index=False), nl=False, err=True)
    where = f"in {to.out}" if in_file else "on standard output" if unprinted is None else "on standard error"
    lacking = ", without their errors" if stopped else ""
    typer.echo(f"The answers were charged, and are {where}{lacking}: keep them.", err=True)
    return UNWRITTEN


def _failure(work: Callable[[], None]) -> Exception | None:
    """Do it; if that fails, say how, so that what else is to be done is done."""
    try:
        work()
    except Exception as failure:  # noqa: BLE001  # for whatever reason: none may lose the answers
        return failure
    return None


def _give_up_standard_output() -> None:
    """What it has not taken yet is taken by nobody: at its end, Python would try again, and end with a status of its own."""
    with suppress(OSError, AttributeError):  # it may be no file at all, or closed from the start
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _said(failure: BaseException) -> str:
    """What went wrong, which depends on released numbers at most."""
    if isinstance(failure, (KeyboardInterrupt, SystemError)):  # the latter is what compiled loops make of the former
        return "Stopped."
    return f"jostle: {failure}" if str(failure) else f"jostle: {type(failure).__name__}"


# ------------------------------------------------------------------------------------------------------------- files


def _write(answer: Answer, frame: DataFrame, explanation: str | None, out: Path | None) -> None:
    if out is None:
        return
    if out.suffix == ".json":
        text = json.dumps(to_json(answer, frame, explanation), ensure_ascii=False, indent=1) + "\n"
    else:
        text = frame.to_csv(index=False)
    out.write_text(text, encoding="utf-8", newline="")


def _draw(answer: Answer, plot: Path | None) -> None:
    from jostle import plots

    if plot is not None:
        plots.save(answer.plot(), plot)


def to_json(answer: Answer, frame: DataFrame, explanation: str | None) -> dict[str, Any]:
    """The answers and what is public about them; amounts are exact, as texts, with floats that err on the side of less."""
    import numpy as np

    from jostle.releases import charge_facts

    facts = {
        "spent": str(answer.spent),
        "spent_float": round_up(answer.spent),
        "remaining": str(answer.remaining),
        "remaining_float": round_down(answer.remaining),
        "charge": charge_facts(answer.charges),
    }
    if explanation is not None:
        facts |= {"explanation": explanation}
    algorithm = getattr(answer, "algorithm", None)
    if algorithm is not None:
        facts |= {"algorithm": algorithm.name}
    known = frame.replace([np.inf, -np.inf], np.nan).astype(object)  # JSON has no other numbers
    return facts | {"answers": known.where(known.notna(), None).to_dict("records")}


# ------------------------------------------------------------------------------------------------------------ printed


def _print_answers(answer: Answer, frame: DataFrame, explanation: str | None, to: Destination, *, in_file: bool) -> None:
    """What was asked for: with a text, all numbers that are in no file."""
    if sys.stdout is None:  # whoever started the command closed it, and nothing that is printed would fail
        raise OSError("standard output is closed")
    if to.form == "json":
        typer.echo(json.dumps(to_json(answer, frame, explanation), ensure_ascii=False))
    elif to.form == "csv":
        typer.echo(frame.to_csv(index=False), nl=False)
    else:
        if explanation is not None:
            typer.echo(explanation)
        if not in_file and (to.out is not None or explanation is None):
            typer.echo(frame.to_csv(index=False), nl=False)
        elif not in_file:
            typer.echo(f"\n{as_text(frame, len(getattr(answer, 'each', (answer,))))}")


def _print_places(answer: Answer, to: Destination) -> None:
    from jostle.releases import in_ledger

    for what, path in (("The answers are in", to.out), ("The picture is in", to.plot)):
        if path is not None:
            typer.echo(f"{what} {path}.")
    where = without_password(to.ledger)
    typer.echo(f"{in_ledger(answer.charges)}\nThe charge is in {where}: jostle budget {where}")


def as_text(frame: DataFrame, aggregates: int) -> str:
    """Answers for people: those of each aggregate, and the ends of their intervals, with as many decimals as these need.

    >>> import pandas as pd
    >>> means = {"mean": [0.012341, 2.0], "low": [0.010341, 1.9], "high": [0.014341, 2.1]}
    >>> print(as_text(pd.DataFrame({"sex": ["F", "M"], **means}), 1))
    sex    mean     low    high
      F 0.01234 0.01034 0.01434
      M 2.00000 1.90000 2.10000
    """
    shown: dict[Any, Callable[[float], str]] = {}
    numbers = list(frame)[-3 * aggregates :]
    for first in range(0, len(numbers), 3):
        three = numbers[first : first + 3]
        shown |= dict.fromkeys(three, _written_with(_decimals(frame[three].to_numpy(dtype=float))))
    return str(frame.to_string(index=False, formatters=shown, float_format=lambda number: f"{number:.12g}"))


def _decimals(triples: np.ndarray) -> int:
    """One, as counts have it; where the narrowest interval is narrower, what three digits of half its width take.

    Where no interval has a width, three digits of the number that is closest to 0.
    """
    import numpy as np

    for sizes in ((triples[:, 2] - triples[:, 1]) / 2, np.abs(triples)):
        known = sizes[np.isfinite(sizes) & (sizes > 0)]
        if known.size:
            return 1 if known.min() >= 1 else 2 - math.floor(math.log10(known.min()))
    return 1


def _written_with(decimals: int) -> Callable[[float], str]:
    if decimals > MOST_DECIMALS:
        return lambda number: f"{number:.6g}"
    return lambda number: f"{number:,.{decimals}f}"


def say_stopped(ledger: str | None) -> None:
    """What whoever stops a command before there is an answer has to know."""
    charge = (
        ""
        if ledger is None
        else f" What was charged, if anything, is in the ledger: jostle budget {without_password(ledger)}"
    )
    typer.echo(f"Stopped.{charge}", err=True)


def without_password(ledger: str) -> str:
    """Where a ledger is, for a screen that others may see.

    >>> without_password("postgresql://anna:secret@server/budgets"), without_password("budget.db")
    ('postgresql://anna:***@server/budgets', 'budget.db')
    >>> without_password("postgresql://server/budgets?user=anna&password=secret")
    'postgresql://server/budgets?user=anna'
    """
    from sqlalchemy import make_url

    if "://" not in ledger:
        return ledger
    return make_url(ledger).difference_update_query(["password", "sslpassword"]).render_as_string(hide_password=True)
