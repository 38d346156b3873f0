"""The benchmark of synthetic tables, measured small."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from jostle.kernel.errors import BadInput
from jostle_bench import synthetic
from tests.commands import jostle as command  # noqa: F401 (a fixture)


def test_less_noise_is_nearer_and_the_records_themselves_are_nearest() -> None:
    table = synthetic.made_up(4, 4_000)
    near, far = (synthetic.measure(table, epsilon, 1e-9, seed=0) for epsilon in (10.0, 0.1))
    assert near.pairs < synthetic.independent(table).pairs
    assert near.pairs < far.pairs
    assert near.triples < far.triples
    assert synthetic.distance(table, table.train, 2) == 0


def test_intervals_hold_as_often_as_they_say(command) -> None:  # noqa: F811
    """Of some hundred measured counts; seeded, so that it always passes or always fails."""
    found = synthetic.intervals(synthetic.made_up(4, 4_000), 1.0, None, runs=3)
    assert found["measured"][1] > 200
    assert found["measured"][0] > 0.85 * found["measured"][1]
    assert all(inside > 0.9 * of for basis, (inside, of) in found.items() if basis != "measured")
    status, said, _ = command("bench", "synthetic", "made-3x500", "--intervals", "--epsilon", "1", "--no-pure")
    assert status == 0
    assert "made-3x500 at ε = 1, δ = 1e-09: measured: " in said


def test_the_distance_is_that_of_shares() -> None:
    table = synthetic.made_up(2, 10)
    moved = {name: column[:1] for name, column in table.train.items()}
    names = tuple(table.columns)
    place = np.ravel_multi_index([table.train[name] for name in names], [table.sizes[name] for name in names])
    assert synthetic.distance(table, moved, 2) == pytest.approx(2 * (1 - (place == place[0]).mean()))


def test_the_command_prints_tables_of_files(tmp_path: Path, command) -> None:  # noqa: F811
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 400)
    lines = "\n".join(f"{a},{(a + b) % 3}" for a, b in zip(first, rng.integers(0, 2, 400), strict=True))
    (tmp_path / "few.csv").write_text(f"a,b\n{lines}\n", "utf-8")
    (tmp_path / "few.json").write_text('{"a": 3, "b": 3}', "utf-8")
    path = str(tmp_path / "few.csv")
    status, output, _ = command("bench", "synthetic", path, "--epsilon", "5", "--label", "b", "--against", path, "--json")
    assert status == 0
    found = json.loads(output)
    assert [one["price"] for one in found] == ["independent columns", "few.csv", "ε = 5, δ = 1e-09", "ε = 5"]
    assert found[1]["pairs"] < found[2]["pairs"] < found[0]["pairs"]


def test_a_file_without_sizes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no file of sizes"):
        synthetic.read_table(tmp_path / "absent.csv")
