"""All steps on real data: train, kill, resume, export, predict and train on from C.

    python examples/digits/demo.py [FOLDER]

Every stage is checked; the last lines are a table, and the exit code is 0 only if all held.
"""

from __future__ import annotations

import os
import random
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import plots
from model import Digits, build, data
from tqdm.auto import tqdm
from train import SAVE_EVERY, STEPS

import graphio as tf
import graphio.cinfer
import graphio.runtime

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MINIMUM_ACCURACY = 0.97
SMOOTHED = 15  # steps that a point of the picture's thick lines is the mean of


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "demo").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    digits = data()
    report = Report()
    for engine, label in (("runtime", "Python runtime"), ("cinfer", "cinfer")):
        resume(folder / engine, engine, label, report)
    model = folder / "digits.gio"
    shutil.copy(folder / "runtime" / "straight" / "digits.gio", model)
    from_c(folder, model, digits, report)
    from_python(model, digits, report)
    report.add("model file", f"{model.stat().st_size / 1024:.0f} KB")
    found = graphio.cinfer.load(model).signature("predict")(x=digits.test_x)["probabilities"]
    plots.predictions(folder / "predictions.png", digits.test_x, digits.test_y, found)
    report.add("pictures", "training.png, predictions.png")
    print(report.table())
    return 1 if report.failed else 0


class Report:
    """Rows of the table, and whether anything that had to hold did not."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str]] = []
        self.failed = False

    def add(self, what: str, value: str) -> None:
        self.rows.append((what, value))

    def check(self, what: str, holds: bool, value: str) -> None:
        self.failed |= not holds
        self.add(what, value if holds else f"FAILED: {value}")

    def table(self) -> str:
        width = max(len(what) for what, _ in self.rows)
        return "\n".join(f"{what:<{width}}  {value}" for what, value in self.rows)


# ---- training, killed and resumed ----


def resume(folder: Path, engine: str, label: str, report: Report) -> None:
    """An uninterrupted run and a killed, resumed one must end in the same state."""
    straight = lines(start_training(folder / "straight", engine), f"train, {label}")
    interrupted = folder / "interrupted"
    at = kill_at_random(interrupted, engine)
    resumed = lines(start_training(interrupted, engine), f"resume, {label}")
    first_step = int(resumed["step"][0].split()[0])
    same = straight["digest"] == resumed["digest"]
    accuracy = float(straight["accuracy"][0])
    detail = f"killed at step {at}, went on from {first_step}, SHA-256 "
    detail += f"{straight['digest'][0][:12]} and {resumed['digest'][0][:12]}"
    report.check(f"resume, {label}", same and first_step <= at, detail)
    report.check(f"test accuracy, {label}", accuracy >= MINIMUM_ACCURACY, f"{accuracy:.4f}")
    runs = {"without a break": folder / "straight", f"killed at {at}, resumed": interrupted}
    tf.train.plot_curves(
        {name: tf.train.History.read(run / "history.jsonl") for name, run in runs.items()},
        folder.parent / "training.png",
        smooth=SMOOTHED,
        log_scale=True,
        marks={first_step: "went on here"},
        title="Digits: the same training twice",
    )


def start_training(folder: Path, engine: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(HERE / "train.py"), str(folder), "--engine", engine]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def lines(process: subprocess.Popen[str], label: str) -> dict[str, list[str]]:
    """The output of a training by the first word of its lines, with a progress bar.

    Exits if the training fails.
    """
    found: dict[str, list[str]] = {}
    assert process.stdout is not None
    often = 0.1 if sys.stderr.isatty() else 60.0  # a log gets the last line
    with tqdm(total=STEPS, desc=label, unit="step", mininterval=often) as progress:
        for line in process.stdout:
            word, _, rest = line.strip().partition(" ")
            found.setdefault(word, []).append(rest)
            if word == "step":
                step, _, loss = rest.split()
                progress.update(int(step) + 1 - progress.n)
                progress.set_postfix(loss=f"{float(loss):.4f}", refresh=False)
    if process.wait() != 0:
        raise SystemExit(f"training failed with exit code {process.returncode}")
    return found


def kill_at_random(folder: Path, engine: str) -> int:
    """Kills a training with SIGKILL at a random moment after its first checkpoint."""
    target = random.randrange(SAVE_EVERY + 1, STEPS - SAVE_EVERY)
    target += 2 if target % SAVE_EVERY == 0 else 0
    process = start_training(folder, engine)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(f"step {target} "):
            time.sleep(random.random() * 0.01)
            process.send_signal(signal.SIGKILL)
            break
    process.wait()
    print(f"killed after step {target}", flush=True)
    return target


# ---- C ----


def compile_program(program: Path) -> None:
    """The example, linked with the C library of this installation."""
    query = [sys.executable, "-m", "graphio.cinfer", "--cflags", "--libs"]
    flags = subprocess.run(query, check=True, capture_output=True, text=True).stdout
    source = str(HERE / "digits.c")
    command = ["cc", "-std=c11", "-O2", "-s", source, *shlex.split(flags), "-o", str(program)]
    if subprocess.run(command).returncode != 0:
        raise SystemExit("the C compiler failed; its message is above")


def write_images(path: Path, x: np.ndarray, y: np.ndarray) -> None:
    path.write_bytes(
        np.int32(len(x)).tobytes() + x.astype("<f4").tobytes() + y.astype("<i4").tobytes()
    )


def from_c(folder: Path, model: Path, digits: Digits, report: Report) -> None:
    """Compiles the example; its classes must be those of the Python runtime."""
    program = folder / "digits"
    compile_program(program)
    write_images(folder / "test.bin", digits.test_x, digits.test_y)
    write_images(folder / "train.bin", digits.train_x, digits.train_y)
    inputs = [model, folder / "test.bin", folder / "train.bin", folder / "c.bin", folder / "from_c"]
    done = subprocess.run(
        [str(program), *map(str, inputs)], check=True, capture_output=True, text=True
    )
    printed = dict(line.split() for line in done.stdout.splitlines())
    compare(folder / "c.bin", model, digits, report)
    restored = restore_from_c(folder / "from_c", digits)
    report.check(
        "trained on in C, restored in Python",
        restored >= MINIMUM_ACCURACY,
        f"accuracy {restored:.4f}",
    )
    report.add("first prediction of the C process", f"{printed['first_milliseconds']} ms")
    report.add("prediction, cinfer from C", f"{printed['microseconds']} us")
    report.add("C program with the library", f"{program.stat().st_size / 1024:.0f} KB")


def compare(result: Path, model: Path, digits: Digits, report: Report) -> None:
    raw = result.read_bytes()
    n = len(digits.test_x)
    classes = np.frombuffer(raw, "<i8", n)
    probabilities = np.frombuffer(raw, "<f4", n * 10, n * 8).reshape(n, 10)
    expected = graphio.runtime.load(model).signature("predict")(x=digits.test_x)
    equal = int(np.sum(classes == expected["classes"]))
    largest = float(np.max(np.abs(probabilities - expected["probabilities"])))
    report.check("classes, C and Python", equal == n, f"{equal} of {n} equal")
    report.add("largest difference of a probability", f"{largest:.1e}")


def restore_from_c(prefix: Path, digits: Digits) -> float:
    network = build()
    with tf.Session(graph=network.graph) as session:
        tf.train.Saver().restore(session, str(prefix))
        classes = session.run(network.classes, {network.x: digits.test_x})
    return float(np.mean(classes == digits.test_y))


# ---- speed from Python ----


def from_python(model: Path, digits: Digits, report: Report) -> None:
    """Median time of a prediction; the engines take turns."""
    one = np.ascontiguousarray(digits.test_x[:1])
    runtime = graphio.runtime.load(model).signature("predict")
    cinfer = graphio.cinfer.load(model).signature("predict")
    calls: dict[str, Callable[[], object]] = {
        "Python runtime": lambda: runtime.run([one]),
        "cinfer from Python": lambda: cinfer.run([one]),
    }
    try:
        import onnxruntime
        from onnx_model import digits_onnx

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(digits_onnx(model), options)
        calls["ONNX Runtime from Python"] = lambda: session.run(None, {"x": one})
    except ImportError:
        report.add("prediction, ONNX Runtime", "not installed")
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(20):
        for name, call in calls.items():
            for _ in range(100):
                start = time.perf_counter()
                call()
                times[name].append(time.perf_counter() - start)
    for name, taken in times.items():
        report.add(f"prediction, {name}", f"{statistics.median(taken) * 1e6:.1f} us")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
