"""Running what a stranger made in both engines, in a process that may die of it."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from hostile_nodes import text

from graphio.schema import errors

Array = np.ndarray[Any, Any]
SECONDS = 5  # of processor time for one model in one engine
MEMORY = 1 << 26  # what a session may hold


# ---- the worker ----


def prepare(native: str) -> None:
    """Makes this process one that may die: little memory, no core, a limit of time.

    Args:
        native: a module that takes the place of graphio.cinfer._native; "": that one.
    """
    if native:
        _use(native)
    else:  # a sanitizer reserves more than there is
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process
    _limit_memory()


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """What takes more time than it may ends the process."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)


def _use(native: str) -> None:
    spec = importlib.util.spec_from_file_location("_native", native)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["graphio.cinfer._native"] = module
    spec.loader.exec_module(module)


def _limit_memory() -> None:
    """Sessions of cinfer hold no more than MEMORY."""
    from graphio.cinfer import model

    class Limited:
        def __getattr__(self, name: str) -> Any:
            return getattr(lib, name)

        @staticmethod
        def ci_session_defaults() -> Any:
            options = lib.ci_session_defaults()
            options.limits.max_memory = MEMORY
            return options

    lib, model.lib = model.lib, Limited()


def outcome(run: Callable[[], Any]) -> Any:
    """What it gives, or the error's class and text."""
    try:
        return run()
    except errors.OpError as error:
        return type(error).__name__, str(error)
    except (ValueError, TypeError) as error:  # of the call: a rank or type that was not declared
        return "call", str(error)
    except MemoryError as error:
        return "ResourceExhaustedError", str(error)
    except Exception as error:
        return "InternalError", repr(error)


def compare(results: dict[str, Any]) -> tuple[str, str]:
    """What to report of what the engines gave, or "" and the class."""
    for engine, result in results.items():
        if isinstance(result, tuple) and result[0] == "InternalError":
            return f"internal {engine}", result[1]
    one, two = results.values()
    if isinstance(one, tuple) and isinstance(two, tuple):
        return "", two[0]
    for engine, result in results.items():
        if isinstance(result, tuple):
            if result[0] in ("ResourceExhaustedError", "UnimplementedError"):
                return "", result[0]
            return f"refused by {engine}", result[1]
    for a, b in zip(one, two, strict=True):
        if a.dtype != b.dtype or a.shape != b.shape:
            return "differs", f"{text(a)} and {text(b)}"
        if not _near(a, b):
            return "differs", f"{a.reshape(-1)[:8]} and {b.reshape(-1)[:8]}"
    return "", "answered"


def is_wild(values: Sequence[Any]) -> bool:
    """Whether a number among arrays and floats is not finite or overflows soon."""
    numbers = [x for x in values if isinstance(x, (np.ndarray, float))]
    with np.errstate(all="ignore"):
        arrays = [np.asarray(x).astype(np.float64) for x in numbers if np.size(x)]
        return any(not bool((np.abs(x) < 1e18).all()) for x in arrays)


def _near(a: Array, b: Array) -> bool:
    if a.size == 0 or a.dtype == object:  # there may be too many bytes in no elements of float64
        return bool((a == b).all())
    with np.errstate(all="ignore"):
        a, b = a.astype(np.float64), b.astype(np.float64)
        return bool(np.allclose(a, b, rtol=1e-2, atol=1e-3, equal_nan=True))


# ---- the parent ----


def follow(command: Sequence[str], native: str, preload: str) -> Iterator[list[Any]]:
    """The lines of JSON that a worker prints, and when it died one more: "died", its return code
    and what it said. The worker is killed when nobody wants to hear more.

    Args:
        command: of the worker.
        native, preload: a module with sanitizers, and their library.
    """
    sanitizers = "allocator_may_return_null=1:max_allocation_size_mb=600:detect_leaks=0"
    environment = {**os.environ, "ASAN_OPTIONS": sanitizers, "PYTHONWARNINGS": "ignore"}
    environment["UBSAN_OPTIONS"] = "print_stacktrace=1"
    if native:
        environment["LD_PRELOAD"] = preload
    with tempfile.TemporaryFile("w+") as complaints:
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=complaints, text=True, env=environment
        ) as worker:
            assert worker.stdout is not None
            try:
                yield from map(json.loads, worker.stdout)
            except GeneratorExit:
                worker.kill()
                raise
        complaints.seek(0)
        lines = [line for line in complaints if "failed to allocate" not in line]
    yield ["died", worker.returncode, "".join(lines[:40])]


def death(code: int) -> str:
    """How a worker died, in a word."""
    return "hang" if code == -signal.SIGPROF else "crash"
