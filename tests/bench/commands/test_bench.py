"""`jostle bench`, as it is called from a shell: tables, JSON, pictures, and going on after a stop."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from jostle.simulate.results import Results
from tests.bench.folders import reference_folder
from tests.simulate.folders import data_folder


@pytest.fixture
def jostle(jostle, monkeypatch, tmp_path):
    """The command in an empty folder, without public data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JOSTLE_REFERENCE", raising=False)
    monkeypatch.delenv("JOSTLE_DATA", raising=False)
    return jostle


@pytest.fixture
def folder(tmp_path) -> Path:
    return reference_folder(tmp_path / "made-up")


def test_a_reference_gives_tables_and_a_picture(folder, jostle, tmp_path):
    said = ("bench", "reference", "--reference", folder, "--algorithms", "Laplace,HB", "--trials", 30, "--workers", 1)
    status, output, _ = jostle(*said)
    assert status == 0
    lines = [line.split() for line in output.splitlines()]
    (laplace,) = [line for line in lines if line[:3] == ["Laplace", "range-1d", "16"]]
    assert 0.8 < float(laplace[3]) < 1.2
    assert any(line[:2] == ["HB", "range-1d"] and "short" in line for line in lines)
    assert "In the reference and not here: " in output
    assert "Unheard" in output
    assert "<svg" in (tmp_path / "jostle-reference.html").read_text("utf-8")
    assert jostle(*said)[1] == output  # all of it from what was kept


def test_a_reference_as_json_named_by_the_environment(folder, jostle, monkeypatch, tmp_path):
    monkeypatch.setenv("JOSTLE_REFERENCE", str(folder))
    out = tmp_path / "kept"
    said = ("bench", "reference", "--sample", 3, "--trials", 5, "--workers", 1, "--neighbours", "replace", "--out", out)
    status, output, _ = jostle(*said, "--task", "range-1d", "--algorithms", "HB", "--json")
    assert status == 0
    shown = json.loads(output)
    assert (shown["trials"], shown["neighbours"], shown["failed"]) == (5, "replace", [])
    (hb,) = shown["comparisons"]
    assert (hb["algorithm"], hb["inputs"], hb["target"], hb["as_accurate"]) == ("HB", 3, True, False)
    assert hb["worst"]["beyond_doubt"] is True
    assert hb["worst"]["theirs"]["trials"] == 20
    assert {"workload", "epsilon", "ratio"} == set(hb["groups"][0])
    with Results(out) as results:
        assert len(results) == 3
    assert jostle(*said, "--task", "range-1d", "--algorithms", "HB", "--json", "--fresh")[0] == 0
    with Results(out) as results:
        assert len(results) == 3


def test_the_paper_s_grid(jostle, monkeypatch, tmp_path):
    monkeypatch.setenv("JOSTLE_DATA", str(data_folder(tmp_path / "data")))
    monkeypatch.setattr("jostle.simulate.grid.SUITE", {"range-2d": ("Laplace", "Nobody's"), "range-1d": ("Laplace",)})
    monkeypatch.setattr("jostle.simulate.grid.SIDES", {"range-1d": (128,), "range-2d": (4,)})
    said = ("bench", "reference", "--grid", "paper", "--algorithms", "HB,Uniform", "--sample", 20, "--workers", 1)
    status, output, _ = jostle(*said, "--trials", 3)
    assert status == 0
    assert "range-1d: mean of error over the best of the suite" in output
    assert "ours, chosen on other data" in output
    assert "Of the suite and not here: Nobody's." in output
    assert (tmp_path / "jostle-grid.html").is_file()
    status, output, _ = jostle(*said, "--trials", 3, "--json", "--task", "range-2d", "--drawn")
    assert status == 0
    (report,) = json.loads(output)["grid"]
    assert sum(report["inputs"].values()) == 20
    assert [line["name"] for line in report["suite"]] == ["Laplace"]
    assert all(mean == 1.0 for mean in report["suite"][0]["means"].values())
    assert {line["name"] for line in report["options"]} == {"HB", "Uniform"}


def test_speed_as_a_table_and_as_json(folder, jostle, tmp_path):
    said = ("bench", "speed", "--algorithms", "Laplace", "--task", "range-1d", "--largest", 1024, "--reference", folder)
    status, output, _ = jostle(*said)
    assert status == 0
    assert any(line.split()[:2] == ["Laplace", "range-1d"] for line in output.splitlines())
    assert "times faster" in output
    assert (tmp_path / "jostle-speed.html").is_file()
    shown = json.loads(jostle(*said, "--json")[1])
    assert shown["machine"]["cores"] >= 1
    (laplace,) = shown["speeds"]
    assert [timing["domain"] for timing in laplace["timings"]] == [[256], [1024]]
    assert laplace["beside"][0]["goal"] == 10


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("reference",), "JOSTLE_REFERENCE"),
        (("reference", "--grid", "paper"), "JOSTLE_DATA"),
        (("reference", "--grid", "magazine"), "grid: "),
        (("reference", "--task", "range-3d"), "task: "),
        (("reference", "--reference", "made-up", "--algorithms", "Nobody"), "algorithms: "),
        (("reference", "--reference", "made-up", "--neighbours", "strangers"), "neighbours: "),
        (("reference", "--reference", "made-up", "--sample", "0"), "sample: "),
        (("reference", "--reference", "made-up", "--workers", "-1"), "workers: "),
        (("reference", "--reference", "made-up", "--out", "made-up", "--fresh"), "out: "),
        (("reference", "--reference", "made-up", "--cluster", "here"), "cluster: "),
        (("speed", "--algorithms", "Nobody"), "algorithm: "),
        (("speed", "--task", "range-3d"), "task: "),
        (("speed", "--limit", "0"), "limit: "),
        (("speed", "--reference", "nowhere"), "reference: "),
    ],
)
def test_bad_arguments_are_named(folder, jostle, arguments, complaint):
    status, output, errors = jostle("bench", *arguments)
    assert (status, output) == (2, "")
    assert complaint in errors
    assert (folder / "seconds.csv").is_file()


# ---------------------------------------------------------------------------------------- stopped in the middle


def test_interrupted_it_says_what_is_kept_and_goes_on(folder, jostle, interrupted_after, tmp_path):
    said = ("bench", "reference", "--reference", folder, "--algorithms", "Laplace", "--trials", 2, "--workers", 1)
    with interrupted_after(5) as done:
        status, output, errors = jostle(*said)
    assert (status, output) == (130, "")
    assert "5 results are kept in jostle-reference; the same command goes on from there" in errors
    assert jostle(*said)[0] == 0
    with Results(tmp_path / "jostle-reference") as results:
        assert [one.key for one in results][:5] == done
        assert len(results) == 24


def started(folder: Path, out: Path) -> subprocess.Popen[str]:
    code = (
        "from jostle.cli.main import main; from jostle.simulate import results\n"
        "results._DELAY = 0.1  # seconds until a result is on disk\n"
        "if __name__ == '__main__': main()"
    )
    script = out.with_suffix(".py")
    script.write_text(code)
    said = ["bench", "reference", "--task", "range-1d", "--algorithms", "Laplace,HB", "--trials", "600", "--workers", "2"]
    return subprocess.Popen(
        [sys.executable, str(script), *said, "--reference", str(folder), "--out", str(out), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_results(running: subprocess.Popen[str], out: Path) -> None:
    """Wait until some results are on disk."""
    deadline = time.monotonic() + 240
    while not list(out.glob("*.parquet")):
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def names(out: Path) -> set[tuple[str, str]]:
    """The results in a folder, without touching it."""
    return {
        (row["algorithm"], row["cell"])
        for part in out.glob("*.parquet")
        for row in pq.ParquetFile(part).read(["algorithm", "cell"]).to_pylist()
    }


def still_running(group: int) -> list[str]:
    """The processes of a group that are neither ended nor only waiting for their end to be noticed."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of_group, *_ = stat.read_text("utf-8").rpartition(")")[2].split()
        except (OSError, ValueError):
            continue
        if int(of_group) == group and state != "Z":
            found.append(stat.parent.name)
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc, as Linux has it")
def test_killed_it_leaves_nobody_behind_and_goes_on_where_it_was(tmp_path):
    folder, out = reference_folder(tmp_path / "made-up", cells=4096, scales=(1000,)), tmp_path / "kept"

    killed = started(folder, out)
    wait_for_results(killed, out)
    killed.kill()
    killed.communicate()
    deadline = time.monotonic() + 120
    while still_running(killed.pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)

    kept = names(out)
    assert kept
    finished = started(folder, out)
    output, errors = finished.communicate()
    assert finished.returncode == 0, errors
    assert len(json.loads(output)["comparisons"]) == 2
    with Results(out) as results:
        assert len(results) == 16  # every job once
    assert kept <= names(out)
    assert len(list(out.glob("*.parquet"))) == 1  # merged
