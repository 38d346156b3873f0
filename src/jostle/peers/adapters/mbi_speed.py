"""mbi works on counts that others read: how long it takes to import."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

import timing  # type: ignore[import-not-found]  # it stands beside this file

VERSION_OF = "mbi"


ANSWERS = {"import": lambda job: timing.imports("mbi", job)}
