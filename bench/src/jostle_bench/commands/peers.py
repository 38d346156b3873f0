"""`jostle bench peers`: jostle beside what people would use instead, on the machine at hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from jostle.cli.terminal import words
from jostle_bench.reports.terminal import save_report, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jostle_bench.peers.environments import Environment, Peer, Unavailable
    from jostle_bench.peers.jobs import Job, Outcome
    from jostle_bench.peers.parts import Asked, Part

QUICK_PEERS = "opendp,diffprivlib"
"""Those whose environments are cheap to make."""

LONGEST_TABLE = 40
"""So many rows of a table are shown in a terminal; the pages have all."""


def peers(
    quick: Annotated[bool, typer.Option("--quick", help="A few tiny cells and two peers: to see it work.")] = False,
    full: Annotated[bool, typer.Option("--full", help="What takes hours, too: 10⁸ rows.")] = False,
    only: Annotated[str | None, typer.Option(help="Peers, separated by commas; by default all.")] = None,
    parts: Annotated[
        str | None, typer.Option(help="Some of accuracy, classifiers, delta, synthetic, speed, scale; by default all.")
    ] = None,
    domains: Annotated[
        str | None, typer.Option(help="Accuracy only on these domains, for instance 256,32x32; by default all.")
    ] = None,
    tables: Annotated[
        str | None, typer.Option(help="Classifiers only on these tables, for instance hiv,adult; by default all.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder of data, results and pages; runs go on from it.")] = Path(
        "jostle-peers-results"
    ),
    envs: Annotated[Path, typer.Option(help="The folder of the peers' environments.")] = Path("jostle-peers"),
    report: Annotated[
        Path | None, typer.Option(help="Write the report to this Markdown file, and its figures to a .json file beside it.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of data, and of whatever takes a seed.")] = 0,
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure again what is kept.")] = False,
    collect: Annotated[bool, typer.Option(help="Measure what is missing; else report what is kept.")] = True,
    data: Annotated[Path | None, typer.Option(help="The folder of public data; else JOSTLE_DATA names it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print numbers for a script.")] = False,
) -> None:
    """Install each peer into an environment of its own, give all the same work, and report: first, where jostle is behind.

    The options say what is measured; the report is on everything that the folder has results of. Stop it whenever you like:
    the same command goes on where it was stopped.
    """
    from jostle.cli import delivery
    from jostle.kernel.errors import BadInput
    from jostle_bench.peers import accuracy, classifiers, environments
    from jostle_bench.peers import report as reports
    from jostle_bench.peers.parts import Asked, Findings
    from jostle_bench.reports.pages import markdown, page, plain

    if report is not None and not report.absolute().parent.is_dir():
        raise BadInput("report", f"the folder of {report} does not exist", "name one that does")
    wanted, public = _wanted(parts), _data(data)
    asked = Asked(
        peers=environments.chosen(only or (QUICK_PEERS if quick else None), environments.known()),
        folder=out,
        quick=quick,
        full=full,
        domains=accuracy.domains(domains or ""),
        tables=classifiers.named(words(tables or ""), public),
        seed=seed,
        data=public,
    )
    with delivery.stoppable():
        done, tried = _measured(wanted, asked, envs, fresh=fresh) if collect else ({}, {})
    everybody = asked.peers if quick else list(environments.known().values())
    places = {peer.name: environments.find(peer, envs) for peer in everybody} | tried
    whole = replace(asked, peers=everybody, domains=(), tables=classifiers.reported(asked))
    ran, found = {}, {}
    for part in reports.parts(list(reports.HOMES)):
        here = ran[part.name] = _kept(part, whole, done, places)
        found[part.name] = part.findings(whole, here) if here else Findings()
    pages = reports.sections(ran, places, found)
    pictures = {name: figure for one in found.values() for name, figure in one.pictures.items()}
    if any(one.comparisons for one in found.values()):
        pictures["overview"] = reports.picture(found)
    flags = {"quick": quick, "full": full, "no-collect": not collect}
    command = _command(flags, only=only, parts=parts, domains=domains, tables=tables, seed=str(seed or ""))
    _write(out / "peers.html", page(pages, pictures, command=command))
    _write(out / "peers.md", markdown(pages, command=command))
    numbers = {"command": command, **reports.numbers(ran, places, found)}
    _write(out / "peers.json", json.dumps(numbers, ensure_ascii=False) + "\n")
    if report is not None:
        figures = {name: plain(figure) for name, figure in pictures.items()}
        save_report(report, markdown(pages, command=command), figures)
    if as_json:
        typer.echo(json.dumps(numbers, ensure_ascii=False))
        return
    console = Console(highlight=False)
    show(pages, console, longest=LONGEST_TABLE)
    console.print(f"With pictures: open {out / 'peers.html'}")


def _wanted(parts: str | None) -> list[Part]:
    from jostle.kernel.errors import BadInput
    from jostle_bench.peers import report

    names = list(report.HOMES) if parts is None else words(parts)
    for name in names:
        if name not in report.HOMES:
            raise BadInput("parts", f"{name!r} is no part", f"use some of {', '.join(report.HOMES)}")
    return report.parts(names)


def _data(named: Path | None) -> Path | None:
    """The folder of public data, if one is named: without, data are made up."""
    import os

    from jostle.datasets.shapes import data_folder

    return data_folder(named) if named or os.environ.get("JOSTLE_DATA") else None


def _measured(
    wanted: Sequence[Part], asked: Asked, envs: Path, *, fresh: bool
) -> tuple[dict[str, Outcome], dict[str, Environment | Unavailable]]:
    """Do what was asked for: outcomes by the keys of their jobs, and where it was done.

    An interrupt ends the command, and what is done is kept.
    """
    from jostle.cli import running
    from jostle_bench.peers import jobs

    console, results = Console(stderr=True, highlight=False), asked.folder / "results"
    done: dict[str, Outcome] = {}
    try:
        todo = [job for part in wanted for job in part.jobs(asked)]
        places = _prepared({job.peer.name: job.peer for job in todo}, envs, console)
        with running.bar() as bar:
            shown = bar.add_task("", total=len(todo))
            for job in todo:
                bar.update(shown, description=f"{job.peer.title}: {job.kind}")
                if fresh:
                    jobs.forget(job, results)
                outcome = done[job.key] = jobs.run(job, places[job.peer.name], results)
                if outcome.status == "failed":
                    console.print(f"{job.peer.title} failed in {job.part}: {outcome.reason}", markup=False, soft_wrap=True)
                bar.advance(shown)
    except KeyboardInterrupt:
        console.print(f"Stopped. Results are kept in {results}; the same command goes on from there.", soft_wrap=True)
        raise typer.Exit(130) from None
    return done, places


def _prepared(wanted: dict[str, Peer], folder: Path, console: Console) -> dict[str, Environment | Unavailable]:
    """Everybody's environment."""
    from jostle_bench.peers import environments

    with console.status("environments") as status:
        places = {name: environments.prepare(peer, folder, status.update) for name, peer in wanted.items()}
    for place in places.values():
        if isinstance(place, environments.Unavailable):
            console.print(f"{place.peer.title} takes no part: {place.reason}", markup=False, soft_wrap=True)
    return places


def _kept(
    part: Part, whole: Asked, done: dict[str, Outcome], places: dict[str, Environment | Unavailable]
) -> list[tuple[Job, Outcome]]:
    """Every job of a part with what is known of it; none of a part that has no results, and whose data need not be made."""
    from jostle_bench.peers import jobs

    results = whole.folder / "results"
    if not any(results.glob(f"*-{part.name}-*.json")):
        return []
    return [(job, done.get(job.key) or jobs.stored(job, places[job.peer.name], results)) for job in part.jobs(whole)]


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _command(flags: dict[str, bool], **named: str | None) -> str:
    """The command that makes the same report.

    >>> _command({"quick": True, "full": False}, only="opendp", parts=None, seed="")
    'jostle bench peers --quick --only opendp'
    """
    words = ["jostle bench peers", *(f"--{flag}" for flag, on in flags.items() if on)]
    return " ".join([*words, *(f"--{name} {value}" for name, value in named.items() if value)])
