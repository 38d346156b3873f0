"""Functions that register algorithms of higher layers, so that imports run one way.

The root of the package fills the list, because it knows all layers; `jostle.algorithms` calls them before it looks
something up.
"""

from __future__ import annotations

from collections.abc import Callable

registrars: list[Callable[[], None]] = []
