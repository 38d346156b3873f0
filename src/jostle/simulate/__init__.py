"""The fast runner: algorithms on public data, many trials, seeded."""

from __future__ import annotations

from jostle.simulate.runner import errors, estimates

__all__ = ["errors", "estimates"]
