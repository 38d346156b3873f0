"""`jostle explore`: look at algorithms on public data, and release one's own, in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from jostle.kernel.errors import BadInput


def explore(
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 0,
    host: Annotated[
        str, typer.Option(help="The address to bind to. Other machines can reach any but 127.0.0.1.")
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
    selector: Annotated[
        list[Path] | None, typer.Option(help="A selector's file, to look at beside those shipped.", show_default=False)
    ] = None,
) -> None:
    """Compare algorithms, see why one is chosen, release your own table and compare classifiers, in a browser."""
    try:
        from jostle.explorer import serving
    except ImportError:
        raise BadInput("explore", "the explorer's packages are not installed", "pip install 'jostle[explorer]'") from None
    console = Console(highlight=False)

    def say(text: str, style: str = "") -> None:
        console.print(Text(text, style), soft_wrap=True)  # not markup: an address may have brackets

    serving.serve(host=host, port=port, browser=browser, selectors=selector or [], say=say)
