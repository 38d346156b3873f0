"""Environments of the two peers that are cheap to install, made once for all tests and kept for the next run."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from jostle_bench.peers import environments


@pytest.fixture(scope="session")
def peers_folder(pytestconfig: pytest.Config) -> Path:
    """The folder of environments, with OpenDP's and diffprivlib's in it."""
    folder = pytestconfig.cache.mkdir("jostle-peers")
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests that run side by side wait for whoever installs
        for name in ("opendp", "diffprivlib"):
            place = environments.prepare(environments.known()[name], folder)
            if isinstance(place, environments.Unavailable):
                said = f"{place.peer.title} cannot be installed here: {place.reason}"
                (pytest.fail if os.environ.get("JOSTLE_REQUIRE_ALL") == "1" else pytest.skip)(said)
    return folder
