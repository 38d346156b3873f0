"""Do one job with one adapter, and write down what came of it: `python -P serve.py ADAPTER JOB RESULT`.

This file and the adapters run in the peer's own environment. They import the standard library, NumPy, the peer, and what
stands beside them to be shared, alone; the peer is imported inside functions. An adapter is a file with

    VERSION_OF = "name-of-the-distribution"
    ANSWERS = {"kind of job": function}

where a function takes the job (a dictionary) and returns what it found: numbers and texts for the report, and arrays under
"values", which go to a file of their own. A kind that is not in ANSWERS is unsupported; to say so with a reason, a function
raises `NotImplementedError("why")`.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import platform
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np


def main(adapter_path: str, job_path: str, result_path: str) -> None:
    """Read the job, do it, write the result, and the arrays beside it."""
    job = json.loads(Path(job_path).read_text("utf-8"))
    began = time.perf_counter()
    found: dict[str, Any] = {"status": "ok", "reason": "", "python": platform.python_version()}
    try:
        adapter = _loaded(Path(adapter_path))
        found["version"] = importlib.metadata.version(adapter.VERSION_OF)
        if job["kind"] not in adapter.ANSWERS:
            raise NotImplementedError(f"its adapter has no answer to {job['kind']!r}")
        found.update(adapter.ANSWERS[job["kind"]](job))
    except NotImplementedError as reason:
        found.update(status="unsupported", reason=str(reason))
    except Exception as error:  # noqa: BLE001  # whatever a peer raises is what is reported
        lines = traceback.format_exception_only(error)
        found.update(status="failed", reason="".join(lines).strip()[-2000:], traceback=traceback.format_exc()[-6000:])
    found.setdefault("seconds", [time.perf_counter() - began])
    values = found.pop("values", None)
    if values:
        np.savez_compressed(Path(result_path).with_suffix(".npz"), **values)
    Path(result_path).write_text(json.dumps(found, ensure_ascii=False, default=_plain), encoding="utf-8")


def _loaded(path: Path) -> Any:
    # Under a name of its own: an adapter may be called as its peer is.
    spec = importlib.util.spec_from_file_location(f"adapter_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no adapter")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.append(str(path.parent))  # at the end: what adapters share must not stand before a peer
    spec.loader.exec_module(module)
    return module


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays for JSON."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


if __name__ == "__main__":
    main(*sys.argv[1:])
