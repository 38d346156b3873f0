"""Pythia: what it pays for, what it hands on, what it says."""

from __future__ import annotations

import io
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import jostle
from jostle import algorithms, simulate, workloads
from jostle.choice.pythia import settled
from jostle.choice.regret_tree import InnerNode, Leaf
from jostle.choice.selectors import About, Selector
from jostle.choice.traces import Trace, collect_traces
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.source import SimulatedSource

OPTIONS = ("Laplace", "HB", "Uniform")
X = np.arange(64) % 5


def leaf(choice: int) -> Leaf:
    return Leaf(choice, (1.0, 2.0, 3.0), 10, 0.5)


def selector(*nodes: InnerNode | Leaf) -> Selector:
    """The same tree for cells and for prefixes."""
    about = About(
        task="range-1d", options=OPTIONS, versions=(1, 1, 1), rho=0.1, cells=(32.0, 4096.0), scales=(32.0, 2.0**24)
    )
    return Selector(about, {"identity": (nodes,), "prefix": (nodes,)})


ASKS_TWO = selector(
    InnerNode("scale", 100.0, 1, 2), InnerNode("nonzeros", 8.0, 3, 4), leaf(0), leaf(2), leaf(1)
)  # a small scale leads to a second question, a large one does not


class Listening:
    """Hands everything on to a simulated source, and writes down what was paid for what."""

    def __init__(self, x, **how):
        self._source = SimulatedSource(x, seed=3, **how)
        self.paid: list[tuple[str, Fraction]] = []

    def __getattr__(self, name):
        return getattr(self._source, name)

    def statistic(self, statistic, budget):
        self.paid.append((statistic.name, budget.epsilon))
        return self._source.statistic(statistic, budget)

    def measure(self, strategy, budget):
        self.paid.append(("laplace", budget.epsilon))
        return self._source.measure(strategy, budget)


def run(x, asked, epsilon, neighbours="add_remove", **tunables):
    source = Listening(x, neighbours=neighbours)
    with collect_traces() as traces:
        estimate = algorithms.get("Pythia").run(source, asked, source.grant(epsilon), **tunables)
    assert source.unspent == 0
    return estimate, source.paid, traces[0]


def test_a_feature_is_paid_for_when_it_is_asked_and_the_rest_goes_to_the_option():
    few, many = X, X * 1000
    asked = workloads.identity(64)
    _, paid, trace = run(many, asked, Fraction(1, 2), selector=ASKS_TWO)
    share = Fraction(1, 2) * Fraction(1, 10) / 2
    assert paid == [("Scale", share), ("laplace", Fraction(1, 2) - share)]
    assert (trace.choice, trace.remainder) == ("Laplace", Fraction(1, 2) - share)
    _, paid, trace = run(few, asked, Fraction(1, 2), selector=ASKS_TWO)
    assert paid[:2] == [("Scale", share), ("NonZeroCells", share)]
    assert sum(amount for _, amount in paid) == Fraction(1, 2)
    assert trace.remainder == Fraction(9, 20)


ASKS_ALL = [
    InnerNode("scale", -(10.0**18), 1, 2),
    leaf(0),
    InnerNode("nonzeros", -(10.0**18), 3, 4),
    leaf(0),
    InnerNode("variation", -(10.0**18), 5, 6),
    leaf(0),
    InnerNode("partitionality", 5.0, 7, 8),
    leaf(1),
    leaf(2),
]  # every private feature, one after the other


@pytest.mark.parametrize("shape", [(1,), (2,), (7,), (1, 1), (1, 5), (2, 2), (3, 7)])
@pytest.mark.parametrize("neighbours", [Neighbours("add_remove"), Neighbours("replace"), Neighbours("replace", rows=3)])
def test_all_of_the_budget_is_spent_whatever_is_asked(shape, neighbours):
    x = np.random.default_rng(5).poisson(3.0, size=shape)
    about = replace(ASKS_TWO.about, task=f"range-{len(shape)}d")
    asks_all = Selector(about, {name: (tuple(ASKS_ALL),) for name in about.classes})
    estimate, _, trace = run(x, workloads.identity(shape), Fraction(1, 3), neighbours=neighbours, selector=asks_all)
    assert estimate.shape == (x.size,)
    assert sum(seen.epsilon for seen in trace.features) == Fraction(1, 30)
    assert trace.remainder == Fraction(3, 10)
    assert sum(bool(seen.epsilon) for seen in trace.features) == (3 if neighbours.total_is_public else 4)


def test_with_algorithm_2_every_feature_is_measured_first_and_nothing_is_given_back():
    known = replace(ASKS_TWO.about, provenance={"features": ["scale", "nonzeros", "variation", "domain", "unheard of"]})
    told = Selector(known, ASKS_TWO.trees)
    _, paid, trace = run(X * 1000, workloads.identity(64), Fraction(1, 2), selector=told, measure_all=True)
    share = Fraction(1, 20) / 3
    assert paid == [("Scale", share), ("NonZeroCells", share), ("TotalVariation", share), ("laplace", Fraction(9, 20))]
    assert (trace.choice, trace.remainder) == ("Laplace", Fraction(9, 20))
    assert settled(workloads.identity(64), selector=told, measure_all=True) is None


def test_a_walk_without_private_features_costs_nothing():
    tree = selector(InnerNode("domain", 50.0, 1, 2), leaf(1), leaf(0))
    _, paid, trace = run(X, workloads.identity(64), 1, selector=tree)
    assert paid == [("laplace", Fraction(1))]
    assert trace.remainder == trace.epsilon == 1


def test_the_scale_is_free_where_it_is_public_and_its_share_goes_to_the_other_features():
    _, paid, trace = run(X, workloads.identity(64), 1, neighbours="replace", selector=ASKS_TWO)
    assert paid[0] == ("NonZeroCells", Fraction(1, 10))
    assert trace.features[1].name == "scale"
    assert trace.features[1].epsilon == 0
    assert trace.features[1].value == X.sum() / 2  # half of ε counts under `replace`


@pytest.mark.parametrize(("epsilon", "factor"), [(0.001, 1000), (10, 0.1)])
def test_scale_and_epsilon_are_exchanged(epsilon, factor):
    tree = selector(InnerNode("scale", 5000.0, 1, 2), leaf(2), leaf(0))
    for scale, choice in ((500, "Uniform"), (50_000, "Laplace")):
        x = np.full(64, int(scale * factor / 64))
        assert run(x, workloads.identity(64), epsilon, selector=tree, rho=0.5)[2].choice == choice


def test_rho_can_be_told():
    tree = selector(InnerNode("scale", 5000.0, 1, 2), leaf(2), leaf(0))
    _, paid, _ = run(X, workloads.identity(64), 1, selector=tree, rho=0.25)
    assert paid[0] == ("Scale", Fraction(1, 4))
    with pytest.raises(BadInput, match="rho"):
        run(X, workloads.identity(64), 1, rho=2)


def test_a_plain_option_is_projected_on_the_noisy_total():
    tree = selector(InnerNode("scale", 10.0**9, 1, 2), leaf(0), leaf(0))
    x = np.zeros(4096, dtype=int)
    x[5] = 2000
    how = {"trials": 6, "seed": 0, "selector": tree}
    for asked in (workloads.identity(4096), workloads.prefix(4096)):
        with_it, without = (simulate.errors("Pythia", x, asked, 0.5, project=project, **how) for project in (True, False))
        # Run by run under the same noise (Theorem 5); the seed is one under which the true total lies within the slack.
        assert (with_it < without).all()


def test_an_option_that_adapts_is_left_as_it_is():
    tree = selector(InnerNode("scale", 10.0**9, 1, 2), leaf(2), leaf(2))
    assert run(X, workloads.identity(64), 1, selector=tree)[2].projection == ""


def test_outside_of_the_training_range_it_works_and_says_so():
    x = np.full(8, 3)
    estimate, _, trace = run(x, workloads.identity(8), 1000, selector=ASKS_TWO)
    assert estimate.shape == (8,)
    assert trace.notes == ("domain 8 is outside of the training range, 32 to 4096",)
    scale = run(x, workloads.identity(8), 10**9, selector=ASKS_TWO)[2].notes[1]
    assert scale == "scale 2.4e+10 is outside of the training range, 32 to 1.67772e+07"
    assert run(np.full(64, 30), workloads.identity(64), 1, selector=ASKS_TWO)[2].notes == ()


def test_an_option_that_has_changed_since_training_is_named():
    older = replace(ASKS_TWO, about=replace(ASKS_TWO.about, versions=(1, 0, 1)))
    assert run(X * 1000, workloads.identity(64), 1, selector=older)[2].notes == (
        "HB has changed since the selector was trained",
    )


def test_a_selector_for_another_task_is_refused_before_anything_is_charged():
    source = SimulatedSource(np.ones((4, 4), dtype=int), seed=0)
    with pytest.raises(BadInput, match="range-1d"):
        algorithms.get("Pythia").run(source, workloads.identity((4, 4)), source.grant(1), selector=ASKS_TWO)
    assert source.unspent == 1


def test_pythia_is_no_option_of_its_own():
    from jostle.simulate import grid

    for task in ("range-1d", "range-2d"):
        assert "Pythia" in algorithms.names(task)
        assert "Pythia" not in grid.options(task)


# ------------------------------------------------------------------------------------------------------ traces


def test_a_trace_prints_plots_and_travels():
    from rich.console import Console

    _, _, trace = run(X, workloads.prefix(64), 0.3, selector=ASKS_TWO)
    assert Trace.loads(trace.dumps()) == trace
    console = Console(width=120, file=io.StringIO())
    console.print(trace)
    shown = console.file.getvalue()
    for word in (trace.choice, "scale", "nonzeros", "public", "expected regret", "workload prefix"):
        assert word in shown
    assert next(iter(trace.plot().data[0].y)) == min(trace.regrets, key=trace.regrets.__getitem__)
    with pytest.raises(BadInput, match="trace"):
        Trace.loads(trace.dumps().replace('"schema": 1', '"schema": 7'))
    with pytest.raises(BadInput, match="trace"):
        Trace.loads('{"format": 3}')


def test_a_trace_shows_noisy_values_only():
    """The same data under other noise give other numbers: nothing in a trace is the true value."""
    seen = set()
    for seed in range(5):
        source = SimulatedSource(X, seed=seed)
        with collect_traces() as traces:
            algorithms.get("Pythia").run(source, workloads.identity(64), source.grant(0.1), selector=ASKS_TWO)
        seen.add(next(one.value for one in traces[0].features if one.name == "scale"))
    assert len(seen) == 5


def test_a_release_carries_its_trace(tmp_path):
    with jostle.Ledger(tmp_path / "ledger.db") as ledger:
        account = ledger.account("d", cap=1)
        released = jostle.release(X, epsilon=0.5, account=account, algorithm="Pythia", selector=ASKS_TWO)
        assert released.trace is not None
        assert released.trace.choice in OPTIONS
        assert released.spent == released.trace.epsilon == Fraction(1, 2)
        charges = [event.amount for event in ledger.events("d") if event.kind == "charge"]
        assert charges[0] == Fraction(1, 40)
        assert sum(charges) == Fraction(1, 2)
        assert jostle.release(X, epsilon=0.25, account=account, algorithm="Laplace").trace is None


def test_traces_are_for_those_who_collect_them():
    with collect_traces() as outer:
        run(X, workloads.identity(64), 1, selector=ASKS_TWO)  # collects, too
        simulate.errors("Pythia", X, workloads.identity(64), 1, trials=2, seed=0, selector=ASKS_TWO)
    simulate.errors("Pythia", X, workloads.identity(64), 1, trials=2, seed=0, selector=ASKS_TWO)
    assert len(outer) == 3


def test_choosing_is_quick():
    """Loose: the measured figure is some tenths of a millisecond, and machines differ."""
    x, asked = np.full(4096, 3), workloads.identity(4096)
    tree = selector(InnerNode("scale", 5000.0, 1, 2), leaf(0), leaf(0))
    took = []
    for name, tunables in (("Pythia", {"selector": tree, "project": False}), ("Laplace", {})):
        runs = []
        for seed in range(30):
            source = SimulatedSource(x, seed=seed)
            token = source.grant(1)
            start = time.process_time()  # not what others on the machine take
            algorithms.get(name).run(source, asked, token, **tunables)
            runs.append(time.process_time() - start)
        took.append(min(runs))
    assert took[0] - took[1] < 0.01


def test_the_shipped_selector_is_that_of_the_budget_s_measure():
    asked, counts = workloads.prefix(1024), np.arange(1024)
    assert settled(asked) != settled(asked, measure="concentrated") == "OPT-nonnegative"
    assert settled(asked, selector="range-1d", measure="concentrated") == settled(asked)
    with collect_traces() as traces:
        simulate.errors("Pythia", counts, asked, 1, trials=1, seed=0)
        simulate.errors("Pythia", counts, asked, rho="1/4", trials=1, seed=0)
    assert [trace.choice for trace in traces] == [settled(asked), "OPT-nonnegative"]
