"""What a report is made of: sections with texts, tables and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table."""

    title: str = ""
    """What it shows, where a section has several."""

    headings: Sequence[str]
    """The first column is left-aligned, the others hold numbers."""

    rows: list[list[str]]
    """Cells, as they are shown."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the report."""

    title: str
    """What it is about."""

    texts: Sequence[str] = ()
    """Paragraphs before the tables."""

    grids: Sequence[Grid] = ()
    """Tables."""

    drawing: str = ""
    """Lines that are shown as they are."""

    figure: str = ""
    """The name of its picture."""

    detail: bool = False
    """Whether it is only for pages: too long for a terminal."""
