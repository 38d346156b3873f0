"""`jostle release`: from a file or a database to a private release, with the charge in a ledger."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer
from rich.console import Console
from rich.markup import escape

from jostle.cli.terminal import UNWRITTEN, Format, Working, check_writable, words
from jostle.kernel.budget import round_down, round_up
from jostle.kernel.errors import BadInput

if TYPE_CHECKING:
    from pandas import DataFrame

    from jostle.kernel.events import Event
    from jostle.tables.table import Table

MOST_LINES = 1000
"""So many lines of answers are printed as text, all of them: what was paid for and not shown would be lost."""


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


@dataclass(frozen=True)
class _Wanted:
    """What is asked, and where the answers go."""

    by: Sequence[str]
    where: str | None
    sql: str | None
    algorithm: str | None
    out: Path | None
    plot: Path | None
    form: Format


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

    Exit codes: 0 done, 2 asked wrongly, 3 not enough budget, 4 the data, the engine or the ledger cannot be reached: nothing
    was released, and what was charged, if anything, is in the ledger. 5: released, charged and printed, but a file could not
    be written, or it was interrupted while the errors of the answers were simulated.
    """
    form = "json" if as_json else form
    wanted = _Wanted([name for text in by or [] for name in words(text)], where, sql, algorithm, out, plot, form)
    _check(wanted, epsilon, within, ledger, preview=preview)
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
            columns=words(columns) if columns else None,
            engine=engine,
            note=note,
        )
        question = _question(opened, wanted)
        working.on("Working out the error" if preview else "Counting rows and drawing noise")
        if preview:
            _foretell(question, epsilon, within, form)
            return
        _check_lines(question, wanted)
        answer: Answer = question.release(epsilon=epsilon, within=within)
        working.on("Simulating the error")
        _deliver(answer, wanted, ledger)


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
    for option, path, endings in (("out", wanted.out, (".csv", ".json")), ("plot", wanted.plot, (".html", ".png"))):
        if path is None or preview:
            continue
        if path.suffix not in endings:
            raise BadInput(option, f"{path.name} does not end in {' or '.join(endings)}", "give it such a name")
        check_writable(option, path)


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


def _check_lines(question: Any, wanted: _Wanted) -> None:
    """Refuse what would have to be cut short on its way to a terminal, before it is paid for."""
    lines = max((len(labels) for labels in getattr(question, "about", {}).values()), default=0)
    if lines > MOST_LINES and wanted.form == "text" and wanted.out is None:
        raise BadInput("out", f"is missing: there will be {lines:,} answers", "name a file for them, or use --format csv")


def _foretell(question: Any, epsilon: str | None, within: float | None, form: Format) -> None:
    price = epsilon if epsilon is not None else question.epsilon_within(within)
    shown = question.preview(epsilon=price)
    if form == "text":
        _print(f"{question.what}: {shown}\nNothing was charged.")
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


def _deliver(answer: Answer, wanted: _Wanted, ledger: str | None) -> None:
    """Print first what was paid for: if a file cannot be written after all, the answers are not lost."""
    from jostle.releases import in_ledger

    frame = _with_error_bars(answer)
    if wanted.form == "json":
        typer.echo(json.dumps(to_json(answer, frame), ensure_ascii=False))
    elif wanted.form == "csv":
        typer.echo(frame.to_csv(index=False), nl=False)
    else:
        _print(answer.explain())
        if wanted.out is None:
            shown = frame.to_string(index=False, float_format=lambda number: f"{number:,.1f}")
            typer.echo(f"\n{shown}")
    try:
        if wanted.out is not None and wanted.out.suffix == ".json":
            wanted.out.write_text(json.dumps(to_json(answer, frame), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        elif wanted.out is not None:
            frame.to_csv(wanted.out, index=False)
        if wanted.plot is not None:
            from jostle import plots

            plots.save(answer.plot(), wanted.plot)
    except (OSError, BadInput) as failure:  # the latter is of a picture that needs a browser which does not start
        if wanted.form == "text" and wanted.out is not None:
            typer.echo(frame.to_csv(index=False), nl=False)
        typer.echo(f"jostle: {failure}", err=True)
        typer.echo("A file could not be written. The answers were charged, and are on standard output: keep them.", err=True)
        raise typer.Exit(UNWRITTEN) from None
    if wanted.form == "text":
        for what, path in (("The answers are in", wanted.out), ("The picture is in", wanted.plot)):
            if path is not None:
                _print(f"{what} {path}.")
        where = _without_password(str(ledger))
        _print(f"{in_ledger(answer.charges)}\nThe charge is in {where}: jostle budget {where}")


def _with_error_bars(answer: Answer) -> DataFrame:
    """All there is to print. To simulate errors may take minutes: whoever interrupts that still gets what was paid for."""
    try:
        return answer.to_pandas()
    except (KeyboardInterrupt, SystemError, MemoryError):  # the second is what compiled loops make of the first
        for part in getattr(answer, "each", (answer,)):
            typer.echo(_plain(part).to_csv(index=False), nl=False)
        typer.echo("Stopped. The answers were charged, and are printed without their errors: keep them.", err=True)
        raise typer.Exit(UNWRITTEN) from None


def _plain(answer: Any) -> DataFrame:
    """Answers without their errors; with them where they need not be simulated."""
    import pandas as pd

    from jostle.releases import Release
    from jostle.tables.digests import Digest, Quantiles

    if isinstance(answer, Quantiles):
        return pd.DataFrame({"quantile": answer.levels, answer.column: answer.values})
    counted = answer.release if isinstance(answer, Digest) else answer
    if isinstance(counted, Release):
        return pd.DataFrame({**counted.about, "count": counted.answers})
    found: DataFrame = counted.to_pandas()
    return found


def _without_password(ledger: str) -> str:
    """Where a ledger is, for a screen that others may see.

    >>> _without_password("postgresql://anna:secret@server/budgets"), _without_password("budget.db")
    ('postgresql://anna:***@server/budgets', 'budget.db')
    >>> _without_password("postgresql://server/budgets?user=anna&password=secret")
    'postgresql://server/budgets?user=anna'
    """
    from sqlalchemy import make_url

    if "://" not in ledger:
        return ledger
    return make_url(ledger).difference_update_query(["password", "sslpassword"]).render_as_string(hide_password=True)


def to_json(answer: Answer, frame: DataFrame) -> dict[str, Any]:
    """The answers and what is public about them; amounts are exact, as texts, with floats that err on the side of less."""
    from jostle.releases import charge_facts

    facts = {
        "spent": str(answer.spent),
        "spent_float": round_up(answer.spent),
        "remaining": str(answer.remaining),
        "remaining_float": round_down(answer.remaining),
        "charge": charge_facts(answer.charges),
        "explanation": answer.explain(),
    }
    algorithm = getattr(answer, "algorithm", None)
    if algorithm is not None:
        facts |= {"algorithm": algorithm.name}
    return facts | {"answers": json.loads(frame.to_json(orient="records", double_precision=10, force_ascii=False))}


def _print(text: str) -> None:
    Console(highlight=False, soft_wrap=True).print(escape(text))
