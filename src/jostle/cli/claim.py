"""`jostle claim`: what a ledger lets one claim, as a page that can be handed over."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from jostle.cli.budget import LedgerArgument
from jostle.cli.terminal import check_apart, check_writable


def claim(
    ledger: LedgerArgument,
    account: Annotated[str | None, typer.Option("--account", help="Only this account.", show_default=False)] = None,
    form: Annotated[
        Literal["md", "json"], typer.Option("--format", help="Markdown for people, or JSON for programs.")
    ] = "md",
    out: Annotated[Path | None, typer.Option(help="Write it to this file.", show_default=False)] = None,
) -> None:
    """Write one page about what was released and what it guarantees, for a data protection officer.

    In the terms of NIST SP 800-226: what is protected, from whom, the unit, the neighbours and the measure; what was
    released when and for what; which proofs and audits stand behind it; and what is not covered. It reads only the ledger.
    Exit codes: 0 written, 2 refused, 4 the ledger cannot be reached, or does not add up.
    """
    from jostle.answers.claim import Claim
    from jostle.tables.budget_source import ledger_at

    if out is not None:
        check_writable("out", out)
        check_apart("out", out, {"ledger": ledger})
    with ledger_at(ledger, create=False) as book:
        found = Claim.of(book.statement(account))
    text = found.to_json() + "\n" if form == "json" else found.to_markdown()
    if out is None:
        typer.echo(text, nl=False)
    else:
        out.write_text(text, "utf-8")
