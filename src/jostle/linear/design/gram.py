"""The Gram matrix WᵀW of a workload, known by its products: all that the best strategy for it depends on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from jostle.kernel.partition import Vector
from jostle.kernel.strategies import Identity, Matrix, Prefix, Strategy
from jostle.workloads import Ranks, Workload

_DENSE = 1024
_CHUNK = 2**22


@dataclass(frozen=True)
class Gram:
    """WᵀW for the queries W.

    >>> from jostle import workloads
    >>> gram = Gram.of(workloads.prefix(3))
    >>> gram.rows(np.eye(3)).tolist(), gram.diagonal.tolist()
    ([[3.0, 2.0, 1.0], [2.0, 2.0, 1.0], [1.0, 1.0, 1.0]], [3.0, 2.0, 1.0])
    """

    queries: Strategy
    """The operator behind the workload."""

    everything: bool
    """Whether the queries are all ranges of a line."""

    dense: Vector | None
    """The matrix itself, on small domains."""

    diagonal: Vector
    """How often each cell is asked for: the sum over the queries of its squared weight."""

    @classmethod
    def of(cls, workload: Workload) -> Gram | None:
        """None where the diagonal would take too long to find."""
        queries, everything = workload.queries, workload.kind == "all ranges"
        if queries.size <= _DENSE:
            dense = cls(queries, everything, None, np.zeros(0)).rows(np.eye(queries.size))
            return cls(queries, everything, dense, np.ascontiguousarray(dense.diagonal()))
        diagonal = _diagonal(queries)
        return None if diagonal is None else cls(queries, everything, None, diagonal)

    def rows(self, x: Vector) -> Vector:
        """Each row r of x to r WᵀW."""
        if self.dense is not None:
            return np.asarray(x @ self.dense)
        if isinstance(self.queries, Identity) or not len(x):
            return x
        if isinstance(self.queries, Prefix):
            return np.asarray(self.queries.adjoint(self.queries.apply(x)))
        if self.everything:
            return _all_ranges(x)
        step = max(1, _CHUNK // max(self.queries.rows, self.queries.size))
        parts = [self.queries.adjoint(self.queries.apply(x[k : k + step])) for k in range(0, len(x), step)]
        return np.asarray(np.concatenate(parts) / self.queries.unit**2)


def fingerprint(workload: Workload) -> str:
    """A name for the domain and the Gram matrix; workloads that ask the same in another order share it.

    >>> from jostle import workloads
    >>> fingerprint(workloads.prefix(3)) == fingerprint(workloads.ranges(3, [0, 0, 0], [2, 1, 3]))
    True
    """
    queries = workload.queries
    probes = np.random.default_rng(0).integers(0, 2**20, size=(2, queries.size))
    seen = queries.adjoint(queries.apply(probes))
    about = f"{queries.shape} {queries.unit} ".encode()
    return hashlib.sha256(about + np.ascontiguousarray(seen, dtype=np.int64).tobytes()).hexdigest()[:32]


def _diagonal(queries: Strategy) -> Vector | None:
    if queries.unit == 1 and queries.bounds[0] >= -1 and queries.bounds[1] <= 1:
        return queries.column_norms.astype(np.float64)  # entries of −1, 0 and 1 are their own squares, up to the sign
    if isinstance(queries, Ranks):
        return queries.squares / queries.unit**2
    if isinstance(queries, Matrix):
        return np.asarray(queries.entries.power(2).sum(axis=0) / queries.unit**2, dtype=np.float64)
    return None


def _all_ranges(x: Vector) -> Vector:
    """Cells i <= j lie together in (i + 1)(n − j) ranges."""
    up = np.arange(1.0, x.shape[-1] + 1)
    down = up[::-1]
    left = np.cumsum(x * up, axis=-1)
    right = np.cumsum((x * down)[..., ::-1], axis=-1)[..., ::-1]
    return np.asarray(down * left + up * (right - x * down))
