"""The notebooks run from top to bottom, in a real kernel, and come without outputs."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    try:
        import nbclient
        import nbformat
    except ImportError:
        if os.environ.get("JOSTLE_REQUIRE_ALL") == "1":
            pytest.fail("JOSTLE_REQUIRE_ALL=1, but nbclient is not installed")
        pytest.skip("nbclient is not installed: pip install 'jostle[dev]'")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, startup_timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    )
    asyncio.run(client.async_execute())
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in shown if output.output_type == "error"]
    assert any("application/vnd.plotly.v1+json" in output.get("data", {}) for output in shown)
    assert any("text/html" in output.get("data", {}) for output in shown)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_its_outputs(path):
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
