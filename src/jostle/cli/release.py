"""`jostle release`: from a file or a database to a private release, with the charge in a ledger."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jostle.cli.delivery import Destination, deliver, say_stopped
from jostle.cli.running import stoppable
from jostle.cli.terminal import STOPPED, Format, Working, all_words, check_apart, check_writable, words
from jostle.kernel.errors import BadInput

if TYPE_CHECKING:
    from jostle.tables.table import Table

MOST_LINES = 1000
"""So many lines of answers are printed as text, all of them: what was paid for and not shown would be lost."""


@dataclass(frozen=True)
class _Wanted:
    """What is asked."""

    by: Sequence[str]
    where: str | None
    sql: str | None
    algorithm: str | None


def release(
    data: Annotated[str, typer.Argument(help="CSV, TSV, Parquet, DuckDB or SQLite file, or postgresql:// URL.")],
    schema: Annotated[Path, typer.Option(help="What is publicly known of the columns: see `jostle schema`.")],
    ledger: Annotated[
        str | None, typer.Option(help="Where charges are written down: a file, or a postgresql:// URL.")
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option(help="Count rows by this column; several: repeat it, or use commas.")
    ] = None,
    where: Annotated[str | None, typer.Option(help="Count rows for which this is true, for instance \"sex = 'F'\".")] = None,
    sql: Annotated[str | None, typer.Option(help="Ask in SQL instead: SELECT … FROM … WHERE … GROUP BY ….")] = None,
    epsilon: Annotated[str | None, typer.Option(help="What the release may cost, for instance 0.5.")] = None,
    within: Annotated[float | None, typer.Option(help="Instead of ε: how far answers may be off, at 95 %.")] = None,
    preview: Annotated[bool, typer.Option("--preview", help="Tell the expected error, and charge nothing.")] = False,
    rows: Annotated[int | None, typer.Option(help="With --preview of a mean: about how many rows you expect.")] = None,
    budget: Annotated[
        str | None, typer.Option(help="The most ε that may ever be spent on these data; the first time.")
    ] = None,
    unit: Annotated[str | None, typer.Option(help="Protect persons, not rows: column:rows, for instance person:3.")] = None,
    neighbours: Annotated[str, typer.Option(help="What one person may change: add_remove, or replace.")] = "add_remove",
    algorithm: Annotated[str | None, typer.Option(help="Answer by this algorithm, not by one that suits.")] = None,
    name: Annotated[
        str | None, typer.Option(help="The account in the ledger; the file's or the table's name unless said.")
    ] = None,
    table: Annotated[str | None, typer.Option(help="Which table of a database.")] = None,
    columns: Annotated[str | None, typer.Option(help="Names of columns, with commas, for a text file without them.")] = None,
    engine: Annotated[str, typer.Option(help="duckdb, or spark to read files with Spark on this machine.")] = "duckdb",
    note: Annotated[str, typer.Option(help="What it is for, in your own words: the ledger keeps it with the charge.")] = "",
    out: Annotated[
        Path | None, typer.Option(help="Write the answers to this .csv file; or to a .json file, with the charge.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the answers, with error bars, into this .html or .png file.")
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="What is printed: text, csv or json.")] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Release counts of a private table, with error bars, and write down what they cost.

    Exit codes: 0 done, 2 asked wrongly, 3 not enough budget, 4 the data, the engine or the ledger cannot be reached, 130
    stopped, 1 a fault in a program: what was charged, if anything, is in the ledger, and what was released of several
    aggregates is printed. 5: released and charged, but a file or standard output could not be written, or the errors of the
    answers could not be simulated, or you did not wait for that; the message says where the answers are.
    """
    form = "json" if as_json else form
    if by and not any(map(words, by)):
        raise BadInput("by", "names no column", "name one, or leave it out to count all rows")
    wanted = _Wanted([name for text in by or [] for name in words(text)], where, sql, algorithm)
    to = Destination(out=out, plot=plot, form=form, ledger=str(ledger))
    _check(wanted, epsilon, within, ledger, preview=preview)
    if not preview:
        _check_files(to, data, schema)
    if rows is not None and not preview:
        raise BadInput("rows", "is for the preview of a mean", "leave it out, or pass --preview")
    with Working() as working, ExitStack() as until_done:
        working.on("Opening the table")
        if preview:  # nothing will be charged, so no ledger is needed, and none is written to
            folder = until_done.enter_context(TemporaryDirectory(prefix="jostle-"))
            ledger, budget = str(Path(folder) / "preview.db"), "1"
        opened = _opened(
            data,
            schema=schema,
            ledger=ledger,
            budget=budget,
            unit=unit,
            neighbours=neighbours,
            name=name,
            table=table,
            columns=all_words(columns) if columns else None,
            engine=engine,
            note=note,
        )
        question = _question(opened, wanted)
        working.on("Working out the error" if preview else "Counting rows and drawing noise")
        if preview:
            _foretell(question, epsilon, within, rows, form)
            return
        _check_lines(question, to)
        with stoppable():
            status = _paid(question, to, working, epsilon=epsilon, within=within)
    if status:
        raise typer.Exit(status)


def _paid(question: Any, to: Destination, working: Working, **price: Any) -> int:
    """Release it, hand it over, and give the status to end with."""
    answer = None
    try:
        answer = question.release(**price)
        return deliver(answer, to, working)
    except BaseException as failure:
        by_hand = isinstance(failure, (KeyboardInterrupt, SystemError))  # the latter is what compiled loops make of it
        if by_hand and answer is not None:  # stopped on the way: once more, without what takes time
            return deliver(answer, to, working, stopped=failure)
        answered = getattr(failure, "answered", None)  # those aggregates of several that were released before it failed
        if answered is not None:
            deliver(answered, to, working, stopped=failure if by_hand else None)
        if not by_hand:
            raise
        say_stopped(to.ledger)
        return STOPPED


def _check(wanted: _Wanted, epsilon: str | None, within: float | None, ledger: str | None, *, preview: bool) -> None:
    """Whatever can be refused is refused before the table is opened."""
    if (epsilon is None) == (within is None):
        raise BadInput(
            "epsilon", "say either what it may cost or how close answers must be", "pass --epsilon 0.5 or --within 10"
        )
    if wanted.sql is not None and (wanted.by or wanted.where or wanted.algorithm):
        raise BadInput("sql", "says it all", "leave out --by, --where and --algorithm, or --sql")
    if ledger is None and not preview:
        remedy = "pass --ledger budget.db, and --budget 1 the first time"
        raise BadInput("ledger", "is missing: charges have to be remembered", remedy)


def _check_files(to: Destination, data: str, schema: Path) -> None:
    """A file that cannot be written, or must not be, is refused before anything is charged."""
    from jostle import plots

    others: dict[str, str | Path | None] = {"data": data, "schema": schema, "ledger": to.ledger}
    for option, path, endings in (("out", to.out, (".csv", ".json")), ("plot", to.plot, (".html", ".png"))):
        if path is None:
            continue
        if path.suffix not in endings:
            raise BadInput(option, f"{path.name} does not end in {' or '.join(endings)}", "give it such a name")
        check_writable(option, path)
        check_apart(option, path, others)
        others[option] = path
    if to.plot is not None:
        plots.savable(to.plot, "plot")


def _opened(data: str, **keywords: Any) -> Table:
    from jostle.tables.opening import open as open_table

    return open_table(data, **keywords)


def _question(opened: Table, wanted: _Wanted) -> Any:
    if wanted.sql is not None:
        return opened.ask_sql(wanted.sql)
    rows = opened if wanted.where is None else opened.where(wanted.where)
    if wanted.by:
        return rows.ask(*wanted.by, algorithm=wanted.algorithm)
    if wanted.algorithm is not None:
        raise BadInput("algorithm", "is for histograms", "name a column with --by, or leave it out")
    return rows.ask_count()


def _check_lines(question: Any, to: Destination) -> None:
    """Refuse what would have to be cut short on its way to a terminal, before it is paid for."""
    lines = max((len(labels) for labels in getattr(question, "about", {}).values()), default=0)
    if lines > MOST_LINES and to.form == "text" and to.out is None:
        raise BadInput("out", f"is missing: there will be {lines:,} answers", "name a file for them, or use --format csv")


def _foretell(question: Any, epsilon: str | None, within: float | None, rows: int | None, form: Format) -> None:
    price = epsilon if epsilon is not None else question.epsilon_within(within)
    if rows is not None and getattr(question, "kind", None) != "mean":
        raise BadInput("rows", "is for the preview of a mean", "leave it out")
    shown = question.preview(epsilon=price) if rows is None else question.preview(epsilon=price, rows=rows)
    if form == "text":
        typer.echo(f"{question.what}: {shown}\nNothing was charged.")
        return
    facts = {
        "what": question.what,
        "epsilon": str(shown.epsilon),
        "margin": shown.margin,
        "widest": shown.widest,
        "algorithm": shown.algorithm,
        "reckoned_by": shown.stand_in,
    }
    typer.echo(json.dumps(facts, ensure_ascii=False) if form == "json" else _csv_line(facts), nl=form == "json")


def _csv_line(facts: dict[str, Any]) -> str:
    import pandas as pd

    return str(pd.DataFrame([facts]).to_csv(index=False))
