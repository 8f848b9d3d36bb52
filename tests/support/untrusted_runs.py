"""Runs untrusted models in both engines, in a process that may die of them."""

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
from untrusted_nodes import text

from graphio.support import errors

Array = np.ndarray[Any, Any]
SECONDS = 5  # of processor time for one model in one engine
MEMORY = 1 << 26  # the limit of a session


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
    """Ends the process after its limit of time; a loop in Python is stopped earlier, with the
    exception of a program that limits its time."""
    signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS / 4)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.setitimer(signal.ITIMER_PROF, 0)


def _stop(signum: int, frame: Any) -> None:
    raise MemoryError("the run was stopped")


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
    """The result of a run, or the error's class and message."""
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
    """The difference between the engines' results, or "" and the class."""
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
    why = _difference(one, two)
    return ("differs", why) if why else ("", "answered")


def _difference(one: Any, two: Any) -> str:
    """The difference between lists of arrays, sequences (lists as well) and nothing."""
    if not isinstance(one, np.ndarray) or not isinstance(two, np.ndarray):
        if not isinstance(one, list) or not isinstance(two, list) or len(one) != len(two):
            return "" if one is None and two is None else f"{one!r:.80} and {two!r:.80}"
        return next(filter(None, map(_difference, one, two)), "")
    if one.dtype != two.dtype or one.shape != two.shape:
        return f"{text(one)} and {text(two)}"
    return "" if _near(one, two) else f"{one.reshape(-1)[:8]} and {two.reshape(-1)[:8]}"


def is_wild(values: Sequence[Any]) -> bool:
    """Whether a number among arrays and floats is not finite or overflows soon."""
    numbers = [x for x in values if isinstance(x, (np.ndarray, float))]
    with np.errstate(all="ignore"):
        arrays = [_plain(np.asarray(x)) for x in numbers if np.size(x) and not _holds_strings(x)]
        return any(not bool((np.abs(x) < 1e18).all()) for x in arrays)


def _holds_strings(x: Any) -> bool:
    return isinstance(x, np.ndarray) and bool(x.dtype.kind == "O")


def _plain(x: Array) -> Array:
    """Numbers that numpy can compute with."""
    return x if x.dtype.kind == "c" else x.astype(np.float64)


def _near(a: Array, b: Array) -> bool:
    if a.size == 0 or a.dtype == object:  # there may be too many bytes in no elements of float64
        return bool((a == b).all())
    with np.errstate(all="ignore"):
        return bool(np.allclose(_plain(a), _plain(b), rtol=1e-2, atol=1e-3, equal_nan=True))


# ---- the parent ----


def follow(command: Sequence[str], native: str, preload: str) -> Iterator[list[Any]]:
    """The lines of JSON that a worker prints, and when it died one more: "died", its return code
    and its output. The worker is killed when the iterator is closed.

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
