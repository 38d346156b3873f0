"""Public data: loaders for what comes with installed packages."""

from __future__ import annotations

from jostle.datasets.census import weekly_income

__all__ = ["weekly_income"]
