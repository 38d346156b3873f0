"""Reports and single numbers on a terminal, a bar over work that comes in, and a page with its figures as files."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from jostle_bench.reports.sections import Section

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

T = TypeVar("T")

Row = tuple[str, float, str, str]
"""What was measured, the number, its unit and the goal."""


def new_table(title: str, headings: Sequence[str], *, left: Sequence[str]) -> Table:
    """A table without lines. Its columns hold numbers, set to the right, except for those that are named in `left`."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in left else "right")
    return table


def show_rows(title: str, rows: Sequence[Row], *, as_json: bool) -> None:
    """Print what was measured beside its goals: as a table, or for a script."""
    if as_json:
        typer.echo(json.dumps([dict(zip(("what", "measured", "unit", "goal"), row, strict=True)) for row in rows]))
        return
    from rich.console import Console

    table = new_table(title, ("what", "measured", "", "goal"), left=("what", "", "goal"))
    for what, measured, unit, goal in rows:
        table.add_row(what, f"{measured:.3g}", unit, goal)
    Console().print(table)


def seconds(work: Callable[[], Any], *, repeat: int) -> list[float]:
    """Each run's time, after one that loads what is needed and fills caches."""
    work()
    taken = []
    for _ in range(repeat):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return taken


def gather(done: Generator[T], total: int, what: str) -> list[T]:
    """All that comes in, under a bar; if that is interrupted, so is what it comes from."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as shown, closing(done):
        return list(shown.track(done, total=total, description=what))


def show(sections: Sequence[Section], console: Console, *, longest: int | None = None) -> None:
    """A report in a terminal, without its details; of a long table only the first rows, if their number is given."""
    from rich.table import Table

    for part in (part for part in sections if not part.detail):
        console.print(f"[bold]{part.title}[/]")
        for text in part.texts:
            console.print(text.replace("**", ""), markup=False)
        for grid in part.grids:
            shown = Table(box=None, pad_edge=False, title=grid.title or None, title_justify="left")
            for number, heading in enumerate(grid.headings):
                shown.add_column(heading, justify="right" if number else "left")
            for row in grid.rows[:longest]:
                shown.add_row(*(cell.replace("*", "") for cell in row))
            console.print(shown)
            if longest is not None and len(grid.rows) > longest:
                console.print(f"… and {len(grid.rows) - longest} more rows in the pages")
        if part.drawing:
            console.print(part.drawing, markup=False)
        console.print()


def save_report(file: Path, text: str, figures: dict[str, Any]) -> None:
    """Write a page of Markdown, and its figures to a .json file beside it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.with_suffix(".json").write_text(json.dumps(figures, ensure_ascii=False) + "\n", encoding="utf-8")
