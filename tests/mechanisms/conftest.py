"""A real ledger for the tests of the mechanisms, and an account of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jostle.kernel.ledger import Account, Ledger


@pytest.fixture(scope="session")
def mechanisms_ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    with Ledger(tmp_path_factory.mktemp("mechanisms") / "budget.db") as ledger:
        yield ledger


@pytest.fixture
def account(mechanisms_ledger: Ledger, request: pytest.FixtureRequest) -> Account:
    return mechanisms_ledger.account(str(abs(hash(request.node.nodeid))), cap=1_000_000)
