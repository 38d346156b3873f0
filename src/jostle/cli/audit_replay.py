"""`jostle audit --replay`: releases are recorded, and run again on neighbours with the same outcomes."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jostle.audit.replay import ReplayVerdict


def replayed(
    console: Console, *, only: list[str] | None, pairs: int, workers: int | None, out: Path | None, seed: int, as_json: bool
) -> bool:
    """Replay all subjects, or these, and report. Returns whether two neighbours were told apart."""
    from jostle.audit.replay import catalogue
    from jostle.kernel.errors import BadInput
    from jostle.simulate.parallel import cores

    if pairs < 1:
        raise BadInput("pairs", f"must be at least 1, got {pairs}", "pass for instance 200")
    subjects, verdicts, started = catalogue.select(only), list["ReplayVerdict"](), time.monotonic()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("replaying", total=len(subjects))
        for verdict in catalogue.run(subjects, pairs=pairs, seed=seed, workers=workers or cores()):
            verdicts.append(verdict)
            progress.update(task, advance=1, description=f"replaying ({verdict.name})")
            if out is not None:  # after each, so that nothing is lost if it is stopped
                report = _report(verdicts, time.monotonic() - started)
                out.write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n", "utf-8")
            for problem in verdict.problems:
                console.print(Text(f"DIVERGENCE {verdict.name}: {problem}", style="bold red"))
    verdicts.sort(key=lambda one: (one.family, one.name))
    report = _report(verdicts, time.monotonic() - started)
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False))
    else:
        _show(console, verdicts, report)
    return bool(report["divergences"])


def _report(verdicts: Sequence[ReplayVerdict], seconds: float) -> dict[str, Any]:
    return {
        "subjects": len(verdicts),
        "pairs": sum(one.pairs for one in verdicts),
        "draws": sum(one.draws for one in verdicts),
        "divergences": sum(one.divergences for one in verdicts),
        "cpu_seconds": round(sum(one.seconds for one in verdicts), 2),
        "seconds": round(seconds, 2),
        "verdicts": [asdict(one) for one in verdicts],
    }


def _show(console: Console, verdicts: Sequence[ReplayVerdict], report: dict[str, Any]) -> None:
    table = Table(title="Releases replayed on neighbours", title_justify="left", box=None, pad_edge=False)
    for heading in ("subject", "pairs", "charges and draws", "largest loss, of ε", "CPU s", "divergences"):
        table.add_column(heading, justify="left" if heading == "subject" else "right", overflow="fold")
    for one in verdicts:
        numbers = (f"{one.pairs:,}", f"{one.draws:,}", f"{one.worst:.0%}", f"{one.seconds:.1f}", f"{one.divergences:,}")
        table.add_row(*map(Text, (one.name, *numbers)), style="bold red" if one.divergences else None)
    console.print(table)
    found, asked = report["divergences"], report["subjects"]
    took = f"{report['cpu_seconds']:,.0f} s of processor time in {report['seconds']:,.0f} s"
    console.print(
        f"\n{asked} subject{'' if asked == 1 else 's'}, {report['pairs']:,} neighbouring pairs, {found:,} "
        f"divergence{'' if found == 1 else 's'}; {took}."
    )
