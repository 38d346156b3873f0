"""The wheel on a machine that has nothing else of ours: no extras, no repository, and a package folder that is read-only."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from email import message_from_bytes
from email.message import Message
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent

CAN_WRITE_ANYWHERE = 1  # CAP_DAC_OVERRIDE in linux/capability.h
DROP_FROM_BOUNDING_SET = 24  # PR_CAPBSET_DROP in linux/prctl.h

SCHEMA = """
[columns.age]
kind = "integer"
low = 0
high = 99

[columns.sex]
kind = "category"
categories = ["F", "M"]
"""


def build(what: str, source: Path, target: Path) -> Path:
    words = [sys.executable, "-m", "hatchling", "build", "--target", what, "--directory", str(target)]
    subprocess.run(words, cwd=source, check=True, capture_output=True)
    (built,) = target.iterdir()
    return built


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the source archive, as an installer does where it is given that."""
    archive = build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archive) as opened:
        opened.extractall(unpacked, filter="data")
    return build("wheel", next(unpacked.iterdir()), tmp_path_factory.mktemp("wheel"))


def test_the_source_archive_gives_the_same_wheel_as_the_repository(wheel: Path, tmp_path: Path) -> None:
    assert names_in(wheel) == names_in(build("wheel", ROOT, tmp_path))


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = names_in(wheel)
    assert {name.split("/")[0] for name in names} == {"jostle", f"{wheel.name.rsplit('-', 3)[0]}.dist-info"}
    assert {"jostle/py.typed", "jostle/explorer/templates/base.html"} <= names
    assert not [name for name in names if name.endswith((".pyc", ".nbi", ".nbc", ".db"))]


OF_BENCHMARKS = ("bench", "peers", "experiment", "beside_authors", "speed", "adapters", "pins", "collected")


def test_the_wheel_holds_nothing_of_the_benchmarks(wheel: Path) -> None:
    allowed = {"jostle/cli/bench.py"}  # finds them where they are installed
    assert {name for name in names_in(wheel) if any(word in name for word in OF_BENCHMARKS)} <= allowed


def test_the_benchmarks_are_a_wheel_with_all_that_they_read(tmp_path: Path) -> None:
    built = build("wheel", ROOT / "bench", tmp_path)
    names = names_in(built)
    assert {name.split("/")[0] for name in names} == {"jostle_bench", f"{built.name.rsplit('-', 3)[0]}.dist-info"}
    source = ROOT / "bench" / "src"
    files = {file.relative_to(source).as_posix() for file in source.rglob("*") if file.is_file()}
    kept = {name for name in files if "__pycache__" not in name}
    assert {name for name in names if ".dist-info/" not in name} == kept
    assert {"jostle_bench/py.typed", "jostle_bench/classifiers/collected.csv", "jostle_bench/peers/pins/opendp.txt"} <= kept


def required(by: Message) -> dict[str, Distribution]:
    """The packages of this environment that a wheel requires, without extras, and all that those require."""
    found: dict[str, Distribution] = {}
    wanted = [Requirement(one) for one in by.get_all("Requires-Dist") or []]
    while wanted:
        one = wanted.pop()
        extras = [{"extra": extra} for extra in ("", *one.extras)]
        if one.marker is not None and not any(one.marker.evaluate(extra) for extra in extras):
            continue
        known = f"{canonicalize_name(one.name)}{sorted(one.extras)}"
        if known in found:
            continue
        found[known] = distribution(one.name)
        assert one.specifier.contains(found[known].version, prereleases=True), one
        for line in found[known].requires or []:
            then = Requirement(line)
            if then.marker is None or any(then.marker.evaluate({"extra": extra}) for extra in ("", *one.extras)):
                then.marker = None
                wanted.append(then)
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An environment with the wheel and what it requires alone. Nothing can be written where the package is.

    What it requires are links to the packages that are here: `make setup` installed the same versions from the registry.
    """
    folder = tmp_path_factory.mktemp("machine") / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    (packages,) = folder.glob("lib/*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        requires = required(message_from_bytes(archive.read(metadata)))
    for found in requires.values():
        for name in {file.parts[0] for file in found.files or []} - {"..", "__pycache__"}:
            if not (packages / name).exists():
                (packages / name).symlink_to(found.locate_file(name))
    python = str(folder / "bin" / "python")
    for words in (["install", "--no-compile", "--no-deps", "--no-index", str(wheel)], ["check"]):
        done = subprocess.run([python, "-m", "pip", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    (package,) = folder.glob("lib/*/site-packages/jostle")
    subprocess.run([python, "-m", "compileall", "-q", str(package)], check=True)
    folders = [package, *(path for path in package.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o555)
    yield folder
    for path in folders:
        path.chmod(0o755)


def without_privileges() -> None:
    """Root, too, may then write only where the files' own rights allow it."""
    if os.geteuid() == 0:
        ctypes.CDLL(None, use_errno=True).prctl(DROP_FROM_BOUNDING_SET, CAN_WRITE_ANYWHERE, 0, 0, 0)


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(installed: Path, tmp_path: Path) -> Run:
    """Run a program of the environment in an empty folder, with an empty home and no variable of ours."""
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()

    def started(program: str, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(installed / "bin" / program), *words],
            cwd=tmp_path / "work",
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "home"), "LANG": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=without_privileges,
        )

    return started


def test_the_package_folder_really_cannot_be_written(run: Run) -> None:
    code = "import jostle, pathlib; (pathlib.Path(jostle.__file__).parent / 'mark').touch()"
    assert "PermissionError" in run("python", "-c", code).stderr


def test_nothing_but_the_requirements_is_there(run: Run) -> None:
    code = "import importlib.util as u; print([n for n in ('pyspark', 'starlette', 'pytest', 'psycopg') if u.find_spec(n)])"
    assert run("python", "-c", code).stdout == "[]\n"


def test_the_demo_runs(run: Run, tmp_path: Path) -> None:
    done = run("jostle", "demo")
    assert done.returncode == 0, done.stderr
    assert "The budget" in done.stdout
    assert (tmp_path / "work" / "jostle-demo.html").stat().st_size > 10_000


def test_a_table_is_released_and_the_budget_shows_it(run: Run, tmp_path: Path) -> None:
    rows = "".join(f"{18 + number % 60},{'FM'[number % 2]}\n" for number in range(1000))
    (tmp_path / "work" / "people.csv").write_text(f"age,sex\n{rows}", "utf-8")
    (tmp_path / "work" / "people.toml").write_text(SCHEMA, "utf-8")
    words = ["release", "people.csv", "--schema", "people.toml", "--ledger", "budget.db", "--budget", "1"]
    for column, lines in (("sex", 4), ("age", 100)):  # F, M, others, missing
        done = run("jostle", *words, "--by", column, "--epsilon", "0.25", "--json")
        assert done.returncode == 0, done.stderr
        assert len(json.loads(done.stdout)["answers"]) == lines
    told = run("jostle", "budget", "budget.db")
    assert told.returncode == 0, told.stderr
    assert "people" in told.stdout
    assert "0.5" in told.stdout


def test_what_needs_an_extra_says_which(run: Run) -> None:
    done = run("jostle", "explore")
    assert done.returncode == 2
    assert "jostle[explorer]" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [[], ["--help"], ["learn", "--quick"], ["nothing"]])
def test_without_the_benchmarks_their_command_says_what_to_install(words: list[str], run: Run) -> None:
    done = run("jostle", "bench", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install jostle-bench" in done.stderr
    assert "make setup" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_lists_the_benchmarks_without_them(run: Run) -> None:
    done = run("jostle", "--help")
    assert done.returncode == 0, done.stderr
    assert "Measure jostle on this machine." in done.stdout
