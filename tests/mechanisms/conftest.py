"""A real ledger for the tests of the mechanisms."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jostle.kernel.ledger import Account, Ledger


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    with Ledger(tmp_path / "budget.db") as ledger:
        yield ledger.account("people", cap=1_000_000)
