"""The reference has every public name, and its examples are blocks of code."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

import jostle
from jostle import learn, mechanisms

DOCS = Path(__file__).resolve().parents[2] / "docs"
SHOWN = {
    name for page in (DOCS / "api").glob("*.md") for name in re.findall(r"^::: ([\w.]+)$", page.read_text("utf-8"), re.M)
}


def homes() -> dict[str, str]:
    """Where each public name is at home."""
    found = {name: f"{home}.{name}" for name, home in jostle._HOMES.items()}
    for module in (learn, mechanisms):
        for name in module.__all__:
            thing = getattr(module, name)
            found[name] = thing.__name__ if inspect.ismodule(thing) else f"{thing.__module__}.{name}"
    return found


@pytest.mark.parametrize(("name", "home"), sorted(homes().items()))
def test_every_public_name_is_in_the_reference(name, home):
    assert home in SHOWN or home.rsplit(".", 1)[0] in SHOWN, f"put ::: {home} on a page of docs/api/"


def test_what_examples_print_is_not_coloured_as_code():
    sys.path.insert(0, str(DOCS))
    try:
        from public_names import on_page_markdown
    finally:
        sys.path.remove(str(DOCS))
    code = "```python\nx = 1\n```\n"
    assert on_page_markdown(f"{code}```python\n>>> x\n1\n```\n") == f"{code}```pycon\n>>> x\n1\n```\n"


@pytest.mark.parametrize("module", sorted(jostle._MODULES.values()))
def test_every_public_module_has_some_names_there(module):
    assert any(name == module or name.startswith(f"{module}.") for name in SHOWN)


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_what_the_reference_shows_is_there(name):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        assert getattr(importlib.import_module(module), attribute).__doc__


def test_an_example_becomes_a_block_of_code(monkeypatch):
    pytest.importorskip("griffe", reason="the documentation's packages are not installed: pip install 'jostle[docs]'")
    monkeypatch.syspath_prepend(str(DOCS))
    from reference_examples import fenced

    assert fenced("Text.\n\n>>> 1 + 1\n2\n\nMore.").splitlines() == [
        *("Text.", "", "", "```pycon", ">>> 1 + 1", "2", "```", "", "More.")
    ]
    assert fenced("Ends.\n>>> 2\n2").endswith("2\n```")
    assert fenced("No example.") == "No example."
