"""Stated sensitivities on a lattice: what is rounded moves no further than what is stated, rounded up."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.kernel.neighbours import Neighbours
from jostle.mechanisms.sensitivity import Lattice, Sensitivity

ODD = Fraction(2**20 + 1, 2**20)
"""An odd number of units of its own lattice."""


@given(st.integers(-(2**30), 2**30), st.integers(-(2**22), 2**22))
def test_a_number_moves_no_further_on_the_lattice_than_its_sensitivity(halves: int, moved: int) -> None:
    """Between two points, too: of those, half to even would bring one down and the next but one up."""
    lattice = Lattice.for_sensitivity(Sensitivity.of(ODD), Neighbours())
    units = min(max(moved, -int(lattice.sensitivity.add_remove)), int(lattice.sensitivity.add_remove))
    here, there = (lattice.points(np.array([(halves / 2 + move) * 2.0**lattice.exponent])) for move in (0, units))
    assert abs(int(there[0]) - int(here[0])) <= abs(units)


@pytest.mark.parametrize("half", [-1.5, -0.5, 0.5, 1.5, 2.5])
def test_halves_are_rounded_down(half: float) -> None:
    lattice = Lattice.for_sensitivity(Sensitivity.of(ODD), Neighbours())
    move = float(lattice.sensitivity.add_remove)
    points = lattice.points(np.array([half, half + move]) * 2.0**lattice.exponent)
    assert points.tolist() == [int(np.floor(half)), int(np.floor(half) + move)]
