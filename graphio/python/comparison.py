"""Runs a program in TensorFlow and in graphio, and compares the values of its first steps."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphio.python import recording

__all__ = ["ProgramFailed", "compare"]

Array = np.ndarray[Any, Any]

#: the text of ProgramFailed where no run fetches numbers
NO_STEP = "none of its runs fetches numbers"
#: tf.layers of TensorFlow 2.16 and newer need tf_keras, which this chooses
_TENSORFLOW = {"TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}


class ProgramFailed(Exception):
    """A program ended with an error before its first step.

    Args:
        where: TensorFlow or graphio.
        text: the end of its standard error.
    """

    def __init__(self, where: str, text: str) -> None:
        super().__init__(f"the program fails in {where}: {text}")


def compare(
    program: Sequence[str], python: str, steps: int, tolerance: float, target: str,
    copies: bool = False, resource_variables: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """The facts of a comparison.

    Args:
        program: the file and its arguments.
        python: an interpreter that has TensorFlow.
        steps: the number of runs to compare that fetch numbers.
        tolerance: the largest difference, relative to the largest element of a tensor.
        target: of graphio's sessions.
        copies: whether each runs in its own copy of the current folder.
        resource_variables: whether TensorFlow's variables are resources.

    Returns:
        agree; steps: for each the scalars that were fetched, of both; first: the step and the name
        of the first value that differs, with the difference, or None; absent: variables that only
        one of the programs has.

    Raises:
        ProgramFailed: one of them makes no step.
    """
    with tempfile.TemporaryDirectory() as name:
        a, b = Path(name, "tensorflow"), Path(name, "graphio")
        theirs = {**_TENSORFLOW, recording.RESOURCES: "1" if resource_variables else ""}
        ours = {"GRAPHIO_TARGET": target}
        rows = (("TensorFlow", python, a, "", theirs), ("graphio", sys.executable, b, str(a), ours))
        for where, command, out, replay, environment in rows:
            folder = shutil.copytree(".", f"{out}_folder", symlinks=True) if copies else None
            arguments = [recording.__file__, str(out), str(steps), replay, *program]
            _record(where, [command, *arguments], out, environment, folder)
        count = min(len(list(a.glob("step*.json"))), len(list(b.glob("step*.json"))))
        pairs = [(_read(a, i), _read(b, i)) for i in range(count)]
        absent: list[str] = json.loads((b / "absent.json").read_text())
    first = None
    for i, pair in enumerate(pairs):
        if any(_differs(*values, tolerance) for values in _fetched(*pair)):
            first = {"step": i, **_first(*pair, tolerance)}
            break
    return {
        "agree": first is None,
        "steps": [_scalars(*pair) for pair in pairs],
        "first": first,
        "absent": absent,
    }


def _record(
    where: str, command: list[str], out: Path, environment: Mapping[str, str], folder: str | None
) -> None:
    out.mkdir()
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if not (out / "step0.json").exists():
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        none = done.returncode == 0 or not lines
        raise ProgramFailed(where, NO_STEP if none else lines[-1])


def _read(folder: Path, step: int) -> dict[str, Array]:
    facts = json.loads((folder / f"step{step}.json").read_text())
    with np.load(folder / f"run{facts['run']}.npz", allow_pickle=False) as file:
        return {name: file[name] for name in facts["names"]}


def _fetched(theirs: Mapping[str, Array], ours: Mapping[str, Array]) -> list[tuple[Array, Array]]:
    """The fetched values of both, by their position."""
    return list(zip(_of(theirs, "fetch/"), _of(ours, "fetch/"), strict=False))


def _of(record: Mapping[str, Array], kind: str) -> list[Array]:
    return [value for name, value in record.items() if name.startswith(kind)]


def _scalars(theirs: Mapping[str, Array], ours: Mapping[str, Array]) -> dict[str, list[float]]:
    pairs = [(a, b) for a, b in _fetched(theirs, ours) if a.ndim == 0]
    return {"tensorflow": [float(a) for a, _ in pairs], "graphio": [float(b) for _, b in pairs]}


def _difference(a: Array, b: Array) -> float:
    """The largest difference, relative to a's largest element; infinite for other shapes, and
    where one alone is not finite."""
    if a.shape != b.shape:
        return float("inf")
    if a.size == 0:
        return 0.0
    x, y = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(x)
    if not np.array_equal(finite, np.isfinite(y)):
        return float("inf")
    if not np.array_equal(x[~finite], y[~finite], equal_nan=True):
        return float("inf")
    if not finite.any():
        return 0.0
    return float(np.abs(x - y)[finite].max() / max(np.abs(x[finite]).max(), 1e-30))


def _differs(a: Array, b: Array, tolerance: float) -> bool:
    return _difference(a, b) > tolerance


def _first(
    theirs: Mapping[str, Array], ours: Mapping[str, Array], tolerance: float
) -> dict[str, Any]:
    """The first tensor of TensorFlow's graph whose value differs, else the fetched one."""
    pairs = [(n, theirs[n], ours[n]) for n in theirs if n.startswith("tensor/") and n in ours]
    fetched = [name for name in theirs if name.startswith("fetch/")]
    pairs += [(name, a, b) for name, (a, b) in zip(fetched, _fetched(theirs, ours), strict=False)]
    name, a, b = next(pair for pair in pairs if _differs(*pair[1:], tolerance))
    kind, _, rest = name.partition("/")
    return {
        "name": rest if kind == "tensor" else rest.partition("/")[2],
        "difference": _difference(a, b),
        "tensorflow": a.reshape(-1)[:4].tolist(),
        "graphio": b.reshape(-1)[:4].tolist(),
    }
