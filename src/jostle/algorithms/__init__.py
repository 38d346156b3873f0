"""The algorithms, one file each: plans over a source, found by themselves.

>>> "HB" in names(task="range-2d")
True
>>> get("HB").reference.year
2013
"""

from jostle.algorithms.registry import TASKS, Algorithm, algorithm, every, get, names

__all__ = ["TASKS", "Algorithm", "algorithm", "every", "get", "names"]
