"""Deliver released answers to a person or a script: nothing that was paid for is lost on its way, nor by a stop."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from jostle.cli.terminal import STOPPED, UNWRITTEN, Format, Working, check_apart, check_writable, say
from jostle.kernel.budget import PURE, round_down, round_up
from jostle.kernel.errors import BadInput

if TYPE_CHECKING:
    from jostle.answers.answer import Answer
    from jostle.schema.rows import Rows


@dataclass(frozen=True, kw_only=True)
class Destination:
    """Where answers go."""

    out: Path | None
    """A .csv, .json, .parquet or .xlsx file."""

    plot: Path | None
    """An .svg, .html or .png file."""

    form: Format
    ledger: str
    wide: bool = False
    """Whether two group columns are printed as a cross table."""

    together: bool = False
    """Whether intervals hold all at once."""

    notes: bool = False
    """Whether lines of CSV come after what they leave out, in lines that begin with #."""


def check_destination(to: Destination, data: str, schema: Path) -> None:
    """Refuse, before anything is charged, files that cannot or must not be written."""
    from jostle.schema.rows import FILES, check_writer

    others: dict[str, str | Path | None] = {"data": data, "schema": schema, "ledger": to.ledger}
    for option, path, endings in (("out", to.out, FILES), ("plot", to.plot, (".svg", ".html", ".png"))):
        if path is None:
            continue
        if path.suffix not in endings:
            raise BadInput(option, f"{path.name} does not end in {' or '.join(endings)}", "rename it")
        check_writable(option, path)
        check_writer(path, option)
        check_apart(option, path, others)
        others[option] = path
    if to.plot is not None:
        from jostle import plots

        plots.savable(to.plot, "plot")


def deliver(answer: Answer, to: Destination, working: Working, *, stopped: BaseException | None = None) -> int:
    """Hand over what was paid for, and return the exit status.

    The file is written first, at once, and without intervals that have yet to be simulated: a simulation may take minutes,
    fail or be stopped. Answers that cannot be written to the file are printed; answers that cannot be printed go to standard
    error.
    """
    rows_of: Any = getattr(answer, "wide_rows", answer.rows) if to.wide else answer.rows
    rows_of = partial(rows_of, together=True) if to.together else rows_of
    rows, explanation = answer.rows_at_once(), None
    unwritten = _failure(lambda: _write(answer, rows, explanation, to))
    if stopped is None:
        working.on("Simulating the error")
        try:
            rows, explanation = rows_of(), answer.explain()
        except (Exception, KeyboardInterrupt) as failure:  # noqa: BLE001  # whatever it was, the answers are there
            stopped = failure
        else:
            unwritten = _failure(lambda: _write(answer, rows, explanation, to))
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


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGTERM, and SIGHUP from a closed terminal, stop the command as Ctrl-C does.

    What it started ends with it, and what it has is not lost. A signal that is ignored (`nohup`) stays ignored.
    """

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {one: signal.signal(one, stop) for one in known if signal.getsignal(one) is not signal.SIG_IGN}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


@contextmanager
def stopped_orderly(ledger: str | None) -> Iterator[None]:
    """While private data are read: a stop, also from outside, ends the command and says where a charge would be."""
    try:
        with stoppable():
            yield
    except (KeyboardInterrupt, SystemError):  # the latter is what compiled loops make of it
        say_stopped(ledger)
        raise typer.Exit(STOPPED) from None


def pay_and_deliver(release: Callable[[], Answer], to: Destination, working: Working) -> None:
    """Release, which charges, and deliver. The command ends here unless all went well."""
    answer = None
    with stoppable():
        try:
            answer = release()
            status = deliver(answer, to, working)
        except BaseException as failure:
            by_hand = isinstance(failure, (KeyboardInterrupt, SystemError))  # compiled loops turn the former into the latter
            if by_hand and answer is not None:  # stopped during the delivery: deliver again, without simulations
                status = deliver(answer, to, working, stopped=failure)
            elif by_hand:
                say_stopped(to.ledger)
                status = STOPPED
            else:
                raise
    if status:
        raise typer.Exit(status)


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


def _write(answer: Answer, rows: Rows, explanation: str | None, to: Destination) -> None:
    out = to.out
    if out is None:
        return
    if out.suffix == ".json":
        text = json.dumps(to_json(answer, rows, explanation), ensure_ascii=False, indent=1) + "\n"
        out.write_text(text, encoding="utf-8", newline="")
    elif out.suffix == ".csv":
        out.write_text(_csv(answer, rows, to), encoding="utf-8", newline="")
    else:
        rows.write(out)


def _csv(answer: Answer, rows: Rows, to: Destination) -> str:
    return (answer.comments if to.notes else "") + rows.to_csv()


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
        facts |= {"interval_kind": answer.interval_kind}
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
        typer.echo(_csv(answer, rows, to), nl=False)
    else:
        if explanation is not None and not in_file and to.out is None:
            say(answer.shown(rows))
            return
        if explanation is not None:
            say(explanation)
        if not in_file:
            typer.echo(_csv(answer, rows, to), nl=False)


def _print_places(answer: Answer, to: Destination) -> None:
    from jostle.answers.answer import in_ledger

    for what, path in (("The answers are in", to.out), ("The picture is in", to.plot)):
        if path is not None:
            say(f"{what} {path}.")
    where = safe_to_show(to.ledger)
    if not answer.charges:
        typer.echo("Nothing was charged.")
        return
    say(f"{in_ledger(answer.charges)}\nThe charge is in {where}: jostle budget {where}")


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
