"""Public data: loaders for what comes with installed packages."""

from __future__ import annotations

from jostle.datasets.census import census, weekly_income

__all__ = ["census", "weekly_income"]
