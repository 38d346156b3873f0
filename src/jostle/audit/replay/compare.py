"""Whether two results are the same in everything that somebody could look up in them."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from jostle.kernel.budget import Budget, Purse
from jostle.kernel.ledger import Account
from jostle.kernel.noise import ExactNoise, SimulatedNoise
from jostle.kernel.source import Custody, PrivateData

_CLOSED = (PrivateData, Custody, Budget, Purse, Account, ExactNoise, SimulatedNoise)
"""What holds private values by its nature, and lets nobody look at them."""

_ATOMS = (str, bytes, bool, int, type(None), np.dtype, type, types.ModuleType, types.BuiltinFunctionType)


def difference(one: Any, other: Any, where: str = "the answer") -> str | None:
    """Where two results differ, in words; None if they are the same. Private values are never part of the words.

    >>> difference({"a": np.array([1.0, 2.0])}, {"a": np.array([1.0, 3.0])})
    "the answer['a'] has other values"
    >>> difference([1, float("nan")], [1, float("nan")])
    """
    return _Comparison().difference(one, other, where)


class _Comparison:
    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}  # keeps what was seen alive, so that no identifier is used twice

    def difference(self, one: Any, other: Any, where: str) -> str | None:
        if one is other or id(one) in self._seen:
            return None
        if type(one) is not type(other):
            return f"{where} is of type {type(other).__name__}, not {type(one).__name__}"
        if isinstance(one, _ATOMS):
            return None if one == other else f"{where} has another value"
        if isinstance(one, (float, complex, np.generic)):
            return None if one == other or (one != one and other != other) else f"{where} has another value"
        self._seen[id(one)] = one
        if isinstance(one, _CLOSED):
            return None
        if isinstance(one, np.ndarray):
            return self._arrays(one, other, where)
        if isinstance(one, Mapping):
            return self._mappings(one, other, where)
        if isinstance(one, (list, tuple)):
            return self._sequences(one, other, where)
        if isinstance(one, (set, frozenset)):
            return None if one == other else f"{where} has other members"
        if isinstance(one, types.FunctionType):
            return self._functions(one, other, where)
        return self._objects(one, other, where)

    def _arrays(self, one: Any, other: Any, where: str) -> str | None:
        if one.dtype != other.dtype or one.shape != other.shape:
            return f"{where} is of another shape or type"
        if one.dtype == object:
            return self._sequences(one.reshape(-1).tolist(), other.reshape(-1).tolist(), where)
        same = np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
        return None if same else f"{where} has other values"

    def _mappings(self, one: Any, other: Any, where: str) -> str | None:
        if list(one) != list(other):
            return f"{where} has other keys"
        return self._first((one[key], other[key], f"{where}[{key!r}]") for key in one)

    def _sequences(self, one: Any, other: Any, where: str) -> str | None:
        if len(one) != len(other):
            return f"{where} has another length"
        return self._first((a, b, f"{where}[{place}]") for place, (a, b) in enumerate(zip(one, other, strict=True)))

    def _functions(self, one: Any, other: Any, where: str) -> str | None:
        if one.__code__ is not other.__code__:
            return f"{where} is another function"
        kept = [
            (a.cell_contents, b.cell_contents, f"what {where} keeps")
            for a, b in zip(one.__closure__ or (), other.__closure__ or (), strict=True)
        ]
        return self._first([*kept, (one.__defaults__, other.__defaults__, f"a default of {where}")])

    def _objects(self, one: Any, other: Any, where: str) -> str | None:
        parts = dict(getattr(one, "__dict__", {}))
        if is_dataclass(one):
            parts |= {field.name: getattr(one, field.name) for field in fields(one) if hasattr(one, field.name)}
        for kind in type(one).__mro__:
            parts |= {name: getattr(one, name) for name in _slots(kind) if hasattr(one, name)}
        if not parts:  # of a library's own making: equal, or at least written alike
            return None if _equal(one, other) else f"{where} has another value"
        missing = object()
        return self._first((part, getattr(other, name, missing), f"{where}.{name}") for name, part in parts.items())

    def _first(self, pairs: Any) -> str | None:
        found = (self.difference(*pair) for pair in pairs)
        return next((one for one in found if one is not None), None)


def _slots(kind: type) -> list[str]:
    slots = kind.__dict__.get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    return [name for name in names if not name.startswith("__")]


def _equal(one: Any, other: Any) -> bool:
    try:
        same = one == other
        if isinstance(same, (bool, np.bool_)) and same:
            return True
        if hasattr(one, "equals"):
            return bool(one.equals(other))
    except (TypeError, ValueError):
        return False
    written = repr(one)
    return " at 0x" in written or written == repr(other)  # nothing but an address: there is nothing to look up


def close(loss: float, allowed: float) -> bool:
    """Whether a loss is within what is allowed, up to the rounding errors of floats.

    >>> close(1.0 + 1e-12, 1.0), close(1.01, 1.0)
    (True, False)
    """
    return math.isfinite(loss) and loss <= allowed * (1 + 1e-6) + 1e-9
