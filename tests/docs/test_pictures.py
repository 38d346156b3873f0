"""The guides' pictures and those of the algorithms: every one is shown, drawn and the same in every build."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture
def hook(monkeypatch):
    """A hook of mkdocs, as mkdocs loads it: from its own folder."""
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module


def test_every_picture_of_the_guides_is_shown_and_there(hook):
    drawn = hook("guide_plots").FIGURES
    shown = {
        name
        for page in DOCS.glob("*.md")
        for name in re.findall(r'src="guide/plots/([\w-]+)\.html"', page.read_text("utf-8"))
    }
    assert shown == set(drawn)


def test_of_a_hundred_intervals_about_five_miss(hook):
    figure = hook("guide_plots").coverage()
    covering, missing = figure.data[0].y, figure.data[1].y
    assert len(covering) + len(missing) == 100
    assert 2 <= len(missing) <= 9
    assert f"{len(missing)} of" in figure.layout.title.text


def test_an_algorithm_has_a_picture_its_paper_and_its_place(hook, monkeypatch):
    pictures = hook("algorithm_plots")
    monkeypatch.setattr(pictures, "errors", lambda question: {"HB": 12.0, "Laplace": 34.5} if "totals" in question else {})
    page = (DOCS / pictures.PAGE).read_text("utf-8")
    assert pictures.PLACE in page
    text = pictures.section("Laplace", pictures.suits(page, "Laplace"))
    assert "For single cells and very short ranges." in text
    assert "| running totals | ±34 | 2 of 2 | ±12 |" in text
    assert "Calibrating noise to sensitivity in private data analysis" in text
    assert 'src="algorithms/Laplace.html"' in text


@pytest.mark.parametrize(("name", "traces"), [("HB", 2), ("UGrid", 2)])
def test_an_algorithm_is_drawn_beside_the_truth(hook, name, traces):
    figure = hook("algorithm_plots").picture(name)
    assert len(figure.data) == traces
    assert figure.data[0].type == ("scatter" if name == "HB" else "heatmap")
