"""`jostle demo`: the whole story in a minute, on public data: a table, a preview, a release, and what was spent."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from jostle.cli.terminal import OVERDRAFT, Working, check_apart, check_writable
from jostle.kernel.budget import exact
from jostle.kernel.errors import BadInput, Overdraft

if TYPE_CHECKING:
    from jostle.cli.demo_story import Listing, Story

WIDEST = 96
"""Prose is not set wider than this, whatever the terminal."""

MARGIN = "   "
"""Left of everything below a title."""


def demo(
    out: Annotated[Path, typer.Option(help="Where the page goes.")] = Path("jostle-demo.html"),
    epsilon: Annotated[float, typer.Option(help="The privacy budget of the release.")] = 0.1,
    ledger_file: Annotated[Path, typer.Option("--ledger", help="Where the budget is kept.")] = Path("jostle-demo.db"),
    browser: Annotated[
        bool | None,
        typer.Option("--open/--no-open", help="Open the page in a browser; by default, on a desktop."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only where the page is.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print numbers for a script.")] = False,
) -> None:
    """Show the whole story in a minute, on public data: a table, a preview, a private release, and what was spent.

    29,501 people of a public census stand in for private ones. Each run spends from the budget in the ledger, as it would
    with your data. Exit codes: 0 done, 2 refused, 3 the budget is spent, 4 the ledger cannot be used.
    """
    exact(epsilon)
    for option, target in (("out", out), ("ledger", ledger_file)):
        if not target.absolute().parent.is_dir():
            raise BadInput(option, f"the folder of {target} does not exist", "name one that does")
    if out.suffix != ".html":
        raise BadInput("out", f"{out.name} does not end in .html", "give it such a name")
    check_writable("out", out)
    check_apart("out", out, {"ledger": ledger_file})
    story = _run(epsilon, ledger_file, out)
    if as_json:
        typer.echo(json.dumps(story.to_json() | {"page": str(out)}, ensure_ascii=False))
    elif quiet:
        typer.echo(str(out))
    else:
        _show(story, out, Console(highlight=False))
    if _on_a_desktop() and not as_json and not quiet if browser is None else browser:
        import webbrowser

        webbrowser.open(out.absolute().as_uri())


def _run(epsilon: float, ledger_file: Path, out: Path) -> Story:
    with Working() as working:
        working.on("Loading")
        from jostle.cli import demo_page
        from jostle.cli.demo_story import tell

        try:
            story = tell(epsilon, ledger_file, working.on)
        except Overdraft as spent:
            refused = spent
        else:
            demo_page.save(story, out)
            return story
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(f"[red]jostle:[/] {escape(str(refused))}")
    console.print(
        f"The same happens with private data. These are public: remove {escape(str(ledger_file))} to start again, or name "
        "another file with --ledger."
    )
    raise typer.Exit(OVERDRAFT)


def _on_a_desktop() -> bool:
    """Whether somebody sits in front of a screen: not a pipe, not a build machine, not a server without a display."""
    display = sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return sys.stdout.isatty() and not os.environ.get("CI") and bool(display)


def _show(story: Story, out: Path, console: Console) -> None:
    from jostle.cli.demo_story import Code, Listing, Picture

    console.width = min(console.width, WIDEST)
    for number, (title, parts) in enumerate(story.chapters().items(), start=1):
        console.print(f"\n[bold blue]{number}[/]  [bold]{title}[/]")
        for part in parts:
            if isinstance(part, Listing):
                console.print("", Padding(_table(part), (0, 0, 0, len(MARGIN)), expand=False), sep="\n")
            elif isinstance(part, Code):
                console.print("", Text(textwrap.indent(part, MARGIN), style="cyan"), sep="\n", soft_wrap=True)
            elif not isinstance(part, Picture):
                console.print(*([""] if part != parts[0] else []), _indented(part, console), sep="\n", soft_wrap=True)
    last = f"{out} has the same with pictures. To try other questions: jostle explore."
    console.print("", _indented(last, console), "", sep="\n", soft_wrap=True)


def _indented(text: str, console: Console) -> Text:
    lines = textwrap.wrap(text, console.width, initial_indent=MARGIN, subsequent_indent=MARGIN, break_on_hyphens=False)
    return Text("\n".join(lines))


def _table(listing: Listing) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in (*listing.head, "") if listing.marked else listing.head:
        table.add_column(heading.rstrip(">"), justify="right" if heading.endswith(">") else "left")
    for row, mark in zip(listing.rows, listing.marked or [False] * len(listing.rows), strict=True):
        table.add_row(*map(Text, row), *(["← this one"] if mark else []), style="bold" if mark else None)
    return table
