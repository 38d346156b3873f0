"""Pages and pieces of pages from templates. Every value is escaped."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from functools import cache
from numbers import Real
from pathlib import Path
from typing import Any, Final

import jinja2

from jostle import plots
from jostle.kernel.errors import show

HERE: Final = Path(__file__).parent
TAGS: Final = re.compile(r"<(?!/?(?:br|extra)>)")
"""Plotly reads some HTML in its texts, including links. These tags are ours; everything else is somebody's text."""

NAMES: Final = ("x", "y", "labels", "name", "ticktext", "categoryarray")
"""Where a figure has only categories and names of columns, and no text of ours."""

NAVIGATION: Final = (("release", "Release"), ("classify", "Classify"), ("compare", "Compare"), ("why", "Why"))


@cache
def _templates() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"navigation": NAVIGATION, "zip": zip, "dark": json.dumps(dict(plots.DARK))}
    made.filters |= {"brief": brief, "at_least": at_least, "exactly": show, "percent": percent}
    return made


def render(template: str, /, **values: Any) -> str:
    """A template with these values."""
    return _templates().get_template(template).render(**values)


def brief(number: Any) -> str:
    """A number for people: three significant digits, with commas; anything else, such as a cell of numbers, as it is.

    >>> brief(12345.678), brief(0.012345), brief(4)
    ('12,346', '0.0123', '4')
    """
    if not isinstance(number, Real):
        return str(number)
    value = float(number)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def percent(share: float, decimals: int = 1) -> str:
    """A share as the pages write it.

    >>> percent(0.2241), percent(0.2, 0)
    ('22.4 %', '20 %')
    """
    return f"{100 * share:.{decimals}f} %"


def at_least(amount: Fraction) -> str:
    """An amount of budget for people: four significant digits, rounded down.

    >>> at_least(Fraction(29999, 40000)), at_least(Fraction(3, 4)), at_least(Fraction(0))
    ('0.7499', '0.75', '0')
    """
    cut = Context(prec=4, rounding=ROUND_FLOOR)
    return f"{cut.divide(amount.numerator, amount.denominator).normalize():f}"


def drawn(figures: Mapping[str, Any]) -> dict[str, str]:
    """Plotly's figures as JSON, for a page. Texts in them stay texts: names of columns may come from anybody.

    >>> "&lt;a href" in drawn({"one": plots.new("<a href='https://example.org'>Ages</a>")})["one"]
    True
    >>> "a &lt;b>&amp;&lt;/b>" in drawn({"one": plots.new("Ages").add_bar(x=["a <b>&</b>"], y=[1])})["one"]
    True
    """
    return {name: json.dumps(_escaped(_without_notes(plots.with_plain_ticks(one)))) for name, one in figures.items()}


def _without_notes(figure: Any) -> Any:
    """The figure as JSON; its notes stand on the page, where they have room."""
    found = json.loads(figure.to_json())
    layout = found["layout"]
    if layout.get("meta", {}).get("notes"):
        layout["annotations"] = [one for one in layout.get("annotations", []) if one.get("yshift") != plots.NOTE_SHIFT]
        layout["margin"]["b"] = 56
    return found


def _escaped(found: Any, key: str = "") -> Any:
    if isinstance(found, str):
        return found.replace("&", "&amp;").replace("<", "&lt;") if key in NAMES else TAGS.sub("&lt;", found)
    if isinstance(found, list):
        return [_escaped(one, key) for one in found]
    return {name: _escaped(value, name) for name, value in found.items()} if isinstance(found, dict) else found
