"""The map at the top of CONTRIBUTING.md: five ways through the house, each followed with a profiler.

`python -m tests.test_house_map` prints the lists of modules as they are now.
"""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

CONTRIBUTING = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"
LONGEST = {"A release of counts": 20, "A release from a table": 52}
"""How many modules a way may pass through, with those of the algorithm. The goal for a table is 45.
Engines, notes, places of rows and limits in ρ and (ε, δ) are ideas of their own, with a module each."""


def followed(call: Callable[[], object]) -> list[str]:
    """The modules of jostle whose functions run, in the order in which they are entered, once everything is loaded.

    Without the algorithm and what it does with noisy answers. It is named, because noise would decide otherwise.
    """
    found: dict[str, None] = {}
    call()

    def entered(frame: FrameType, event: str, _: object) -> None:
        name = str(frame.f_globals.get("__name__", ""))
        if event == "call" and name.startswith("jostle.") and frame.f_code.co_name not in ("<module>", "__getattr__"):
            found.setdefault(name.removeprefix("jostle."))

    sys.setprofile(entered)
    try:
        call()
    finally:
        sys.setprofile(None)
    chosen = re.compile(r"linear\.|algorithms\.(?!_|registry)")
    return [name for name in found if not chosen.match(name)]


def counts(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 100, 32)


def a_release_from_a_table(folder: Path) -> Callable[[], object]:
    from jostle.cli.main import main

    (folder / "people.csv").write_text("age,sex\n31,F\n45,M\n20,F\n38,F\n")
    (folder / "people.toml").write_text('[columns.age]\nkind = "integer"\nlow = 0\nhigh = 99\nbins = 10\n')
    sys.argv = ["jostle", *f"release {folder}/people.csv --schema {folder}/people.toml --by age --epsilon 0.5".split()]
    sys.argv += f"--budget 1 --ledger {folder}/budget.db --algorithm HB".split()

    def released() -> None:
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
            main()

    return released


def a_release_of_counts(folder: Path) -> Callable[[], object]:
    import jostle

    account = jostle.Ledger(folder / "budget.db").account("counts", cap=1)
    return lambda: jostle.release(counts(), epsilon=0.5, account=account, algorithm="HB")


def a_selector(folder: Path) -> Callable[[], object]:
    import jostle
    from jostle.choice.delphi import collect
    from jostle.choice.selectors import train

    shapes = {"flat": np.ones(64, dtype=int), "steps": np.repeat([9, 1], 32), "rising": np.arange(64)}

    def trained_and_used() -> object:
        table = collect(
            "range-1d", ["Laplace", "Uniform"], shapes=shapes, sides=[64], exponents=[5, 20], trials=2, workers=1
        )
        train(table, least=2).save(str(folder / "mine.json"))
        asked = [3, 0, 4, 1], jostle.workloads.identity(4), 1
        return jostle.simulate.errors("Pythia", *asked, trials=2, seed=0, selector=str(folder / "mine.json"))

    return trained_and_used


def a_classifier(folder: Path) -> Callable[[], object]:
    import jostle
    from jostle.learn import PrivateLogistic

    schema = jostle.Schema({"age": jostle.Integer(0, 99), "class": jostle.Category(["no", "yes"])})
    people = [[age] for age in range(100)]
    account = jostle.Ledger(folder / "budget.db").account("people", cap=2)
    model = PrivateLogistic(epsilon=1, schema=schema, account=account)
    return lambda: model.fit(people, ["yes" if age >= 50 else "no" for (age,) in people])


def a_choice_maker(folder: Path) -> Callable[[], object]:
    import jostle

    size = jostle.metafeature("select sum(values) from db", name="size")
    public = {f"{n} each": [n] * 32 for n in (0, 1, 30)} | {f"a peak of {n}": [0] * 31 + [n] for n in (5, 900)}
    maker = jostle.ChoiceMaker(
        options=["Laplace", "Uniform"], informed_by=[size], trained_on=public, queries=jostle.workloads.identity
    )
    account = jostle.Ledger(folder / "budget.db").account("counts", cap=1)
    return lambda: maker.release(counts(), jostle.workloads.identity(32), epsilon=0.5, account=account)


WAYS = {
    "A release from a table": a_release_from_a_table,
    "A release of counts": a_release_of_counts,
    "A selector, trained and used": a_selector,
    "A classifier's fit": a_classifier,
    "A choice maker": a_choice_maker,
}


def on_the_map() -> dict[str, list[str]]:
    """What CONTRIBUTING.md says: for each way the names of modules, in order."""
    page = CONTRIBUTING.read_text("utf-8")
    return {way: re.findall(r"`([\w.]+)`", page.split(f"**{way}**", 1)[1].split("\n\n", 1)[0]) for way in WAYS}


@pytest.mark.parametrize("way", WAYS)
def test_a_way_passes_through_the_modules_on_the_map(way: str) -> None:
    """In a process of its own: what an earlier test has run once, such as compiled loops, would not run again."""
    code = f"from tests.test_house_map import *; report({way!r})"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=CONTRIBUTING.parent)
    found = done.stderr.split("modules: ")[1].split()
    assert found == on_the_map()[way], "python -m tests.test_house_map prints the lists as they are now"
    assert len(found) <= LONGEST.get(way, 10**9)


def test_a_release_from_a_table_reads_the_ledger_three_times_and_writes_its_query_once(tmp_path, monkeypatch) -> None:
    """On opening the ledger, for the account and what it was charged for, and before the charge, which reads for itself."""
    from jostle.kernel.ledger.store import Store
    from jostle.tables.run_in_engine import Query
    from jostle.tables.view import View

    release = a_release_from_a_table(tmp_path)
    release()
    began: list[str] = []

    def counted(owner: type, name: str) -> None:
        plain = getattr(owner, name)

        def method(self: Any, *args: Any, **options: Any) -> Any:
            if getattr(self, "_under_way", None) is None:
                began.append("charge" if options else name)
            return plain(self, *args, **options)

        monkeypatch.setattr(owner, name, method)

    for owner, name in ((Store, "transaction"), (View, "rows"), (Query, "_plan"), (Query, "_run")):
        counted(owner, name)
    release()
    assert began == ["transaction", "transaction", "rows", "_plan", "transaction", "charge", "_run"]


def report(way: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        print("modules:", *followed(WAYS[way](Path(folder))), file=sys.stderr)


if __name__ == "__main__":
    for one in WAYS:
        subprocess.run([sys.executable, "-c", f"from tests.test_house_map import *; report({one!r})"], check=False)
