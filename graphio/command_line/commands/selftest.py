"""Whether this installation computes what it must."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import typer
from rich.console import Console

from graphio.command_line import exits, output
from graphio.support import errors

NAME = "selftest"
Facts = dict[str, Any]
Array = np.ndarray[Any, Any]
_CLOSE = 1e-5
_ISAS = ("portable", "avx2", "avx512", "neon", "simd128")


def command(as_json: output.Json = False) -> None:
    """Run a small network in both engines, with every instruction set and number of threads."""
    data, inputs = _network()
    rows = list(_runs(data, inputs))
    reference = _in_python(data, inputs)
    same = len({row["sha256"] for row in rows}) == 1
    gap = max(float(np.abs(row.pop("values") - reference).max()) for row in rows)
    facts = {
        "passed": same and gap <= _CLOSE,
        "same_bits": same,
        "from_python": gap,
        "runs": rows,
        "versions": _versions(),
    }
    output.show(facts, as_json, lambda console: _print(console, facts))
    if not facts["passed"]:
        raise typer.Exit(exits.NO)


def _network() -> tuple[bytes, Array]:
    """Convolution, pooling, a matrix multiplication and a softmax, and a batch for it."""
    import tempfile
    from pathlib import Path

    import graphio as tf

    random = np.random.RandomState(0)
    graph = tf.Graph()
    with graph.as_default(), tf.Session(graph=graph) as session:
        x = tf.placeholder(tf.float32, [None, 12, 12, 3], name="x")
        filters = tf.constant(random.randn(3, 3, 3, 8).astype(np.float32))
        weights = tf.constant(random.randn(6 * 6 * 8, 10).astype(np.float32))
        h = tf.nn.relu(tf.nn.conv2d(x, filters, [1, 1, 1, 1], "SAME"))
        h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        y = tf.nn.softmax(tf.matmul(tf.reshape(h, [-1, 6 * 6 * 8]), weights) * 0.1)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "network.gio"
            tf.saved_model.save(str(path), session, {"predict": ({"x": x}, {"y": y})})
            return path.read_bytes(), random.randn(16, 12, 12, 3).astype(np.float32)


def _runs(data: bytes, x: Array) -> Any:
    from graphio import cinfer

    for isa in _ISAS:
        for threads in (1, 2):
            try:
                model = cinfer.load(data, isa=isa, threads=threads)
            except errors.UnimplementedError:
                continue  # this processor lacks the instructions
            with model:
                run = model.signature("predict")
                whole = run(x=x)["y"]
                rows = np.concatenate([run(x=x[i : i + 1])["y"] for i in range(len(x))])
            for batch, values in ((len(x), whole), (1, rows)):
                digest = hashlib.sha256(values.tobytes()).hexdigest()
                yield {
                    "isa": isa,
                    "threads": threads,
                    "batch": batch,
                    "sha256": digest,
                    "values": values,
                }


def _in_python(data: bytes, x: Array) -> Array:
    from graphio import runtime

    found: Array = runtime.load(data).signature("predict")(x=x)["y"]
    return found


def _versions() -> dict[str, str]:
    import platform

    import google.protobuf
    import onnx

    from graphio.support.version import graphio_version

    return {
        "graphio": graphio_version,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "protobuf": google.protobuf.__version__,
        "onnx": onnx.__version__,
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _print(console: Console, facts: Facts) -> None:
    for name, version in facts["versions"].items():
        console.print(f"{name} {version}")
    cells = [(r["isa"], r["threads"], r["batch"], r["sha256"][:16]) for r in facts["runs"]]
    console.print(output.table(("isa", "threads", "batch", "sha256"), cells, right=(1, 2)))
    bits = "the same bits everywhere" if facts["same_bits"] else "DIFFERENT BITS"
    console.print(f"{bits}; at most {facts['from_python']:.1e} from the Python runtime")
    console.print("passed" if facts["passed"] else "FAILED")
