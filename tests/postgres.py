"""A real PostgreSQL for tests: a temporary cluster of its own, on a free port, gone when the tests are over."""

from __future__ import annotations

import os
import pwd
import random
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

USER = "jostle"


class Postgres:
    """One running cluster. PostgreSQL refuses to run as root, so root starts it as somebody else."""

    def __init__(self, programs: Path, directory: Path) -> None:
        self._programs, self._data, self._log = programs, directory / "data", directory / "log"
        self._as = _somebody_else() if os.geteuid() == 0 else {}
        if self._as:
            os.chown(directory, self._as["user"], self._as["group"])
        self._run("initdb", "--pgdata", self._data, "--username", USER, "--auth", "trust", "--encoding", "UTF8", "--no-sync")
        self.port = _free_port()
        self.start()

    @property
    def url(self) -> str:
        """For SQLAlchemy and for a ledger."""
        return f"postgresql+psycopg://{USER}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it, or start it again, and wait until it takes connections."""
        # Without fsync, for speed: the tests crash the server, but not the machine.
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
        self._run("pg_ctl", "start", "--wait", "--pgdata", self._data, "--log", self._log, "--options", options)

    def stop(self, *, mode: str = "immediate") -> None:
        """Stop it; by default in the way of a crash: nothing is flushed and every connection breaks."""
        self._run("pg_ctl", "stop", "--wait", "--mode", mode, "--pgdata", self._data)

    def new_schema(self) -> str:
        """The URL of an empty schema, which is all that a client sees; much faster than a database of its own."""
        name = f"test_{uuid.uuid4().hex}"
        engine = sa.create_engine(self.url, poolclass=sa.NullPool)
        with engine.begin() as connection:
            connection.exec_driver_sql(f"CREATE SCHEMA {name}")
        return f"{self.url}?options=-csearch_path%3D{name}"

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(self._programs / program), *map(str, arguments)]
        # The server outlives pg_ctl and keeps what it inherits, so its output must not be a pipe that is read to its end.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, cwd="/", check=False, **self._as
            )
            output.seek(0)
            if done.returncode:
                raise RuntimeError(f"{program} failed: {output.read().decode(errors='replace')}")


def _somebody_else() -> dict[str, object]:
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise RuntimeError("as root, PostgreSQL needs a user `postgres` or `nobody` to run as")


def _free_port() -> int:
    """One that nobody listens on, below those that systems hand out by themselves.

    Those may go to any connection of any process while the server is not there: before it starts, and between a crash and
    the next start. Another server of the tests would have to pick the same one of 15,000 in the moment that a start takes.
    """
    for _ in range(100):
        port = random.SystemRandom().randrange(15_000, 30_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no port between 15000 and 30000 is free")


def _find_programs() -> Path | None:
    folders = [Path(found).parent for found in [shutil.which("initdb")] if found]
    installed = Path("/usr/lib/postgresql").glob("*/bin")
    folders += sorted(installed, key=lambda folder: float(folder.parent.name), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "pg_ctl").exists()), None)


def _why_not() -> str | None:
    if _find_programs() is None:
        return "PostgreSQL (initdb and pg_ctl) is not installed"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed: pip install 'jostle[postgres]'"
    return None


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The cluster; skipped where there is none, unless JOSTLE_REQUIRE_ALL=1 asks for every test to run."""
    reason, programs = _why_not(), _find_programs()
    if reason or programs is None:
        if os.environ.get("JOSTLE_REQUIRE_ALL") == "1":
            pytest.fail(f"JOSTLE_REQUIRE_ALL=1, but {reason}")
        pytest.skip(reason or "no PostgreSQL")
    directory = Path(tempfile.mkdtemp(prefix="jostle-postgres-"))
    try:
        server = Postgres(programs, directory)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_url(postgres: Postgres) -> str:
    """The URL of its first database."""
    return postgres.url
