"""The engines, for every test of tables."""

from __future__ import annotations

from tests.tables.engines import load, spark  # noqa: F401 (fixtures are found by their names here)
