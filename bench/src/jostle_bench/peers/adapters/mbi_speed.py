"""mbi works on counts that others read: how long it takes to import."""

from __future__ import annotations

import timing  # type: ignore[import-not-found]  # it stands beside this file

VERSION_OF = "mbi"


ANSWERS = {"import": lambda job: timing.imports("mbi", job)}
