"""The explorer and the browser, for every test of pages."""

from __future__ import annotations

from tests.commands import jostle  # noqa: F401
from tests.explorer.browsing import chromium, explorer  # noqa: F401 (fixtures are found by their names here)
