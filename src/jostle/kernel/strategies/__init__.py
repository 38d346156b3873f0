"""Strategies: the queries that a plan measures. Each knows exactly how far one record moves its answers."""

from jostle.kernel.strategies.base import LARGEST_ENTRY, Strategy, check_measurable, lattice
from jostle.kernel.strategies.cells import (
    Blocks,
    Boxes,
    Identity,
    Matrix,
    Prefix,
    Residual,
    Stack,
    Total,
    blocks,
    boxes,
    grid,
    identity,
    matrix,
    prefix,
    residual,
    stack,
    total,
)
from jostle.kernel.strategies.trees import Hierarchy, Wavelet, hierarchy, wavelet

# fmt: off
__all__ = [
    "LARGEST_ENTRY", "Blocks", "Boxes", "Hierarchy", "Identity", "Matrix", "Prefix", "Residual", "Stack", "Strategy",
    "Total", "Wavelet", "blocks", "boxes", "check_measurable", "grid", "hierarchy", "identity", "lattice", "matrix",
    "prefix", "residual", "stack", "total", "wavelet",
]
# fmt: on
