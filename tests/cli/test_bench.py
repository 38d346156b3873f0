"""`jostle bench` where its package is installed, and where it is not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import typer

from jostle.cli import bench


@pytest.mark.parametrize("words", [[], ["--help"], ["learn", "--quick"], ["nothing"]])
def test_without_its_package_it_says_what_to_install(words, jostle, monkeypatch) -> None:
    monkeypatch.setattr(bench, "entry_points", lambda **_: ())
    status, output, told = jostle("bench", *words)
    assert (status, output) == (2, "")
    assert "the package of benchmarks is not installed" in told
    assert "Remedy: pip install jostle-bench; in a checkout of jostle, make setup." in told


def test_help_lists_it_without_looking_for_it(jostle, monkeypatch) -> None:
    def looked(**_: Any) -> Any:
        raise AssertionError("it was looked for")

    monkeypatch.setattr(bench, "entry_points", looked)
    status, output, _ = jostle("--help")
    assert status == 0
    assert "Measure jostle on this machine." in output


def test_its_commands_are_those_of_the_entry_point(jostle, monkeypatch) -> None:
    made = typer.Typer()

    @made.callback()
    def group() -> None: ...

    @made.command()
    def count(number: int) -> None:
        typer.echo(f"counted to {number}")

    wanted = {"group": "jostle.commands", "name": "bench"}
    monkeypatch.setattr(
        bench, "entry_points", lambda **asked: [SimpleNamespace(load=lambda: made)] if asked == wanted else []
    )
    assert jostle("bench", "count", "3")[:2] == (0, "counted to 3\n")
    assert jostle("--quiet", "bench", "count", "x")[0] == 2
    status, output, _ = jostle("bench", "--help")
    assert (status, "count" in output) == (0, True)
    assert "No such command 'peers'" in jostle("bench", "peers")[2]


def test_the_package_of_the_benchmarks_has_them_all(jostle) -> None:
    output = jostle("bench", "--help")[1]
    for command in ("kernel", "learn", "mechanisms", "peers", "pythia", "reference", "speed", "tables"):
        assert f" {command} " in output
