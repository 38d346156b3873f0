"""The folder of results: what is kept, what a kill costs, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jostle.kernel.errors import BadInput
from jostle.simulate import grid, measure, results
from jostle.simulate.results import MeasuredError, Results
from tests.simulate.folders import data_folder


def made(number: int, **changes) -> MeasuredError:
    said = {"version": 1, "digest": "00", "trials": 10, "seed": 0, "neighbours": "add_remove", "seconds": 0.001}
    said |= {"algorithm": "HB", "cell": f"cell|{number}", "mean": 0.1 + number, "stderr": 1 / 3} | changes
    return MeasuredError(**said)


def parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


@pytest.fixture
def at_once(monkeypatch):
    """Measurements go to disk as soon as they can."""
    monkeypatch.setattr(results, "_DELAY", 0.0)


def wait_until(so, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not so():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_what_was_added_is_read_again_in_its_order_and_to_the_last_bit(tmp_path):
    folder = tmp_path / "deep" / "kept"
    whole = [made(number, mean=0.1 * number, seed=2**40) for number in range(100)]
    with Results(folder) as kept:
        for one in whole:
            kept.add(one)
        assert kept.get(whole[3].key) == whole[3]
        assert list(kept) == whole
    assert len(parts(folder)) == 1
    with Results(folder) as kept:
        assert list(kept) == whole
        kept.add(made(100))
    assert len(parts(folder)) == 1  # merged
    with Results(folder) as kept:
        assert list(kept) == [*whole, made(100)]


def test_every_part_of_the_key_tells_measurements_apart():
    one = made(0)
    others = {"algorithm": "AHP", "version": 2, "cell": "x", "digest": "01", "trials": 9, "seed": 1, "neighbours": "replace"}
    kept = Results()
    kept.add(one)
    for name, value in others.items():
        assert kept.get(replace(one, **{name: value}).key) is None
    assert kept.get(replace(one, mean=7.0, stderr=7.0, seconds=7.0).key) == one


def test_a_measurement_reaches_the_disk_although_nothing_follows_it(tmp_path, at_once):
    kept = Results(tmp_path / "kept")
    kept.add(made(0))
    wait_until(lambda: parts(tmp_path / "kept"))
    kept.add(made(1))
    wait_until(lambda: len(parts(tmp_path / "kept")) == 2)
    with Results(tmp_path / "kept") as again:  # the first was not closed: as if it had been killed
        assert list(again) == [made(0), made(1)]
    kept.close()


def test_killed_in_the_middle_only_the_last_seconds_are_lost(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from jostle.simulate import results; results._DELAY = 0.02\n"
        "kept, number = results.Results(Path(sys.argv[1])), 0\n"
        "while True:\n"
        "    kept.add(results.MeasuredError(algorithm='HB', version=1, cell=str(number), digest='', trials=2, seed=0,"
        " neighbours='add_remove', mean=number, stderr=0.0, seconds=0.0))\n"
        "    number += 1; print(number, flush=True); time.sleep(0.001)\n"
    )
    folder = tmp_path / "kept"
    writer = subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True)
    wait_until(lambda: len(parts(folder)) > 5)
    writer.kill()
    said, _ = writer.communicate()
    with Results(folder) as kept:
        numbers = [int(one.mean) for one in kept]
        assert numbers == list(range(len(numbers)))  # nothing is missing before the last
        assert 0 < len(numbers) <= int(said.split()[-1]) + 1
    with Results(folder) as kept:
        assert [int(one.mean) for one in kept] == numbers


def test_killed_while_merging_nothing_is_lost_or_there_twice(tmp_path, monkeypatch, at_once):
    kept = Results(tmp_path)
    for number in range(3):
        kept.add(made(number))
        wait_until(lambda number=number: len(parts(tmp_path)) == number + 1)
    with monkeypatch.context() as patched:

        def killed(*_, **__):
            raise KeyboardInterrupt

        patched.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            kept.close()
    assert len(parts(tmp_path)) == 4
    with Results(tmp_path) as again:
        assert list(again) == [made(number) for number in range(3)]
    assert len(parts(tmp_path)) == 1


def test_two_at_a_time_lose_nothing(tmp_path, at_once):
    with Results(tmp_path) as start:
        start.add(made(-1))
    one, two = Results(tmp_path), Results(tmp_path)

    def fill(kept: Results, first: int) -> None:
        for number in range(first, first + 20):
            kept.add(made(number))
            time.sleep(0.001)
        kept.close()

    threads = [threading.Thread(target=fill, args=(kept, first)) for kept, first in ((one, 0), (two, 100))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Results(tmp_path) as kept:
        assert {int(m.cell.split("|")[1]) for m in kept} == {-1, *range(20), *range(100, 120)}


def test_what_a_killed_writer_left_is_ignored_and_cleared_when_old(tmp_path):
    with Results(tmp_path) as kept:
        kept.add(made(0))
    old, new = (tmp_path / f".{number:020d}-0123abcd.unfinished" for number in (1, 2))
    for file in (old, new):
        file.write_bytes(b"half a part")
    os.utime(old, (0, 0))
    with Results(tmp_path) as kept:
        assert list(kept) == [made(0)]
    assert not old.exists()
    assert new.exists()  # it may be under way


def test_what_cannot_be_written_waits_and_closing_says_why(tmp_path, monkeypatch, at_once):
    kept, tried = Results(tmp_path), threading.Event()

    def full(*_):
        tried.set()
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(results, "_write", full)
        kept.add(made(0))
        assert tried.wait(120)
        with pytest.raises(OSError, match="No space"):
            kept.close()
    kept.close()
    with Results(tmp_path) as again:
        assert list(again) == [made(0)]


def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path):
    note = tmp_path / "note.txt"
    note.write_text("precious")
    with pytest.raises(BadInput, match=r"out: .* holds something other than measurements: note.txt"):
        Results(tmp_path)
    assert note.read_text() == "precious"
    with pytest.raises(BadInput, match="out: .* cannot be used: File exists"):
        Results(note)


@pytest.mark.parametrize("content", [None, pa.table({"what": [1]}), pa.table({"algorithm": [1]})])
def test_a_part_of_something_else_is_refused(tmp_path, content):
    part = tmp_path / f"{1:020d}-0123abcd.parquet"
    if content is None:
        part.write_bytes(b"PAR1 and no more")
    else:
        pq.write_table(content, part)
    with pytest.raises(BadInput, match="is damaged|something other than measurements"):
        Results(tmp_path)
    assert part.exists()


def test_removed_results_are_gone(tmp_path):
    kept = Results(tmp_path / "kept")
    kept.add(made(0))
    kept.remove()
    assert len(kept) == 0
    assert not (tmp_path / "kept").exists()


def test_results_are_kept_and_not_measured_again(tmp_path):
    cells = grid.cells("range-1d", data_folder(tmp_path / "made-up"), sides=(128,), exponents=(5, 6))[:4]
    todo = measure.jobs(cells, ["Laplace", "HB"], trials=3, seed=0)
    with Results(tmp_path / "kept") as kept:
        first = list(islice(measure.run(todo, kept, workers=1), 3))
    with Results(tmp_path / "kept") as kept:
        assert list(kept) == first
        assert len(list(measure.run(todo, kept, workers=1))) == 5
        assert list(measure.run(todo, kept, workers=1)) == []
    with Results(tmp_path / "kept") as kept:
        assert {one.key for one in kept} == {job.key for job in todo}
        for other in ({"trials": 4}, {"seed": 1}, {"neighbours": "replace"}):
            changed = measure.jobs(cells, ["Laplace"], **{"trials": 3, "seed": 0} | other)
            assert all(kept.get(job.key) is None for job in changed)
