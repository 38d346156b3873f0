"""`jostle schema`: a draft of a schema, from only the names and types of a table's columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from jostle.cli.table_options import (
    ColumnsOption,
    DataArgument,
    DelimiterOption,
    EncodingOption,
    QuotedLineBreaksOption,
    SheetOption,
    TableOption,
)
from jostle.cli.terminal import all_words, check_apart, check_writable, tab_or
from jostle.kernel.errors import BadInput


def schema(
    data: DataArgument,
    out: Annotated[Path | None, typer.Option(help="Where the draft goes; by default here, named like the data.")] = None,
    table: TableOption = None,
    header: Annotated[
        bool, typer.Option("--header", help="The first line of the text file holds the columns' names.")
    ] = False,
    columns: ColumnsOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    quoted_line_breaks: QuotedLineBreaksOption = None,
    sheet: SheetOption = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was drafted, for a script.")] = False,
) -> None:
    """Draft the public description of a table. jostle reads no values: you fill in bounds and lists.

    For a text file, pass --header if its first line holds the columns' names, or name them with --columns. jostle cannot
    tell names from a record, and would print and keep a record's values.

    Every release refuses a draft until you have confirmed each column.
    """
    from jostle.schema.files import TO_CONFIRM, write_draft
    from jostle.schema.schema import TextFormat
    from jostle.tables.engines.files import stem_of
    from jostle.tables.guess_schema import check_first_line, kinds_of

    target = out or Path("schema.toml" if "://" in data else f"{stem_of(Path(data))}.toml")
    breaks = quoted_line_breaks or None
    form = TextFormat().with_settings(delimiter=tab_or(delimiter), encoding=encoding, quoted_line_breaks=breaks, sheet=sheet)
    check_writable("out", target)
    check_apart("out", target, {"data": data})
    if target.exists() and not force:
        raise BadInput("out", f"there is a file {target}", "name another with --out, or write over it with --force")
    named = all_words(columns) if columns else None
    try:
        check_first_line(data, named, header=header)
    except BadInput as refused:
        remedy = "add --header if it holds the names, or --columns age,sex with the names of all columns if it does not"
        raise BadInput("header", refused.problem, "leave out --header or --columns" if header else remedy) from None
    found = kinds_of(data, table=table, columns=named, header=header, form=form)
    write_draft(found, target, form)
    if as_json:
        drafted = {"schema": str(target), "columns": found, "to_confirm": list(found)}
        typer.echo(json.dumps(drafted, ensure_ascii=False))
        return
    console = Console(highlight=False)
    console.soft_wrap = not console.is_terminal
    console.print(f"[bold]{escape(str(target))}[/] is a draft with {len(found)} columns:")
    for name, kind in found.items():
        console.print(f"  {escape(name)}: {kind}?")
    console.print(
        "\njostle read only names and types of columns: reading values to guess their range would reveal them. Replace the "
        "guesses with what you know about each column without looking at the data, delete the columns that you do not need, "
        f"and delete each line {TO_CONFIRM}. jostle refuses the file until you do."
    )
