"""The commands of the command line, called in this process."""

from __future__ import annotations

from tests.commands import interrupted_after, jostle  # noqa: F401 (fixtures are found by their names here)
