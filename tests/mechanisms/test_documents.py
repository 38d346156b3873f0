"""Every mechanism has its page with a picture, and every public name its guarantee and an example."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from jostle import mechanisms

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(page for page in (DOCS / "mechanisms").glob("*.md") if page.name != "index.md")
FRAME = re.compile(r'<iframe src="plots/([\w-]+)\.html"')


@pytest.fixture(scope="module")
def plots():
    spec = importlib.util.spec_from_file_location("plots", DOCS / "plots.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_shows_a_picture_that_is_drawn(page, plots):
    shown = FRAME.findall(page.read_text("utf-8"))
    assert shown
    assert set(shown) <= set(plots.FIGURES)


def test_every_picture_is_shown(plots):
    shown = {name for page in PAGES for name in FRAME.findall(page.read_text("utf-8"))}
    assert shown == set(plots.FIGURES)


def test_a_picture_loads_nothing_from_elsewhere(plots):
    html = plots.page("laplace")
    assert re.findall(r'src="([^"]+)"', html) == [plots.LIBRARY]
    assert plots.page("laplace") == html  # the same in every build


@pytest.mark.parametrize("name", sorted(set(mechanisms.__all__) - {"simulation", "utility"}))
def test_every_public_name_has_a_guarantee_or_a_formula_and_an_example(name):
    text = getattr(mechanisms, name).__doc__
    assert ">>> " in text
    stated = "private" in text.split("\n\n")[0] or name in ("accuracy", "scale_for_accuracy", "check_scores")
    assert stated, f"the first paragraph of {name} does not say what it guarantees"


NO_MECHANISMS = {"simulation", "utility", "accuracy", "scale_for_accuracy", "check_scores", "RandomizedResponse"}
NO_MECHANISMS |= {"best_of"}  # how good the best run is depends on what is run


@pytest.mark.parametrize("name", sorted(set(mechanisms.__all__) - NO_MECHANISMS))
def test_every_mechanism_says_where_its_error_bars_are(name):
    named = re.findall(r"\bSee `utility\.(\w+)`", getattr(mechanisms, name).__doc__)
    assert len(named) == 1
    assert callable(getattr(mechanisms.utility, named[0]))


def test_every_public_name_is_on_some_page():
    text = "".join(page.read_text("utf-8") for page in (DOCS / "mechanisms").glob("*.md"))
    assert [name for name in mechanisms.__all__ if name not in text] == []
