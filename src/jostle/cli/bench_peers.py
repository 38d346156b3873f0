"""`jostle bench peers`: jostle beside what people would use instead, on the machine at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jostle.choice.experiment_report import Section
    from jostle.peers.environments import Environment, Peer, Unavailable
    from jostle.peers.jobs import Job, Outcome
    from jostle.peers.parts import Part

QUICK_PEERS = "opendp,diffprivlib"
"""Those whose environments are cheap to make."""

LONGEST_TABLE = 40
"""So many rows of a table are shown in a terminal; the pages have all."""


def peers(
    quick: Annotated[bool, typer.Option("--quick", help="A few tiny cells and two peers: to see it work.")] = False,
    full: Annotated[bool, typer.Option("--full", help="What takes hours, too: 10⁸ rows.")] = False,
    only: Annotated[str | None, typer.Option(help="Peers, separated by commas; all unless said.")] = None,
    parts: Annotated[str | None, typer.Option(help="Of accuracy, classifiers, speed, scale; all unless said.")] = None,
    domains: Annotated[
        str | None, typer.Option(help="Accuracy on some domains alone, for instance 256,32x32; all unless said.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder of data, results and pages; runs go on from it.")] = Path(
        "jostle-peers-results"
    ),
    envs: Annotated[Path, typer.Option(help="The folder of the peers' environments.")] = Path("jostle-peers"),
    report: Annotated[
        Path | None, typer.Option(help="Write the report to this Markdown file, and its figures to a .json file beside it.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of data, and of whatever takes a seed.")] = 0,
    fresh: Annotated[bool, typer.Option("--fresh", help="Do not use kept results; needed after changes of jostle.")] = False,
    data: Annotated[Path | None, typer.Option(help="The folder of public data; else JOSTLE_DATA names it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print numbers for a script.")] = False,
) -> None:
    """Install each peer into an environment of its own, give all the same work, and report: first, where jostle is behind.

    Stop it whenever you like: the same command goes on where it was stopped.
    """
    from jostle.choice.experiment_pages import markdown, page
    from jostle.choice.experiment_pictures import plain
    from jostle.kernel.errors import BadInput
    from jostle.peers import accuracy, environments
    from jostle.peers import report as reports
    from jostle.peers.parts import Asked

    if report is not None and not report.absolute().parent.is_dir():
        raise BadInput("report", f"the folder of {report} does not exist", "name one that does")
    wanted = _wanted(parts)
    asked = Asked(
        peers=environments.chosen(only or (QUICK_PEERS if quick else None), environments.known()),
        folder=out,
        quick=quick,
        full=full,
        domains=accuracy.domains(domains or ""),
        seed=seed,
        data=_data(data),
    )
    todo = [(part.name, job) for part in wanted for job in part.jobs(asked)]
    busy = {job.peer.name for _, job in todo}
    places = _prepared([peer for peer in asked.peers if peer.name in busy or peer.not_installable], envs)
    ran = _ran(todo, places, out / "results", fresh=fresh)
    found = {part.name: part.findings(asked, ran.get(part.name, [])) for part in wanted}
    pages = reports.sections(ran, places, found)
    pictures = {name: figure for one in found.values() for name, figure in one.pictures.items()}
    command = _command(quick=quick, full=full, only=only, parts=parts, domains=domains, seed=seed)
    _write(out / "peers.html", page(pages, pictures, command=command))
    _write(out / "peers.md", markdown(pages, command=command))
    numbers = {"command": command, **reports.numbers(ran, places, found)}
    _write(out / "peers.json", json.dumps(numbers, ensure_ascii=False) + "\n")
    if report is not None:
        _write(report, markdown(pages, command=command))
        figures = {name: plain(figure) for name, figure in pictures.items()}
        _write(report.with_suffix(".json"), json.dumps(figures, ensure_ascii=False) + "\n")
    if as_json:
        typer.echo(json.dumps(numbers, ensure_ascii=False))
        return
    console = Console(highlight=False)
    _show(pages, console)
    console.print(f"With pictures: open {out / 'peers.html'}")


def _wanted(parts: str | None) -> list[Part]:
    from jostle.kernel.errors import BadInput
    from jostle.peers import report

    names = list(report.HOMES) if parts is None else [name.strip() for name in parts.split(",") if name.strip()]
    for name in names:
        if name not in report.HOMES:
            raise BadInput("parts", f"{name!r} is no part", f"use some of {', '.join(report.HOMES)}")
    return report.parts(names)


def _data(named: Path | None) -> Path | None:
    """The folder of public data, if one is named: without, data are made up."""
    import os

    from jostle.datasets.shapes import data_folder

    return data_folder(named) if named or os.environ.get("JOSTLE_DATA") else None


def _prepared(wanted: Sequence[Peer], folder: Path) -> dict[str, Environment | Unavailable]:
    """Everybody's environment."""
    from jostle.peers import environments

    console = Console(stderr=True, highlight=False)
    places = {}
    with console.status("environments") as status:
        for peer in wanted:
            places[peer.name] = environments.prepare(peer, folder, status.update)
    for place in places.values():
        if isinstance(place, environments.Unavailable):
            console.print(f"{place.peer.title} takes no part: {place.reason}", markup=False, soft_wrap=True)
    return places


def _ran(
    todo: Sequence[tuple[str, Job]], places: dict[str, Environment | Unavailable], results: Path, *, fresh: bool
) -> dict[str, list[tuple[Job, Outcome]]]:
    """Every job of every part with its outcome; an interrupt ends the command with status 130, and what is done is kept."""
    from jostle.cli import running
    from jostle.peers import jobs

    console = Console(stderr=True, highlight=False)
    ran: dict[str, list[tuple[Job, Outcome]]] = {part: [] for part, _ in todo}
    try:
        with running.bar() as bar:
            shown = bar.add_task("", total=len(todo))
            for part, job in todo:
                bar.update(shown, description=f"{job.peer.title}: {job.kind}")
                if fresh:
                    jobs.forget(job, results)
                outcome = jobs.run(job, places[job.peer.name], results)
                if outcome.status == "failed":
                    console.print(f"{job.peer.title} failed in {part}: {outcome.reason}", markup=False, soft_wrap=True)
                ran[part].append((job, outcome))
                bar.advance(shown)
    except KeyboardInterrupt:
        console.print(f"Stopped. Results are kept in {results}; the same command goes on from there.", soft_wrap=True)
        raise typer.Exit(130) from None
    return ran


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _command(*, quick: bool, full: bool, seed: int, **named: str | None) -> str:
    """The command that makes the same report.

    >>> _command(quick=True, full=False, only="opendp", parts=None, seed=0)
    'jostle bench peers --quick --only opendp'
    """
    words = ["jostle bench peers", *(flag for flag, on in (("--quick", quick), ("--full", full)) if on)]
    words += [f"--{name} {value}" for name, value in named.items() if value]
    return " ".join([*words, *([f"--seed {seed}"] if seed else [])])


def _show(pages: Sequence[Section], console: Console) -> None:
    for part in (part for part in pages if not part.detail):
        console.print(f"[bold]{part.title}[/]")
        for text in part.texts:
            console.print(text.replace("**", ""), markup=False)
        for grid in part.grids:
            shown = Table(box=None, pad_edge=False, title=grid.title or None, title_justify="left")
            for number, heading in enumerate(grid.headings):
                shown.add_column(heading, justify="right" if number else "left")
            for row in grid.rows[:LONGEST_TABLE]:
                shown.add_row(*(cell.replace("*", "") for cell in row))
            console.print(shown)
            if len(grid.rows) > LONGEST_TABLE:
                console.print(f"… and {len(grid.rows) - LONGEST_TABLE} more rows in the pages")
        console.print()
