"""`jostle regress`: from a private table to a model that predicts a number, with the charge in a ledger."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from jostle.cli.running import stopped_orderly
from jostle.cli.table_options import (
    BesideOption,
    BudgetOption,
    ColumnsOption,
    DataArgument,
    DecimalOption,
    DelimiterOption,
    EncodingOption,
    EngineOption,
    LedgerOption,
    NameOption,
    NeighboursOption,
    NoteOption,
    QuotedLineBreaksOption,
    RhoOption,
    SchemaOption,
    SheetOption,
    TableOption,
    ThousandsOption,
    UnitOption,
    ViewOption,
    cap_of,
    open_private,
)
from jostle.cli.terminal import Working
from jostle.kernel.errors import BadInput


def regress(
    data: DataArgument,
    schema: SchemaOption,
    ledger: LedgerOption,
    label: Annotated[str | None, typer.Option(help="The numbers to predict; by default the schema's last column.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="The privacy budget to spend, for instance 1.")] = None,
    delta: Annotated[
        str | None, typer.Option(help="With --epsilon: pay with the ρ that (ε, δ) allows, for instance 1e-6; less noise.")
    ] = None,
    rho: RhoOption = None,
    model: Annotated[str, typer.Option(help="linear, additive, auto (one of these), logistic, or poisson.")] = "auto",
    method: Annotated[str, typer.Option(help="Of all but additive models: moments, synthetic, or auto.")] = "auto",
    test: Annotated[Path | None, typer.Option(help="Public records to test with, a text file with commas.")] = None,
    where: Annotated[str | None, typer.Option(help="Only rows where this is true, for instance \"sex = 'F'\".")] = None,
    budget: BudgetOption = None,
    unit: UnitOption = None,
    neighbours: NeighboursOption = None,
    name: NameOption = None,
    beside: BesideOption = None,
    table: TableOption = None,
    columns: ColumnsOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    decimal: DecimalOption = None,
    thousands: ThousandsOption = None,
    quoted_line_breaks: QuotedLineBreaksOption = None,
    sheet: SheetOption = None,
    view: ViewOption = None,
    engine: EngineOption = "duckdb",
    note: NoteOption = "",
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="What is printed: text or json.")] = "text",
) -> None:
    """Learn to predict a number, or one of two values; all but additive models' coefficients come with 95 % intervals.

    Exit codes: 0 done, 2 refused, 3 not enough budget, 4 the data, the engine or the ledger cannot be reached, 130 stopped.
    """
    from jostle.learn import PrivateRegressor
    from jostle.schema import Schema

    if (epsilon is None) == (rho is None):
        raise BadInput("epsilon", "is the price, and so is rho", "pass --epsilon 1, --epsilon 1 --delta 1e-6, or --rho 0.01")
    described = Schema.load(schema)
    target = label or list(described)[-1]
    asked = PrivateRegressor(epsilon, delta=delta, rho=rho, label=target, model=model, method=method)
    public = None if test is None else _public(test, described, target)
    with stopped_orderly(str(ledger)), Working() as working:
        working.on("Opening the table")
        private = open_private(
            data,
            schema=schema,
            ledger=ledger,
            budget=cap_of(budget, None),
            unit=unit,
            neighbours=neighbours,
            name=name,
            beside=beside,
            table=table,
            columns=columns,
            delimiter=delimiter,
            encoding=encoding,
            decimal=decimal,
            thousands=thousands,
            quoted_line_breaks=quoted_line_breaks,
            sheet=sheet,
            view=view,
            engine=engine,
            note=note,
        )
        kept = private if where is None else private.where(where)
        working.on("Measuring and fitting")
        fitted = asked.fit(kept)
    facts = _facts(fitted, public)
    typer.echo(json.dumps(facts, ensure_ascii=False) if form == "json" else _text(fitted, facts))


def _public(path: Path, schema: Any, label: str) -> tuple[Any, Any]:
    """Public records: the attributes, and the label's numbers."""
    import pandas as pd

    from jostle.schema import Numeric

    try:
        frame = pd.read_csv(path, dtype=object, keep_default_na=False, na_values=[""])
    except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError):
        raise BadInput("test", f"{path} cannot be read", "name a text file with commas and a header") from None
    missing = [name for name in schema if name not in frame]
    if missing:
        raise BadInput("test", f"{path} lacks {', '.join(missing)}", "name a file with all columns of the schema")
    column = schema[label]
    kept = pd.Series(column.encode(frame[label].to_numpy(dtype=object)), frame.index).between(0, column.values - 1)
    if kept.sum() < 2:
        raise BadInput("test", f"{path} has fewer than two values in {label!r}", "name a file with more records")
    values = frame.loc[kept, label]
    return frame.loc[kept], pd.to_numeric(values) if isinstance(column, Numeric) else values


def _facts(fitted: Any, public: tuple[Any, Any] | None) -> dict[str, Any]:
    from jostle.answers.answer import charge_facts

    found: dict[str, Any] = {"model": fitted.model_.describe(), "charge": charge_facts(fitted.charges_)}
    if _has_intervals(fitted):
        table = fitted.coefficients().replace([float("inf"), -float("inf")], None)
        found["coefficients"] = table.to_dict(orient="records")
    if public is not None:
        found["r2"] = float(fitted.score(*public))
    return found


def _has_intervals(fitted: Any) -> bool:
    return getattr(fitted.model_.model, "exact", False)


def _text(fitted: Any, facts: dict[str, Any]) -> str:
    lines = [fitted.explain()]
    if _has_intervals(fitted):
        lines += ["", fitted.coefficients().to_string(index=False, float_format=lambda number: f"{number:,.4g}")]
        lines += ["(95 % intervals, for the same model fitted to the same records without noise)"]
    if "r2" in facts:
        lines += ["", f"R² on the public test file: {facts['r2']:.3f}"]
    return "\n".join(lines)
