"""Fixtures and settings of all tests."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

# Workers and the programs that tests start share the cores: more threads of numpy's BLAS would wait
# for each other. Set before the first import of numpy.
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# A shell starts what runs in the background with SIGINT ignored, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    with contextlib.suppress(ValueError):  # only the main thread may
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser without a window; skips where there is none.

    It ends with the module: other tests would find its event loop running.
    """
    import web_pages

    if web_pages.browser_path() is None:
        pytest.skip("Chromium is not installed")
    with web_pages.chromium() as found:
        yield found
