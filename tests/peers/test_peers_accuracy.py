"""What accuracy is measured on, how errors are computed, and what the report makes of them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.peers import accuracy, inputs, report
from jostle.peers.accuracy_report import closed_form
from jostle.peers.environments import known
from jostle.peers.jobs import ADAPTERS
from jostle.peers.parts import Asked, Comparison, Findings, compare

positive = st.lists(st.floats(0.1, 100), min_size=2, max_size=20)


@given(positive, positive, st.floats(0.5, 50))
def test_a_ratio_lies_in_its_interval_and_turns_over_with_its_sides(ours, theirs, factor):
    ratio, low, high = compare(ours, theirs)
    assert low <= ratio <= high
    assert np.allclose(compare(theirs, ours), (1 / ratio, 1 / high, 1 / low))
    assert np.allclose(compare(np.array(ours) * factor, np.array(theirs) * factor), (ratio, low, high))


def test_the_interval_covers_as_often_as_it_says():
    """If coverage is 95 %, it falls below 90 % in 4,000 pairs with a probability under e^(−2 · 4000 · 0.05²) = 2e-9."""
    draw = np.random.default_rng(0)
    covered = 0
    for _ in range(4000):
        _, low, high = compare(draw.gamma(50, 3, size=20), draw.gamma(50, 2, size=10))
        covered += low <= 1.5 <= high
    assert covered / 4000 > 0.9


@given(st.lists(st.integers(0, 9), min_size=2, max_size=8).filter(any), st.data())
def test_rank_errors_count_the_records_in_between(counts, data):
    counts = np.array(counts)
    found = data.draw(st.lists(st.floats(0, len(counts)), min_size=9, max_size=9))
    each = 1000  # so many records stand for one, evenly spread over the cell
    places = np.concatenate([cell + (np.arange(n * each) + 0.5) / (n * each) for cell, n in enumerate(counts) if n])
    below = np.array([(places < value).sum() / each for value in found])
    expected = max(np.linalg.norm(below - np.array(inputs.LEVELS) * counts.sum()), 0.5)
    assert inputs.rank_errors(np.array([found]), counts)[0] == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("name", ["diffprivlib", "pipelinedp", "tumult"])
def test_adapters_spread_records_as_errors_count_them(name):
    spec = importlib.util.spec_from_file_location(f"{name}_accuracy", ADAPTERS / f"{name}_accuracy.py")
    adapter = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(adapter)
    counts = np.array([0, 400, 0, 500, 100])
    records = adapter._spread(counts)
    assert np.histogram(records, bins=5, range=(0, 5))[0].tolist() == counts.tolist()
    assert inputs.rank_errors(np.quantile(records, inputs.LEVELS)[None], counts)[0] <= 1.5


def test_queries_stay_within_their_domain_and_are_the_same_everywhere():
    ranges, rectangles = inputs.workload("ranges", (256,)), inputs.workload("rectangles", (32, 32))
    assert ranges.shape == (1000, 256)
    assert rectangles.shape == (1000, 1024)
    assert 1 <= ranges.lengths.min() <= ranges.lengths.max() <= 256
    inputs.workload.cache_clear()
    assert np.array_equal(inputs.workload("rectangles", (32, 32)).lengths, rectangles.lengths)


def asked(tmp_path: Path, *names: str, **more: object) -> Asked:
    return Asked(peers=[known()[name] for name in ("jostle", *names)], folder=tmp_path, **more)


def test_everybody_is_given_the_same_data_and_slow_peers_fewer(tmp_path, monkeypatch):
    monkeypatch.setattr(accuracy, "DOMAINS", ((256,), (4096,)))
    planned = accuracy.plan(asked(tmp_path, "opendp", "tumult", "interpret"))
    given_to = {
        name: [job for job in planned if job.peer.name == name] for name in ("jostle", "opendp", "tumult", "interpret")
    }
    assert not given_to["interpret"], "it has no adapter for this part"
    assert {job.data for job in given_to["opendp"]} == {job.data for job in given_to["jostle"]}
    assert {len(job.settings["inputs"]) for job in given_to["opendp"]} == {18}, "three data sets, three scales, two ε"
    assert {job.data.stem for job in given_to["tumult"]} == {"accuracy-256"}
    assert {job.settings["neighbours"] for job in given_to["jostle"] if job.kind == "quantiles"} == {"add_remove", "replace"}
    with np.load(given_to["jostle"][0].data) as data:
        assert sorted({int(data[name].sum()) for name in data.files}) == list(accuracy.SCALES)


def test_the_closed_form_is_that_of_discrete_laplace_noise():
    draw = np.random.default_rng(0)
    noise = draw.geometric(1 - np.exp(-0.5), size=(2, 10**6))
    assert np.sqrt(np.mean((noise[0] - noise[1]) ** 2)) == pytest.approx(closed_form(1, 0.5), rel=0.01)


def cell(ratio: float, low: float, high: float) -> Comparison:
    about = {"part": "accuracy", "peer": "Toy", "group": "ranges", "unit": "records", "cell": f"cell {ratio}"}
    return Comparison(**about, ours=ratio, theirs=1.0, ratio=ratio, low=low, high=high)


def test_the_first_page_has_every_cell_in_which_we_are_behind():
    cells = [cell(0.5, 0.4, 0.6), cell(1.02, 0.9, 1.1), cell(1.5, 1.2, 1.9)]
    first, behind, *_ = report.sections({}, {}, {"accuracy": Findings(comparisons=cells)})
    assert "behind in 2 of them**, for certain in 1" in " ".join(first.texts)
    assert [row[0] for row in behind.grids[0].rows] == ["accuracy: cell 1.5", "accuracy: cell 1.02"], "the surest first"
