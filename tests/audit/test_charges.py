"""Charges are what operators were paid, and what questions to tables cost."""

from __future__ import annotations

from fractions import Fraction

import pytest

from jostle.audit.charges import audit_charges, audit_tables
from jostle.audit.entries import IN_RHO
from jostle.audit.entries.tables import COMPLETED, QUESTIONS

CHARGED = ("HB", "MWEM", "AHP", "DAWA", "PHP", "AGrid", "Adaptive", "Pythia")
"""Algorithms with few and many measurements, choices, statistics, partitions and splits. The command looks at all."""


@pytest.mark.parametrize("name", CHARGED)
def test_charges_are_what_operators_were_handed(name):
    for found in audit_charges([name]):
        assert found.agrees
        assert found.granted == found.heard == found.charged == price(found.name)


def test_questions_to_tables_are_charged_what_they_cost():
    found = audit_tables()
    assert {one.name.removesuffix(IN_RHO).removeprefix("table: ").removesuffix(" by person") for one in found} == set(
        QUESTIONS
    )
    for one in found:
        assert one.agrees
        assert one.charged == price(one.name) or (COMPLETED in one.name and 0 < one.charged < price(one.name))


def price(name: str) -> Fraction:
    """In ε, or in the ρ that pays for it."""
    return Fraction(9, 200) if name.endswith(IN_RHO) else Fraction(3, 10)
