"""What `jostle budget memory` and `jostle budget --saved` show: what is remembered, and what that saved."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import typer

from jostle.cli.terminal import check_apart, check_writable
from jostle.kernel.errors import BadInput


def show_savings(ledger: str, account: str | None, *, as_json: bool) -> None:
    """What was not charged, per account."""
    from jostle.tables.budget_source import ledger_at
    from jostle.tables.memory.overview import savings

    with ledger_at(ledger, create=False) as book:
        found = savings(book, account)
    if as_json:
        typer.echo(json.dumps([asdict(one) | {"amount": str(one.amount)} for one in found], ensure_ascii=False))
        return
    for one in found:
        typer.echo(f"{one.account}: memory saved {one.in_words}.")
    if not found:
        typer.echo("Nothing was saved yet. Open a table with a version, and what is released is used again.")


def manage_memory(ledger: str, account: str, *, out: Path | None, forget: bool, before: str | None, as_json: bool) -> None:
    """List what is remembered, write it to a file, or forget it."""
    from jostle.tables.budget_source import ledger_at
    from jostle.tables.memory import overview

    if before is not None:
        if not forget:
            raise BadInput("before", "is for --forget", "pass both, or leave it out")
        try:
            before = datetime.fromisoformat(before).isoformat()
        except ValueError:
            raise BadInput("before", "must be a day or a time in UTC", "write for instance 2026-01-31") from None
    if out is not None:
        if out.suffix != ".json":
            raise BadInput("export", f"{out.name} does not end in .json", "rename it")
        check_writable("export", out)
        check_apart("export", out, {"ledger": ledger})
    with ledger_at(ledger, create=False) as book:
        listed = overview.remembered(book, account, numbers=out is not None)
        if out is not None:
            out.write_text(json.dumps(listed, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="")
        gone = overview.forget(book, account, before=before) if forget else 0
    if as_json:
        typer.echo(json.dumps({"remembered": len(listed), "forgotten": gone, "list": listed}, ensure_ascii=False))
        return
    for one in listed if out is None and not forget else []:
        typer.echo(f"{one['at'][:16].replace('T', ' ')}  {one['kind']:<11}  {one.get('what', '')}")
    numbers = sum(int(one.get("numbers", 0)) for one in listed)
    typer.echo(f"{len(listed):,} releases of {account!r} are remembered: {numbers:,} numbers.")
    if out is not None:
        typer.echo(f"They are in {out}.")
    if forget:
        typer.echo(f"{gone:,} are forgotten. What was paid for them stays paid.")
