"""`jostle release`: from a file or a database to a private release, with the charge in a ledger."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from jostle.cli.delivery import Destination, check_destination, pay_and_deliver
from jostle.cli.table_options import EpsilonOption, RhoOption, TableOptions, WhereOption, about_a_table, cap_of
from jostle.cli.terminal import Format, Working, say, words
from jostle.kernel.budget import PURE, Price
from jostle.kernel.errors import BadInput
from jostle.tables.aggregate_texts import parse_aggregates

if TYPE_CHECKING:
    from jostle.tables.aggregates import Aggregate
    from jostle.tables.table import Table

MOST_LINES = 1000
"""More lines of answers are not printed as text: a terminal would lose some of what was paid for."""


@about_a_table
def release(
    table: TableOptions,
    by: Annotated[
        list[str] | None, typer.Option(help="Count rows by this column; for several, repeat it or use commas.")
    ] = None,
    aggregate: Annotated[
        list[str] | None,
        typer.Option(help="Per group, such as average=mean(cost) or p90=quantile(cost, 0.9); repeat it or use commas."),
    ] = None,
    keys: Annotated[
        Literal["private"] | None,
        typer.Option(help="private: show the groups that enough people have, where nobody can list them; needs a δ."),
    ] = None,
    wide: Annotated[
        bool, typer.Option("--wide", help="Print two group columns as a cross table, without intervals.")
    ] = False,
    where: WhereOption = None,
    sql: Annotated[str | None, typer.Option(help="Ask in SQL instead: SELECT … FROM … WHERE … GROUP BY ….")] = None,
    lookup: Annotated[
        list[str] | None,
        typer.Option(help="A public table to join in --sql: name=file.csv, or .parquet; repeat it for several."),
    ] = None,
    batch: Annotated[
        Path | None, typer.Option(help="Ask all questions of this .toml file together, each a [[question]], at one price.")
    ] = None,
    epsilon: EpsilonOption = None,
    rho: RhoOption = None,
    within: Annotated[float | None, typer.Option(help="Instead of ε: the largest error to accept, at 95 %.")] = None,
    preview: Annotated[bool, typer.Option("--preview", help="Show the expected error, and charge nothing.")] = False,
    rows: Annotated[int | None, typer.Option(help="With --preview: about how many rows you expect in all.")] = None,
    delta: Annotated[str | None, typer.Option(help="The δ beside the ε of --budget, for instance 1e-6.")] = None,
    algorithm: Annotated[str | None, typer.Option(help="Use this algorithm instead of the one that jostle picks.")] = None,
    data_version: Annotated[
        str | None,
        typer.Option(
            help="Which state of the data this is, such as 2026-10: what was released of it is used again.",
            show_default=False,
        ),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask anew, whatever is remembered of this version.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the answers to this .csv, .parquet, .xlsx or (with the charge) .json file."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the answers, with error bars, into this .svg, .html or .png file.")
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="What is printed: text, csv or json.")] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    together: Annotated[
        bool, typer.Option("--together", help="Wider intervals, which hold all at once with 95 % confidence.")
    ] = False,
    notes: Annotated[
        bool, typer.Option("--notes", help="Begin CSV with what the numbers leave out, in lines that begin with #.")
    ] = False,
) -> None:
    """Release counts of a private table, with error bars, and write down what they cost.

    Exit codes: 0 done; 2 refused; 3 not enough budget; 4 the data, the engine or the ledger cannot be reached; 5 released
    and charged, but something could not be written or simulated (the message says where the answers are); 130 stopped; 1 a
    fault of a program (the ledger shows what was charged).
    """
    form = "json" if as_json else form
    if by and not any(map(words, by)):
        raise BadInput("by", "names no column", "name one, or leave it out to count all rows")
    groups = [name for text in by or [] for name in words(text)]
    to = Destination(out=out, plot=plot, form=form, ledger=str(table.ledger), wide=wide, together=together, notes=notes)
    if [epsilon, rho, within].count(None) != 2:
        problem = "is missing" if (epsilon, rho, within) == (None, None, None) else "is one of three ways to say the price"
        raise BadInput("epsilon", problem, "pass one of --epsilon 0.5, --rho 0.01 or --within 10")
    ledger, cap = table.ledger, cap_of(table.budget, delta)
    parts = {"by": groups, "where": where, "algorithm": algorithm, "aggregate": aggregate, "sql": sql, "batch": batch}
    _check_parts({name: part for name, part in parts.items() if part}, wide=wide)
    aggregates = parse_aggregates(aggregate) if aggregate else {}
    if lookup and sql is None:
        raise BadInput("lookup", "is a table to join in a statement", "pass --sql, or leave it out")
    lookups: Mapping[str, Any] = {}
    if lookup:
        from jostle.cli.lookups import lookups_of

        lookups = lookups_of(lookup, table.data)
    if not preview:
        check_destination(to, table.data, table.schema)
    if rows is not None and not preview:
        raise BadInput("rows", "is for a preview", "leave it out, or pass --preview")
    with Working() as working, ExitStack() as until_done:
        working.on("Opening the table")
        known = data_version is not None and ledger is not None and not fresh
        if preview and not known:  # nothing will be charged, so no ledger is needed, and none is written to
            folder = until_done.enter_context(TemporaryDirectory(prefix="jostle-"))
            ledger, cap = str(Path(folder) / "preview.db"), cap_of("1,1e-6") if keys and cap is None else cap or "1"
        private = table.open(ledger=ledger, budget=cap, version=None if fresh else data_version)
        whole = _whole_question(private, sql, batch, keys, lookups)
        question = whole or _question(private, groups, where, algorithm, aggregates, keys)
        if together and (wide or not question.holds_together):
            problem = "is for histograms, and for groups of which counts, sums, means and variances are asked"
            raise BadInput("together", problem, "leave it out, or ask for the others by themselves")
        working.on("Working out the error" if preview else "Counting rows and drawing noise")
        if preview:
            price = epsilon if rho is None else Price.of(None, rho)
            _show_preview(question, price, within, rows, form, working)
            return
        _check_lines(question, to)
        pay_and_deliver(lambda: question.release(epsilon=epsilon, within=within, rho=rho), to, working)


def _check_parts(parts: Mapping[str, Any], *, wide: bool) -> None:
    """Refuse parts of a question that do not go together."""
    for whole, problem in (("sql", "is the whole question"), ("batch", "has all questions")):
        if whole in parts and len(parts) > 1:
            others = ", ".join(f"--{name}" for name in parts if name != whole)
            raise BadInput(whole, problem, f"leave out {others}, or --{whole}")
    if "algorithm" in parts and "aggregate" in parts:
        raise BadInput("algorithm", "is for histograms", "leave it out, or leave out --aggregate")
    if wide and ("aggregate" not in parts or len(parts.get("by", ())) != 2):
        raise BadInput("wide", "is for aggregates by two columns", "name both, --by ward,sex, and an --aggregate")


def _whole_question(
    private: Table, sql: str | None, batch: Path | None, keys: str | None, lookups: Mapping[str, Any]
) -> Any:
    """The question that a statement or a file is; None without either."""
    if batch is not None:
        from jostle.cli.batch_files import read_batch

        return read_batch(batch, private)
    return None if sql is None else private.ask_sql(sql, keys=keys, lookups=lookups)


def _question(
    private: Table,
    groups: Sequence[str],
    where: str | None,
    algorithm: str | None,
    aggregates: Mapping[str, Aggregate],
    keys: str | None,
) -> Any:
    rows = private if where is None else private.where(where)
    for option, names in (("by", groups), ("aggregate", [one.column for one in aggregates.values() if one.column])):
        for name in names:
            try:
                private.schema.column(name)
            except BadInput as refused:
                raise BadInput(option, refused.problem, refused.remedy) from None
    if aggregates or keys is not None:
        return rows.ask_groups(groups, aggregates or parse_aggregates(["count"]), keys=keys)
    if groups:
        return rows.ask(*groups, algorithm=algorithm)
    if algorithm is not None:
        raise BadInput("algorithm", "is for histograms", "name a column with --by, or leave it out")
    return rows.ask_count()


def _check_lines(question: Any, to: Destination) -> None:
    """Refuse, before it is paid for, an answer that is too long for a terminal."""
    lines = max((len(labels) for labels in getattr(question, "about", {}).values()), default=0)
    if lines > MOST_LINES and to.form == "text" and to.out is None:
        raise BadInput("out", f"is missing: there will be {lines:,} answers", "name a file for them, or use --format csv")


def _show_preview(
    question: Any, epsilon: str | Price | None, within: float | None, rows: int | None, form: Format, working: Working
) -> None:
    price = epsilon if epsilon is not None else question.price_within(within)
    shown = question.preview(epsilon=price) if rows is None else question.preview(epsilon=price, rows=rows)
    working.stop()
    if form == "text":
        say(f"{question.what[:1].upper()}{question.what[1:]}\n{shown}\nNothing was charged.")
        if question.table._budget.memory is None:
            say("Tip: with --data-version (such as 2026-10), later questions can use this release again at no cost.")
        return
    facts = {
        "what": question.what,
        "epsilon": str(shown.epsilon),
        "margin": shown.margin,
        "widest": shown.widest,
        "algorithm": shown.algorithm,
        "reckoned_by": shown.stand_in,
    }
    if shown.assumed:
        facts["assumed"] = shown.assumed
    if shown.measure != PURE:
        facts = {"what": facts["what"], "measure": shown.measure, "rho": facts.pop("epsilon")} | facts
    margins = getattr(shown, "margins", None)
    if margins is not None:  # what depends on an unknown number of rows has no margin
        facts |= {"margin": _known(shown.margin), "widest": _known(shown.widest)}
        facts |= {f"margin of {name}": _known(off) for name, off in margins.items()}
    typer.echo(json.dumps(facts, ensure_ascii=False) if form == "json" else _csv_line(facts), nl=form == "json")


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number


def _csv_line(facts: dict[str, Any]) -> str:
    from jostle.schema.rows import Rows

    return Rows({name: [fact] for name, fact in facts.items()}).to_csv()
