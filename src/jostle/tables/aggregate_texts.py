"""Aggregates as people type them: `n=count`, `average=mean(cost)`, `p90=quantile(cost, 0.9)`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from jostle.kernel.errors import BadInput

if TYPE_CHECKING:
    from jostle.tables.aggregates import Aggregate

_KINDS: Final = {
    "avg": "mean",
    "count_distinct_units": "count_units",
    "median": "quantile",
    "quantiles": "quantile",
    "stddev": "std",
    "var": "variance",
}
"""Other words for kinds."""

_FORM: Final = re.compile(r"(?:(?P<name>[^=()]+)=)?\s*(?P<kind>\w+)\s*(?:\((?P<inside>[^()]*)\))?\s*")


def parse_aggregates(texts: Sequence[str]) -> dict[str, Aggregate]:
    """The aggregates that some texts stand for, by name.

    >>> parse_aggregates(["n=count", "mean(cost)", "p90=quantile(cost, 0.9)"])["p90"]
    Aggregate(kind='quantile', column='cost', level=0.9, ddof=0)
    """
    found: dict[str, Aggregate] = {}
    for text in texts:
        name, aggregate = _parsed(text)
        if name in found:
            raise BadInput("aggregate", f"{name!r} is there twice", "give each a name of its own: total=sum(cost)")
        found[name] = aggregate
    return found


def split_aggregates(text: str) -> list[str]:
    """The parts of a list in one line; commas between brackets are no end of a part.

    >>> split_aggregates("count, p90=quantile(cost, 0.9),")
    ['count', 'p90=quantile(cost, 0.9)']
    """
    return [one.strip() for one in re.split(r",(?![^()]*\))", text) if one.strip()]


def _parsed(text: str) -> tuple[str, Aggregate]:
    from jostle.tables.aggregates import KINDS, Aggregate

    form = _FORM.fullmatch(text.strip())
    if form is None:
        raise BadInput("aggregate", f"{text!r} cannot be read", "write for instance average=mean(cost)")
    word = form["kind"].lower()
    kind = _KINDS.get(word, word)
    if kind not in KINDS:
        known = ", ".join([*KINDS, "median"])
        raise BadInput("aggregate", f"{form['kind']!r} is unknown", f"use one of {known}")
    column, _, level = (form["inside"] or "").rpartition(",") if kind == "quantile" and word != "median" else ("", "", "")
    if kind == "quantile" and word != "median":
        try:
            part = float(level)
        except ValueError:
            raise BadInput("aggregate", f"{text!r} has no level", "write for instance quantile(cost, 0.9)") from None
    else:
        column, part = form["inside"] or "", 0.5
    named = column.strip().strip("*") or None
    aggregate = Aggregate(kind, named, part if kind == "quantile" else None)
    return (form["name"] or str(aggregate)).strip(), aggregate
