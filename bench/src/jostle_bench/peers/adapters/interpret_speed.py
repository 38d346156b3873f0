"""interpret's private boosting is no table engine: how long it takes to import."""

from __future__ import annotations

import timing  # type: ignore[import-not-found]  # it stands beside this file

VERSION_OF = "interpret-core"


ANSWERS = {"import": lambda job: timing.imports("interpret.privacy", job)}
