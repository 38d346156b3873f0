"""The page of algorithms lists what is registered, with the facts that the registry has."""

from __future__ import annotations

from pathlib import Path

import pytest

from jostle import algorithms
from jostle.algorithms import TASKS

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "algorithms.md").read_text("utf-8")
HEAD = "| name | domain | data-dependent | paper |"
OWN = {name: found for name, found in algorithms.every().items() if found.plan.__module__.startswith("jostle.")}
"""What comes with jostle: other tests register algorithms of their own."""


def table() -> list[list[str]]:
    """The rows of the page's first table, without its head."""
    lines = PAGE[PAGE.index(HEAD) :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_page_lists_every_algorithm_once_and_no_other() -> None:
    listed = [row[0] for row in table()]
    assert len(set(listed)) == len(listed)
    assert set(OWN) - set(listed) == set(), "add a row to docs/algorithms.md"
    assert set(listed) - set(OWN) == set(), "remove the row from docs/algorithms.md"


@pytest.mark.parametrize("row", table(), ids=lambda row: row[0])
def test_a_row_says_what_the_registry_says(row: list[str]) -> None:
    name, domain, data_dependent, paper, what = row
    found = algorithms.get(name)
    assert domain == ", ".join(f"{TASKS[task]}D" for task in found.tasks)
    assert data_dependent == ("yes" if found.data_dependent else "no")
    surname = found.reference.authors.split(",")[0].split(". ")[-1]
    assert paper.startswith(surname)
    assert str(found.reference.year) in paper
    assert what.endswith(".")


def test_every_paper_is_listed_in_full() -> None:
    for found in OWN.values():
        assert found.reference.title in " ".join(PAGE.split()), f"{found.name}: add its paper to docs/algorithms.md"
