"""The 64-32-10 perceptron at batch 1: by hand in C, cinfer, ONNX Runtime; from C and from Python.

    python benchmarks/perceptron.py [--native ../shared/bench/native.c]

--native: the C file with the hand-written loop and ONNX Runtime's C calls. Engines take turns in
one process. ONNX Runtime is left out where it is not installed, the calls from C without --native.
"""

from __future__ import annotations

import argparse
import glob
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import graphio as tf
import graphio.cinfer
import graphio.runtime

ROOT = Path(__file__).resolve().parent.parent
SIZES = (64, 32, 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--native", default=str(ROOT.parent / "shared" / "bench" / "native.c"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        weights = make_weights()
        write_gio(f"{folder}/model.gio", weights)
        x = np.random.RandomState(1).randn(1, 64).astype(np.float32)
        Path(f"{folder}/weights.bin").write_bytes(b"".join(a.tobytes() for a in (x, *weights)))
        library = onnxruntime_library()
        if library:
            write_onnx(f"{folder}/model.onnx", weights)
        rows = from_python(folder, x, bool(library))
        if os.path.exists(arguments.native):
            rows = from_c(folder, arguments.native, library) + rows
        else:
            print(
                f"no {arguments.native}: the calls from C are left out; --native names the file\n"
            )
    floor = rows[0][1]
    print(f"| engine | median | least | x {rows[0][0]} |\n|---|---|---|---|")
    for name, median, least in rows:
        print(f"| {name} | {median:.0f} ns | {least:.0f} ns | {median / floor:.2f} |")


def make_weights() -> list[np.ndarray]:
    r = np.random.RandomState(0)
    shapes = [s for i, o in zip(SIZES, SIZES[1:], strict=False) for s in ((i, o), (o,))]
    return [(0.1 * r.randn(*s)).astype(np.float32) for s in shapes]


def write_gio(path: str, weights: list[np.ndarray]) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 64], name="x")
        w1, b1, w2, b2 = (tf.constant(w) for w in weights)
        y = tf.nn.softmax(tf.matmul(tf.nn.relu(tf.matmul(x, w1) + b1), w2) + b2)
        with tf.Session() as session:
            tf.saved_model.save(path, session, {"predict": ({"x": x}, {"y": y})})


def write_onnx(path: str, weights: list[np.ndarray]) -> None:
    import onnx
    from onnx import helper, numpy_helper

    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "w2", "b2"], ["l"]),
        helper.make_node("Softmax", ["l"], ["y"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "perceptron",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [None, 64])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [None, 10])],
        [
            numpy_helper.from_array(w, n)
            for w, n in zip(weights, ["w1", "b1", "w2", "b2"], strict=True)
        ],
    )
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)


def onnxruntime_library() -> str | None:
    try:
        import onnxruntime
    except ImportError:
        return None
    found = glob.glob(f"{os.path.dirname(onnxruntime.__file__)}/capi/libonnxruntime.so*")
    return found[0] if found else None


def from_c(folder: str, native: str, library: str | None) -> list[tuple[str, float, float]]:
    program = f"{folder}/perceptron"
    flags = ["-O3", "-march=native", f'-DNATIVE="{native}"', f"-I{ROOT / 'cinfer' / 'include'}"]
    objects = f"{folder}/cinfer.o"
    subprocess.run(
        ["cc", "-O2", "-c", str(ROOT / "cinfer" / "cinfer.c"), "-o", objects], check=True
    )
    sources = [str(ROOT / "benchmarks" / "perceptron.c"), objects]
    subprocess.run(["cc", *flags, *sources, "-o", program, "-lm", "-ldl", "-pthread"], check=True)
    command = [program, f"{folder}/model.gio", f"{folder}/weights.bin"]
    command += [library, f"{folder}/model.onnx"] if library else []
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in printed.splitlines()]
    return [(f"{name}, C", float(median), float(least)) for name, median, least in rows]


def from_python(folder: str, x: np.ndarray, ort: bool) -> list[tuple[str, float, float]]:
    cinfer = graphio.cinfer.load(f"{folder}/model.gio").signature("predict")
    runtime = graphio.runtime.load(f"{folder}/model.gio").signature("predict")
    out = np.empty((1, 10), np.float32)
    calls: dict[str, Callable[[], object]] = {
        "cinfer, Python, run(x)": lambda: cinfer.run(x),
        "cinfer, Python, run(x, out)": lambda: cinfer.run(x, out),
        "cinfer, Python, bound": cinfer.bind(x, outputs=[out]),
        "Python runtime": lambda: runtime.run([x]),
    }
    if ort:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(f"{folder}/model.onnx", options)
        calls["onnxruntime, Python"] = lambda: session.run(None, {"x": x})
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(100):
        for name, call in calls.items():
            for _ in range(100):
                start = time.perf_counter_ns()
                call()
                times[name].append(time.perf_counter_ns() - start)
    return [(name, statistics.median(t), min(t)) for name, t in times.items()]


if __name__ == "__main__":
    main()
