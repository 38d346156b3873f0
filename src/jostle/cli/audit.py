"""`jostle audit`: attacks on jostle's own promises, on this machine."""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.random import Generator

    from jostle.audit.campaign import AuditJob, Kept
    from jostle.audit.charges import ChargeVerdict
    from jostle.audit.examine import Verdict
    from jostle.audit.fuzz import Target

WIDTH = 140

_WORDS = (
    *("audit", "bench", "budget", "classify", "demo", "train", "kernel", "learn", "--help"),
    *("--epsilon", "--seed", "--only", "--json", "--full", "--", "-1", "", "--seed=x", "--only="),
)


def audit(
    full: Annotated[bool, typer.Option("--full/--quick", help="A night's work, or minutes.")] = False,
    primitives: Annotated[
        bool, typer.Option("--primitives", help="Instead: mechanisms with a known worst case, until most of ε is found.")
    ] = False,
    replay: Annotated[
        bool,
        typer.Option("--replay", help="Instead: record releases, run them again on neighbours."),
    ] = False,
    pairs: Annotated[int, typer.Option(help="Neighbouring pairs per subject of --replay.")] = 200,
    only: Annotated[
        list[str] | None, typer.Option(help="Only entries of this family, or whose name begins like this; may be repeated.")
    ] = None,
    faults: Annotated[int, typer.Option(help="Instead: kill a releasing process this often; try broken disks.")] = 0,
    fuzz: Annotated[int, typer.Option(help="Instead: call the public functions with this many odd arguments.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Processes; by default one per core.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Store verdicts here, and continue from those there; with --replay, a report in JSON."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seeds simulated noise, faults and odd arguments.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print numbers for a script.")] = False,
) -> None:
    """Look for privacy losses beyond what is claimed. Exits with status 1 if there is a finding, which is shown in full.

    For every mechanism, operator and algorithm, jostle samples on neighbouring inputs that are hard for it, searches for the
    event that distinguishes them best, and computes the ε, or ρ, that this proves. Then it compares every plan's charges
    with what its operators spent. A full audit first tries all pairs of inputs, says how long the rest will take, and
    continues with the most revealing ones. You can stop at any time; the same command continues from there.
    """
    console = Console(stderr=as_json, highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, WIDTH)  # do not wrap lines in a file
    if faults:
        found = _faults(faults, seed, console)
    elif fuzz:
        found = _fuzz(fuzz, seed, console)
    elif replay:
        from jostle.cli.audit_replay import replayed

        found = replayed(console, only=only, pairs=pairs, workers=workers, out=out, seed=seed, as_json=as_json)
    else:
        depth = "full" if full else "primitives" if primitives else "quick"
        found = _audit(console, depth=depth, only=only, workers=workers, out=out, seed=seed, as_json=as_json)
    if found:
        raise typer.Exit(1)


def _audit(
    console: Console, *, depth: str, only: list[str] | None, workers: int | None, out: Path | None, seed: int, as_json: bool
) -> bool:
    from jostle.audit import campaign, catalogue
    from jostle.audit.charges import audit_charges, audit_tables
    from jostle.simulate.parallel import cores

    entries = catalogue.select(only)
    kept = campaign.Kept(out or (Path("jostle-audit.jsonl") if depth == "full" else None))
    crew = workers or cores()
    if depth == "primitives":
        todo = campaign.primitives(entries, seed=seed)
    else:
        todo = campaign.jobs(entries, full=depth == "full", seed=seed)
    verdicts = _verdicts(console, dict.fromkeys(todo, 1.0), crew, kept)
    if depth == "full":
        rest = campaign.deeper(todo, kept.verdicts)
        _show_rest(console, rest, crew, kept)
        verdicts += _verdicts(console, rest, crew, kept)
    verdicts.sort(key=lambda verdict: (verdict.family, verdict.name, verdict.neighbours, verdict.engine, verdict.claimed))
    charges = [] if only or depth == "primitives" else [*audit_charges(), *audit_tables()]
    if as_json:
        shown = {"verdicts": [verdict.to_json() for verdict in verdicts], "charges": [_charge(one) for one in charges]}
        typer.echo(json.dumps(shown, ensure_ascii=False))
    else:
        _show(console, verdicts, charges)
    return any(verdict.finding for verdict in verdicts) or not all(one.agrees for one in charges)


def _verdicts(console: Console, weights: Mapping[AuditJob, float], workers: int, kept: Kept) -> list[Verdict]:
    from jostle.audit import campaign

    found = []
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("auditing", total=sum(weights.values()))
        for job, verdict in campaign.run(list(weights), workers=workers, kept=kept):
            found.append(verdict)
            progress.advance(task, weights[job])
            if verdict.finding:
                _show_finding(console, verdict)
    return found


def _show_rest(console: Console, rest: Mapping[AuditJob, float], workers: int, kept: Kept) -> None:
    left = [seconds for job, seconds in rest.items() if job not in kept.verdicts]
    hours = sum(left) / 3600
    console.print(
        f"All pairs were tried. {len(left):,} of {len(rest):,} go on with fresh samples: about {hours:.1f} hours of "
        f"processor time, or {hours / workers:.1f} hours with {workers} process{'' if workers == 1 else 'es'}."
    )


def _show(console: Console, verdicts: Sequence[Verdict], charges: Sequence[ChargeVerdict]) -> None:
    table = Table(title="What samples prove about ε, or about ρ", title_justify="left", box=None, pad_edge=False)
    for heading in ("entry", "neighbours", "noise", "claimed", "proven", "of it", "confidence", "samples", "verdict"):
        left = heading in ("entry", "neighbours", "noise", "verdict")
        table.add_column(heading, justify="left" if left else "right", overflow="fold")
    for one in verdicts:
        numbers = (
            f"{one.symbol} = {one.claimed:g}",
            f"{one.bound:.3f}",
            f"{one.tightness:.0%}",
            f"1 − {1 - one.confidence:.0e}",
        )
        cells = (one.name, one.neighbours, one.engine, *numbers, f"{one.samples:,}", one.verdict)
        table.add_row(*map(Text, cells), style="bold red" if one.finding else None)
    console.print(table)
    wrong = [charge for charge in charges if not charge.agrees]
    for odd in wrong:
        console.print(
            f"[bold red]FINDING[/] {odd.name}, {odd.neighbours}: granted ε = {odd.granted}, operators spent "
            f"{odd.heard}, the ledger has {odd.charged}"
        )
    if charges:
        console.print(f"\nCharges: {len(charges) - len(wrong)} of {len(charges)} releases were charged exactly.")
    _show_tightness(console, verdicts)
    findings = sum(one.finding for one in verdicts)
    seconds = sum(one.seconds for one in verdicts)
    console.print(
        f"{len(verdicts)} verdicts, {findings} finding{'' if findings == 1 else 's'}; {seconds:,.0f} s of processor time."
    )


def _show_tightness(console: Console, verdicts: Sequence[Verdict]) -> None:
    from jostle.audit.campaign import ENOUGH, loosest, unknown

    found = loosest(verdicts)
    little = [f"{name} ({neighbours}) {part:.0%}" for (name, neighbours), part in found.items() if part < ENOUGH]
    if found:
        enough = f"{len(found) - len(little)} of {len(found)}"
        console.print(f"\nWhere the worst case is known, at least {ENOUGH:.0%} of ε was found for {enough}.")
    if little:
        console.print(Text(f"Less was found for {', '.join(little)}; more samples may help."))
    for (name, neighbours), why in unknown(verdicts).items():
        console.print(Text(f"Worst case not seen: {name} ({neighbours}): {why}."))


def _show_finding(console: Console, one: Verdict) -> None:
    console.print(
        Text(
            f"FINDING {one.name} under {one.neighbours}, {one.engine} noise: {one.symbol} is at least {one.bound:.3f}, "
            f"claimed is {one.claimed:g}.\n  pair:  {one.pair}\n  event: {one.event}",
            style="bold red",
        )
    )


def _charge(one: ChargeVerdict) -> dict[str, object]:
    exact = {"granted": str(one.granted), "heard": str(one.heard), "charged": str(one.charged)}
    return {"name": one.name, "neighbours": one.neighbours, **exact, "agrees": one.agrees}


def _faults(kills: int, seed: int, console: Console) -> bool:
    from jostle.audit.faults import every_fault

    broken = False
    for outcome in every_fault(kills=kills, seed=seed):
        broken |= not outcome.held
        console.print(f"{'[green]holds  [/]' if outcome.held else '[bold red]FINDING[/]'} {outcome.name}: {outcome.seen}")
    return broken


def _fuzz(cases: int, seed: int, console: Console) -> bool:
    from jostle.audit.fuzz import fuzz
    from jostle.cli.terminal import Working

    with Working() as working:
        working.on(f"Trying {cases:,} odd arguments")
        crashes = fuzz(cases=cases, seed=seed, more=[_command_line()])
    for crash in crashes[:20]:
        console.print(Text(f"FINDING {crash}", style="bold red"))
    console.print(f"{cases:,} cases; {len(crashes)} ended in neither an answer nor a refusal.")
    return bool(crashes)


def _command_line() -> Target:
    """The parsers of all commands, with odd arguments. The last argument is unknown, so that no command ever starts."""
    from jostle.audit.fuzz import Target
    from jostle.audit.hostile import NASTY
    from jostle.cli.main import app

    def call(arguments: list[str]) -> None:
        with suppress(SystemExit), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            app([*arguments, "--no-such-option"])

    def odd(generator: Generator, usual: list[str]) -> list[str]:
        return [str(generator.choice(_WORDS if generator.random() < 0.7 else NASTY)) for _ in range(4)]

    return Target("command line", call, {"arguments": []}, odd)
