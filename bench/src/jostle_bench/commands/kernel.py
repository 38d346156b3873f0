"""`jostle bench kernel`: what exact budgets, the ledger and exact noise cost."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from jostle.cli.terminal import Working
from jostle_bench.reports.terminal import Row, seconds, show_rows


def kernel(as_json: Annotated[bool, typer.Option("--json", help="Print numbers for a script.")] = False) -> None:
    """What the kernel costs: beside bare NumPy, a charge, exact noise, and the import."""
    with Working() as working:
        working.on("Measuring")
        rows = [*_overheads(), _charge(), _exact_noise(), _import(), _prefix()]
    show_rows("The kernel on this machine", rows, as_json=as_json)


def _overheads() -> list[Row]:
    """The same plan through a source and on bare NumPy; runs alternate, so that both see the same machine."""
    import numpy as np

    from jostle.algorithms.hb import best_branching
    from jostle.kernel.source import SimulatedSource
    from jostle.kernel.strategies import hierarchy
    from jostle.linear.fitting.trees import tree_least_squares

    cells, trials = 1024, 20
    x = np.arange(cells, dtype=np.int64)
    tree = hierarchy(cells, best_branching((cells,)), root=False)
    scale = float(tree.norm)
    start = SimulatedSource(x, seed=0, trials=trials)

    def through() -> None:
        source = start.again(seed=0, trials=trials)
        tree_least_squares(tree, source.measure(tree, source.grant(1)))

    answers = tree.apply(x)

    def bare() -> None:
        generator = np.random.default_rng(0)
        noise = np.floor(generator.standard_exponential((trials, tree.rows)) * scale)
        noise -= np.floor(generator.standard_exponential((trials, tree.rows)) * scale)
        tree_least_squares(tree, noise + answers)

    ratios = [median(seconds(through, repeat=15)) / median(seconds(bare, repeat=15)) for _ in range(15)]
    return [("HB at 1,024 cells, 20 trials: kernel over bare NumPy", 100 * (median(ratios) - 1), "% more", "under 10")]


def _charge() -> Row:
    from jostle.kernel.ledger import Ledger
    from jostle.kernel.neighbours import Neighbours

    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "ledger.db") as ledger:
        account = ledger.account("bench", cap=1)

        def charge() -> None:
            account.charge(Fraction(1, 10**6), operator="laplace", neighbours=Neighbours(), note="bench")

        return ("a charge on a SQLite ledger", 1000 * median(seconds(charge, repeat=200)), "ms", "under 5")


def _exact_noise() -> Row:
    import numpy as np

    from jostle.kernel.noise import ExactNoise

    zeros, engine = np.zeros(4096, dtype=np.int64), ExactNoise()
    taken = seconds(lambda: engine.discrete_laplace(zeros, Fraction(10)), repeat=10)
    return ("exact noise on 4,096 integers", 1000 * median(taken), "ms", "under 60")


def _import() -> Row:
    import subprocess
    import sys

    code = "import time; began = time.perf_counter(); import jostle; print(time.perf_counter() - began)"
    taken = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) for _ in range(5)]
    return ("import jostle", 1000 * median(taken), "ms", "under 500")


def _prefix() -> Row:
    import numpy as np

    from jostle import workloads

    x, queries = np.ones(10**6), workloads.prefix(10**6)
    return ("a prefix workload on 10⁶ cells", 1000 * median(seconds(lambda: queries @ x, repeat=10)), "ms", "a few")
