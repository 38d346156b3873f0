"""Pages and pieces of pages from the templates. Everything that goes in is escaped."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2

HERE: Final = Path(__file__).parent
NAVIGATION: Final = (("compare", "Compare"), ("why", "Why"), ("release", "Release"), ("classify", "Classify"))


@cache
def _templates() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"navigation": NAVIGATION, "zip": zip}
    made.filters["brief"] = brief
    return made


def render(template: str, /, **told: Any) -> str:
    """A template with what it is told."""
    return _templates().get_template(template).render(**told)


def brief(number: float) -> str:
    """A number for people: three digits that matter, thousands apart.

    >>> brief(12345.678), brief(0.012345), brief(4)
    ('12,346', '0.0123', '4')
    """
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"
