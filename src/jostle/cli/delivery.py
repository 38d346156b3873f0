"""Deliver released answers to a person or a script: nothing that was paid for is lost on its way."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from jostle.cli.terminal import UNWRITTEN, Format, Working
from jostle.kernel.budget import PURE, round_down, round_up

if TYPE_CHECKING:
    from jostle.answers.answer import Answer
    from jostle.schema.rows import Rows

MOST_DECIMALS = 9
"""Numbers that need more are written with an exponent."""


@dataclass(frozen=True, kw_only=True)
class Destination:
    """Where answers go."""

    out: Path | None
    """A .csv or .json file."""

    plot: Path | None
    """An .html or .png file."""

    form: Format
    ledger: str


def deliver(answer: Answer, to: Destination, working: Working, *, stopped: BaseException | None = None) -> int:
    """Hand over what was paid for, and return the exit status.

    The file is written first, at once, and without intervals that have yet to be simulated: a simulation may take minutes,
    fail or be stopped. Answers that cannot be written to the file are printed; answers that cannot be printed go to standard
    error.
    """
    rows, explanation = answer.rows_at_once(), None
    unwritten = _failure(lambda: _write(answer, rows, explanation, to.out))
    if stopped is None:
        working.on("Simulating the error")
        try:
            rows, explanation = answer.rows(), answer.explain()
        except (Exception, KeyboardInterrupt) as failure:  # noqa: BLE001  # whatever it was, the answers are there
            stopped = failure
        else:
            unwritten = _failure(lambda: _write(answer, rows, explanation, to.out))
    working.stop()
    in_file = to.out is not None and unwritten is None
    unprinted = _failure(lambda: _print_answers(answer, rows, explanation, to, in_file=in_file))
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
        typer.echo(_in_words(one), err=True)
    if unprinted is not None and not in_file:
        typer.echo(rows.to_csv(), nl=False, err=True)
    where = f"in {to.out}" if in_file else "on standard output" if unprinted is None else "on standard error"
    lacking = ", without their errors" if stopped else ""
    typer.echo(f"The answers were charged, and are {where}{lacking}: keep them.", err=True)
    return UNWRITTEN


def _failure(work: Callable[[], None]) -> Exception | None:
    """Do it, and return the failure instead of raising it: the other steps of the delivery must still be done."""
    try:
        work()
    except Exception as failure:  # noqa: BLE001  # for whatever reason: none may lose the answers
        return failure
    return None


def _give_up_standard_output() -> None:
    """Drop what standard output has not accepted: Python would try again at its end, and exit with a status of its own."""
    with suppress(OSError, AttributeError):  # it may be no file at all, or closed from the start
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _in_words(failure: BaseException) -> str:
    """What went wrong; at most, it depends on released numbers."""
    if isinstance(failure, (KeyboardInterrupt, SystemError)):  # the latter is what compiled loops make of the former
        return "Stopped."
    return f"jostle: {failure}" if str(failure) else f"jostle: {type(failure).__name__}"


# ------------------------------------------------------------------------------------------------------------- files


def _write(answer: Answer, rows: Rows, explanation: str | None, out: Path | None) -> None:
    if out is None:
        return
    if out.suffix == ".json":
        text = json.dumps(to_json(answer, rows, explanation), ensure_ascii=False, indent=1) + "\n"
    else:
        text = rows.to_csv()
    out.write_text(text, encoding="utf-8", newline="")


def _draw(answer: Answer, plot: Path | None) -> None:
    if plot is not None:
        from jostle import plots

        plots.save(answer.plot(), plot)


def to_json(answer: Answer, rows: Rows, explanation: str | None) -> dict[str, Any]:
    """The answers and what is public about them; amounts are exact, as texts, with floats that err on the side of less."""
    from jostle.answers.answer import charge_facts

    facts = {
        "spent": str(answer.spent),
        "spent_float": round_up(answer.spent),
        "remaining": str(answer.remaining),
        "remaining_float": round_down(answer.remaining),
        "charge": charge_facts(answer.charges),
    }
    if (answer.measure, answer.left_in) != (PURE, PURE):
        facts |= {"measure": answer.measure, "remaining_measure": answer.left_in}
    if explanation is not None:
        facts |= {"explanation": explanation}
    if answer.notes:
        facts |= {"notes": list(answer.notes)}
    algorithm = getattr(answer, "algorithm", None)
    if algorithm is not None:
        facts |= {"algorithm": algorithm.name}
    return facts | {"answers": [{name: _in_json(value) for name, value in row.items()} for row in rows.records()]}


def _in_json(value: Any) -> Any:
    """The value, or None for a number that JSON lacks."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


# ------------------------------------------------------------------------------------------------------------ printed


def _print_answers(answer: Answer, rows: Rows, explanation: str | None, to: Destination, *, in_file: bool) -> None:
    """Print in the requested format; as text, only the numbers that are not in a file."""
    if sys.stdout is None:  # whoever started the command closed it, and nothing that is printed would fail
        raise OSError("standard output is closed")
    if to.form == "json":
        typer.echo(json.dumps(to_json(answer, rows, explanation), ensure_ascii=False))
    elif to.form == "csv":
        typer.echo(rows.to_csv(), nl=False)
    else:
        if explanation is not None:
            typer.echo(explanation)
        if not in_file and (to.out is not None or explanation is None):
            typer.echo(rows.to_csv(), nl=False)
        elif not in_file:
            typer.echo(f"\n{as_text(rows, len(getattr(answer, 'each', (answer,))))}")


def _print_places(answer: Answer, to: Destination) -> None:
    from jostle.answers.answer import in_ledger

    for what, path in (("The answers are in", to.out), ("The picture is in", to.plot)):
        if path is not None:
            typer.echo(f"{what} {path}.")
    where = safe_to_show(to.ledger)
    typer.echo(f"{in_ledger(answer.charges)}\nThe charge is in {where}: jostle budget {where}")


def as_text(rows: Rows, aggregates: int) -> str:
    """Answers for people: each aggregate and the ends of its intervals, with as many decimals as these need.

    >>> from jostle.schema.rows import Rows
    >>> means = {"mean": [0.012341, 2.0], "low": [0.010341, 1.9], "high": [0.014341, 2.1]}
    >>> print(as_text(Rows({"sex": ["F", "M"], **means}), 1))
    sex    mean     low    high
      F 0.01234 0.01034 0.01434
      M 2.00000 1.90000 2.10000
    """
    columns = rows.by_name()
    numbers = list(columns)[-3 * aggregates :]
    shown: dict[str, Callable[[float], str]] = {}
    for first in range(0, len(numbers), 3):
        three = numbers[first : first + 3]
        shown |= dict.fromkeys(three, _written_with(_decimals(*(columns[name] for name in three))))
    return _side_by_side([[_one_line(name), *_cells(values, shown.get(name))] for name, values in columns.items()])


def _cells(values: Sequence[Any], shown: Callable[[float], str] | None) -> list[str]:
    from jostle.schema.rows import missing

    write = shown or (lambda value: _one_line(value) if isinstance(value, str) else f"{value:.12g}")
    return ["NaN" if missing(value) else write(value) for value in values]


def _one_line(text: str) -> str:
    return text.replace("\t", "\\t").replace("\r", "\\r").replace("\n", "\\n")


def _side_by_side(columns: Sequence[Sequence[str]]) -> str:
    """Right-aligned columns with a space between them; some letters are two places wide on a terminal."""
    from rich.cells import cell_len

    aligned = []
    for column in columns:
        width = max(map(cell_len, column))
        aligned.append([" " * (width - cell_len(cell)) + cell for cell in column])
    return "\n".join(" ".join(row) for row in zip(*aligned, strict=True))


def _decimals(values: Sequence[float], lows: Sequence[float] = (), highs: Sequence[float] = ()) -> int:
    """One decimal, as for counts; more where three digits of the narrowest half interval need more.

    Where no interval has a width, three digits of the number closest to 0 decide.
    """
    half_widths = [(high - low) / 2 for low, high in zip(lows, highs, strict=True)]
    for sizes in (half_widths, [abs(value) for value in (*values, *lows, *highs)]):
        known = [size for size in sizes if math.isfinite(size) and size > 0]
        if known:
            return 1 if min(known) >= 1 else 2 - math.floor(math.log10(min(known)))
    return 1


def _written_with(decimals: int) -> Callable[[float], str]:
    return lambda number: f"{number:.6g}" if decimals > MOST_DECIMALS else f"{number:,.{decimals}f}"


def say_stopped(ledger: str | None) -> None:
    """Tell whoever stopped a command before its answer where to look for a charge."""
    where = (
        "" if ledger is None else f" What was charged, if anything, is in the ledger: jostle budget {safe_to_show(ledger)}"
    )
    typer.echo(f"Stopped.{where}", err=True)


def safe_to_show(ledger: str) -> str:
    """Where a ledger is, without a password.

    >>> safe_to_show("postgresql://anna:secret@server/budgets"), safe_to_show("budget.db")
    ('postgresql://anna:***@server/budgets', 'budget.db')
    >>> safe_to_show("postgresql://server/budgets?user=anna&password=secret")
    'postgresql://server/budgets?user=anna'
    """
    from sqlalchemy import make_url

    if "://" not in ledger:
        return ledger
    return make_url(ledger).difference_update_query(["password", "sslpassword"]).render_as_string(hide_password=True)
