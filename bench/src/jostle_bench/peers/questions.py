"""What is asked under (ε, δ): made-up groups and keys, all pairs of a table's columns, and a batch of counting questions.

Every input is a list of pairs, a person and a cell, of which each person has as many as the input says: groups that the
person is in, cells of marginals, or questions whose answer counts the person. So all libraries can be asked the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

DELTA: Final = 1e-6
EPSILONS: Final = (0.1, 1.0)
GROUPS: Final = 20
PERSONS: Final = {1: 3000, 5: 800, 20: 250}
"""How many persons there are, by the number of groups that each is in."""

SIZES: Final = (5, 10, 20, 50, 100, 200, 500, 1000)
"""Of private keys: how many persons have one."""

KEYS_OF_A_SIZE: Final = 8
KEYS_A_PERSON: Final = (1, 10)
ROWS: Final = 2000
QUESTIONS: Final = 40
COLUMNS: Final = (
    "age",
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "income",
)
"""Of the census table, where it is there."""

MOST_CELLS: Final = 20
"""A column of numbers with more cells has ten wide ones."""

Arrays = dict[str, NDArray[np.int64]]


@dataclass(frozen=True, kw_only=True)
class Asking:
    """One input, and what is asked of it."""

    name: str
    """By which it is known."""

    kind: str
    """The kinds of jobs that take it: "counts", "three" (counts, sums and means) or "keys"."""

    form: str
    """What the cells are: groups, marginals, batch or keys."""

    words: str
    """What is asked, for the report."""

    touched: int
    """The most cells that one person is in."""

    cells: int
    """How many cells there are."""

    arrays: Arrays
    """person, cell, and value or codes."""

    more: dict[str, Any]
    """What those need who ask for it in their own words: sizes of columns, pairs of them, questions, cells of each pair."""


def askings(folder: Path | None, *, quick: bool, seed: int) -> list[Asking]:
    """Everything that is asked."""
    draw = np.random.default_rng([seed, 31])
    persons = {5: 100} if quick else PERSONS
    known = [_groups(draw, touched, number) for touched, number in persons.items()]
    both = [one for kind in ("counts", "three") for one in (_as(group, kind) for group in known)]
    codes, sizes = table(folder, draw, quick=quick)
    keys = [_keys(touched) for touched in (KEYS_A_PERSON[:1] if quick else KEYS_A_PERSON)]
    return [*both, _marginals(codes, sizes), _batch(codes, sizes, draw), *keys]


def _groups(draw: np.random.Generator, touched: int, persons: int) -> Asking:
    """Persons in as many groups each, with a value between 0 and 100 in each; some groups have higher values."""
    weights = draw.uniform(0.5, 1.5, GROUPS)
    ranks = np.argsort(draw.exponential(size=(persons, GROUPS)) / weights, axis=1)[:, :touched]
    person, cell = np.repeat(np.arange(persons), touched), ranks.reshape(-1)
    middle = draw.uniform(20, 80, GROUPS)
    value = np.clip(np.rint(draw.normal(middle[cell], 15)), 0, 100).astype(np.int64)
    return Asking(
        name=f"groups {touched}",
        kind="counts",
        form="groups",
        words=f"{GROUPS} known groups, {_each(touched)}",
        touched=touched,
        cells=GROUPS,
        arrays={"person": person, "cell": cell, "value": value},
        more={},
    )


def _as(one: Asking, kind: str) -> Asking:
    from dataclasses import replace

    return replace(one, kind=kind, name=f"{kind} {one.name}")


def _keys(touched: int) -> Asking:
    """Keys of given sizes, dealt out so that a person has as many different ones."""
    cell = np.repeat(np.arange(len(SIZES) * KEYS_OF_A_SIZE), np.repeat(SIZES, KEYS_OF_A_SIZE))
    person = np.arange(cell.size) % (-(-cell.size // touched))
    return Asking(
        name=f"keys {touched}",
        kind="keys",
        form="keys",
        words=f"unknown groups, {_each(touched)}",
        touched=touched,
        cells=len(SIZES) * KEYS_OF_A_SIZE,
        arrays={"person": person, "cell": cell},
        more={},
    )


def size_of_key() -> NDArray[np.int64]:
    """How many persons have each key."""
    return np.repeat(np.array(SIZES), KEYS_OF_A_SIZE)


def _each(touched: int) -> str:
    return f"a person in {'one' if touched == 1 else f'up to {touched}'}"


def table(folder: Path | None, draw: np.random.Generator, *, quick: bool) -> tuple[Arrays, dict[str, int]]:
    """Codes of the census table's columns, or of made-up ones, and how many there are of each column."""
    rows = 200 if quick else ROWS
    if folder is None:
        from jostle_bench.synthetic import made_up

        made = made_up(4 if quick else len(COLUMNS), 2 * rows)
        return {name: codes[:rows] for name, codes in made.train.items()}, made.sizes
    from jostle.datasets.labelled import load
    from jostle.learn.task import Task

    records = load("adult", folder)
    task = Task(records.attributes, records.label, records.schema)
    which = draw.permutation(len(records))[:rows]
    codes: Arrays = {}
    sizes: dict[str, int] = {}
    for name in COLUMNS[-4:] if quick else COLUMNS:
        if name == records.label:
            codes[name], sizes[name] = task.encode_label(records.y)[which], len(task.classes)
            continue
        code, size = task.encode(name, records.columns[name])[which], task.sizes[name]
        wide = task.is_numeric(name) and size > MOST_CELLS
        codes[name], sizes[name] = (code * 10 // size, 10) if wide else (code, size)
    return codes, sizes


def _marginals(codes: Arrays, sizes: dict[str, int]) -> Asking:
    """All pairs of columns: a person is in one cell of each."""
    pairs = list(combinations(sizes, 2))
    blocks = [sizes[a] * sizes[b] for a, b in pairs]
    starts = np.cumsum([0, *blocks[:-1]])
    cells = [start + codes[a] * sizes[b] + codes[b] for start, (a, b) in zip(starts, pairs, strict=True)]
    rows = len(cells[0])
    return Asking(
        name="marginals",
        kind="counts",
        form="marginals",
        words=f"{len(pairs)} two-way marginals of {len(sizes)} columns, {sum(blocks):,} cells, {rows:,} rows",
        touched=len(pairs),
        cells=sum(blocks),
        arrays={"person": np.tile(np.arange(rows), len(pairs)), "cell": np.concatenate(cells), "codes": _stacked(codes)},
        more={"sizes": sizes, "pairs": pairs, "blocks": blocks},
    )


def _batch(codes: Arrays, sizes: dict[str, int], draw: np.random.Generator) -> Asking:
    """Counting questions: how many rows have a column's code between two of its codes."""
    questions: list[tuple[str, int, int]] = []
    for _ in range(QUESTIONS):
        name = str(draw.choice(list(sizes)))
        low, high = sorted(int(end) for end in draw.integers(0, sizes[name], 2))
        questions.append((name, low, high))
    inside = np.array([(codes[name] >= low) & (codes[name] <= high) for name, low, high in questions])
    cell, person = np.nonzero(inside)
    return Asking(
        name="batch",
        kind="counts",
        form="batch",
        words=f"{QUESTIONS} counting questions at one price",
        touched=QUESTIONS,
        cells=QUESTIONS,
        arrays={"person": person, "cell": cell, "codes": _stacked(codes)},
        more={"sizes": sizes, "questions": questions},
    )


def _stacked(codes: Arrays) -> NDArray[np.int64]:
    return np.column_stack(list(codes.values()))


def write(asked: list[Asking], file: Path) -> Path:
    """All inputs in one file."""
    arrays = {f"{one.name}/{what}": values for one in asked for what, values in one.arrays.items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new.npz")
    np.savez_compressed(new, allow_pickle=False, **arrays)
    return new.replace(file)


def truth(one: Asking) -> dict[str, NDArray[np.float64]]:
    """The right counts of every cell, with sums and means where there are values."""
    cell = one.arrays["cell"]
    counts = np.bincount(cell, minlength=one.cells).astype(np.float64)
    if one.kind != "three":
        return {"counts": counts}
    sums = np.bincount(cell, weights=one.arrays["value"], minlength=one.cells).astype(np.float64)
    return {"counts": counts, "sums": sums, "means": sums / np.maximum(counts, 1)}
