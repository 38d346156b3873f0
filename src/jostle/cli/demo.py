"""`jostle demo`: the whole story in a minute, on public data: a table, a preview, a release, and what was spent."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from jostle.cli.terminal import OVERDRAFT, check_apart, check_writable
from jostle.kernel.budget import exact, round_down, round_up
from jostle.kernel.errors import BadInput, Overdraft

if TYPE_CHECKING:
    from jostle.cli.demo_story import Story

WIDEST = 96
"""Prose is not set wider than this, whatever the terminal."""

INDENT = 3
"""Of everything below a title."""


def demo(
    out: Annotated[Path, typer.Option(help="Where the page goes.")] = Path("jostle-demo.html"),
    epsilon: Annotated[float, typer.Option(help="The privacy budget of the release.")] = 0.1,
    ledger_file: Annotated[Path, typer.Option("--ledger", help="Where the budget is kept.")] = Path("jostle-demo.db"),
    browser: Annotated[
        bool | None, typer.Option("--open/--no-open", help="Open the page; where a person is looking, unless said.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print where the page is, and nothing else.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print numbers for a script.")] = False,
) -> None:
    """Tell the whole story in a minute, on public data: a table, a preview, a private release, and what was spent.

    29,501 people of a public census stand in for private ones. Each run spends from the budget in the ledger, as it would
    with yours. Exit codes: 0 done, 2 asked wrongly, 3 the budget is spent, 4 the ledger cannot be used.
    """
    exact(epsilon)
    for option, target in (("out", out), ("ledger", ledger_file)):
        if not target.absolute().parent.is_dir():
            raise BadInput(option, f"the folder of {target} does not exist", "name one that does")
    if out.suffix != ".html":
        raise BadInput("out", f"{out.name} does not end in .html", "give it such a name")
    check_writable("out", out)
    check_apart("out", out, {"ledger": ledger_file})
    story = _told(epsilon, ledger_file, out)
    if as_json:
        typer.echo(json.dumps(story.to_json() | {"page": str(out)}, ensure_ascii=False))
    elif quiet:
        typer.echo(str(out))
    else:
        _show(story, out, Console(highlight=False))
    if _looked_at() and not as_json and not quiet if browser is None else browser:
        import webbrowser

        webbrowser.open(out.absolute().as_uri())


def _told(epsilon: float, ledger_file: Path, out: Path) -> Story:
    from jostle.cli.terminal import Working

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
        f"That is what happens to private data, too. These are public: remove {escape(str(ledger_file))} to begin again, or "
        "name another file with --ledger."
    )
    raise typer.Exit(OVERDRAFT)


def _looked_at() -> bool:
    """Whether somebody sits before a screen: not a pipe, not a build machine, not a server without a display."""
    display = sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return sys.stdout.isatty() and not os.environ.get("CI") and bool(display)


def _show(story: Story, out: Path, console: Console) -> None:
    console.width = min(console.width, WIDEST)
    for chapter in (_table_chapter, _preview_chapter, _release_chapter, _others_chapter, _budget_chapter):
        chapter(story, console)
    _title(console, 6, "To look at")
    _say(console, f"{out} has the same with pictures. Then try: jostle budget {story.ledger}, or jostle explore.")
    console.print()


def _table_chapter(story: Story, console: Console) -> None:
    from jostle.cli.demo_story import CAP, CELLS, NAME, WIDTH

    _title(console, 1, "A table, and what is publicly known of it")
    _say(
        console,
        f"{story.rows:,} working people of the United States census of 2000. They are public, so that you can check what "
        "follows; the program treats them as if they were not.",
    )
    _code(
        console,
        "import jostle",
        "from jostle.datasets import census",
        "",
        "people = jostle.open(",
        f'    census(), schema={{"income": jostle.Real(0, {CELLS * WIDTH}, bins={CELLS})}},',
        f'    ledger="{story.ledger}", budget={CAP}, name="{NAME}",',
        ")",
    )


def _preview_chapter(story: Story, console: Console) -> None:
    from jostle.cli.demo_story import CELLS, WIDTH

    _title(console, 2, "A preview, before anything is spent")
    _say(
        console,
        f"How many people earn up to ${WIDTH}, up to ${2 * WIDTH}, … a week? How close each ε would bring us follows from "
        "the question alone.",
    )
    _code(
        console,
        f'question = people.ask_ranges("income", jostle.workloads.prefix({CELLS}))',
        f"question.preview(epsilon={round_up(story.released.spent):g})",
    )
    console.print()
    table = _table("ε>", "people, at 95 %>", "")
    for one in story.previews:
        taken = one.epsilon == story.released.spent
        cells = (f"{round_up(one.epsilon):g}", f"±{one.margin:,.0f}", "← this one" if taken else "")
        table.add_row(*cells, style="bold" if taken else None)
    _indented(console, table)


def _release_chapter(story: Story, console: Console) -> None:
    from jostle.cli.demo_story import SHOWN, WIDTH

    _title(console, 3, "The release")
    _code(console, f"incomes = question.release(epsilon={round_up(story.released.spent):g})", "print(incomes.explain())")
    console.print()
    _say(console, story.released.explain())
    console.print()
    _say(console, "Pythia is the part of jostle that chooses. A prefix query counts everybody up to some point:")
    console.print()
    table = _table("a week", "released>", "±95 %>", "true>", "share")
    for cell in SHOWN:
        answer, margin = story.released.answers[cell], story.released.margins[cell]
        share = min(max(answer / story.rows, 0.0), 1.0)
        numbers = (f"{answer:,.0f}", f"{margin:,.0f}", f"{story.truth[cell]:,.0f}")
        table.add_row(f"up to ${(cell + 1) * WIDTH:,}", *numbers, "█" * round(12 * share) + f" {share:.0%}")
    _indented(console, table)


def _others_chapter(story: Story, console: Console) -> None:
    from jostle.cli.demo_story import TRIALS

    _title(console, 4, "Had you picked another algorithm")
    _say(
        console,
        f"By {TRIALS} simulated runs of each on the same people, which only public data allow: how far off an answer is "
        "(root mean square).",
    )
    console.print()
    table = _table("algorithm", "people>", "as far off>", "")
    for name, error in story.ranked():
        ours = name == story.name
        cells = (name, f"±{error:,.0f}", f"{story.times(name):,.1f} ×", "← this one" if ours else "")
        table.add_row(*cells, style="bold" if ours else None)
    _indented(console, table)


def _budget_chapter(story: Story, console: Console) -> None:
    spent, left = round_up(story.released.spent), round_down(story.released.remaining) + 0.0
    _title(console, 5, "The budget")
    _say(
        console,
        f"ε = {spent:g} was charged before any noise was drawn. ε = {left:g} is left for all that is ever asked of these "
        "people:",
    )
    console.print()
    table = _table("when (UTC)", "what", "ε>", "note")
    for event in story.events:
        when = event.at.replace("T", " ")[:19]
        table.add_row(when, event.operator or event.kind, f"{round_up(event.amount):g}", Text(event.note))
    _indented(console, table)


def _title(console: Console, number: int, title: str) -> None:
    console.print(f"\n[bold blue]{number}[/]  [bold]{title}[/]")


def _indented(console: Console, what: RenderableType) -> None:
    console.print(Padding(what, (0, 0, 0, INDENT), expand=False))


def _say(console: Console, text: str) -> None:
    margin = " " * INDENT
    lines = textwrap.wrap(text, console.width, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False)
    console.print(Text("\n".join(lines)), soft_wrap=True)


def _code(console: Console, *lines: str) -> None:
    shown = textwrap.indent("\n".join(lines), " " * INDENT)
    console.print("", Text(shown, style="cyan"), sep="\n", soft_wrap=True)


def _table(*headings: str) -> Table:
    """Columns with these headings; those that end in > hold numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading.rstrip(">"), justify="right" if heading.endswith(">") else "left")
    return table
