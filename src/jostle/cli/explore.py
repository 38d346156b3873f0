"""`jostle explore`: compare algorithms on public data, and release your own tables, in a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from jostle.kernel.errors import BadInput

if TYPE_CHECKING:
    from jostle.explorer.access import Access


def explore(
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 0,
    host: Annotated[
        str, typer.Option(help="The address to bind to. Other machines can reach all but 127.0.0.1.")
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
    selector: Annotated[
        list[Path] | None,
        typer.Option(help="A selector's file to show beside the shipped ones.", show_default=False),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the address, the link and the token for a script, once it listens.")
    ] = False,
) -> None:
    """Compare algorithms, see why one is chosen, release your own table and compare classifiers, in a browser."""
    try:
        from jostle.explorer import serving
    except ImportError:
        raise BadInput("explore", "the explorer's packages are not installed", "pip install 'jostle[explorer]'") from None
    console = Console(stderr=as_json, highlight=False)

    def say(text: str, style: str = "") -> None:
        console.print(Text(text, style), soft_wrap=True)  # not markup: an address may have brackets

    def started(access: Access) -> None:
        typer.echo(json.dumps({"address": access.address, "link": access.link(), "token": access.token}))

    announce = started if as_json else None
    serving.serve(host=host, port=port, browser=browser, selectors=selector or [], say=say, started=announce)
