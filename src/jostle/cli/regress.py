"""`jostle regress`: from a private table to a model that predicts a number, with the charge in a ledger."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from jostle.cli.delivery import stopped_orderly
from jostle.cli.table_options import (
    DeltaOption,
    RhoOption,
    TableOptions,
    WhereOption,
    WholePriceOption,
    about_a_table,
    stated_price,
)
from jostle.cli.terminal import Working
from jostle.kernel.errors import BadInput


@about_a_table
def regress(
    table: TableOptions,
    label: Annotated[str | None, typer.Option(help="The numbers to predict; by default the schema's last column.")] = None,
    epsilon: WholePriceOption = None,
    delta: DeltaOption = None,
    rho: RhoOption = None,
    model: Annotated[str, typer.Option(help="linear, additive, auto (one of these), logistic, or poisson.")] = "auto",
    method: Annotated[str, typer.Option(help="Of all but additive models: moments, synthetic, or auto.")] = "auto",
    test: Annotated[Path | None, typer.Option(help="Public records to test with, a text file with commas.")] = None,
    where: WhereOption = None,
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="What is printed: text or json.")] = "text",
) -> None:
    """Learn to predict a number, or one of two values; all but additive models' coefficients come with 95 % intervals.

    Exit codes: 0 done, 2 refused, 3 not enough budget, 4 the data, the engine or the ledger cannot be reached, 130 stopped.
    """
    from jostle.learn import PrivateRegressor
    from jostle.schema import Schema

    stated_price(epsilon, delta, rho)
    described = Schema.load(table.schema)
    target = label or list(described)[-1]
    asked = PrivateRegressor(epsilon, delta=delta, rho=rho, label=target, model=model, method=method)
    public = None if test is None else _public(test, described, target)
    with stopped_orderly(table.ledger), Working() as working:
        working.on("Opening the table")
        private = table.open()
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
