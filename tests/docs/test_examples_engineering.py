"""The examples of what comes after training a model: each arrives where it says."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import c_programs
import numpy as np
import pytest
from engines import BOTH, module
from folders import ROOT

from graphio import cinfer

EXAMPLES = ROOT / "examples"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]


def python(example: str, *arguments: object, cwd: Path) -> str:
    command = [sys.executable, str(EXAMPLES / example), *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# ---- a pipeline of scikit-learn in C ----


def test_a_pipeline_of_scikit_learn_classifies_in_c_as_in_python(tmp_path: Path) -> None:
    for package in ("sklearn", "skl2onnx", "typer"):
        pytest.importorskip(package)
    example = "sklearn_to_c/sklearn_to_c.py"
    printed = python(example, "--folder", tmp_path, cwd=tmp_path)
    right = re.search(r"right ([0-9.]+) of 89 rows", printed)
    assert right is not None and float(right[1]) > 0.95
    assert "as scikit-learn 89 of 89 classes" in printed
    row = " ".join(["1"] * 12)  # one number short
    command = [str(tmp_path / "classify"), str(tmp_path / "wine.gio")]
    done = subprocess.run(command, input=row, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "a row has 13 numbers\n")


def test_the_program_that_classifies_compiles_without_a_warning(tmp_path: Path) -> None:
    (tmp_path / "wine.h").write_text(
        '#include <stdint.h>\n#include "cinfer.h"\n'
        "ci_status wine_predict(ci_session *, int64_t, const float *, ci_tensor *, ci_tensor *,"
        " ci_error *);\n"
    )
    source = str(EXAMPLES / "sklearn_to_c" / "classify.c")
    flags = [*c_programs.FLAGS, *WARNINGS, f"-I{tmp_path}", "-fsyntax-only"]
    subprocess.run([c_programs.compiler("cc"), *flags, source], check=True)


# ---- a recurrent network that keeps its state between calls ----


def test_a_stream_in_pieces_has_the_bits_of_the_whole_from_python_and_in_c(tmp_path: Path) -> None:
    printed = python("streaming/streaming.py", "stream.gio", cwd=tmp_path)
    assert len(re.findall(r"graphio.cinfer: pieces of \d+: at most 0.0e\+00", printed)) == 3
    program = tmp_path / "stream"
    sources = [str(EXAMPLES / "streaming" / "stream.c"), str(c_programs.library())]
    flags = [*c_programs.FLAGS, *WARNINGS, "-lm", "-pthread", "-o", str(program)]
    subprocess.run([c_programs.compiler("cc"), *sources, *flags], check=True)

    sys.path.insert(0, str(EXAMPLES / "streaming"))
    try:
        import streaming
    finally:
        sys.path.pop(0)
    whole = streaming.listened(cinfer.load(tmp_path / "stream.gio"), streaming.STEPS)
    assert len(np.unique(whole)) > 90  # it depends on all that came before: the input has period 16
    for length in (1, 13, 100):
        command = [str(program), str(tmp_path / "stream.gio"), str(length)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert np.array(done.stdout.split(), np.float32).tobytes() == whole.tobytes()


# ---- sounds classified from raw samples ----


def test_sounds_are_classified_in_c_with_the_bits_of_python(tmp_path: Path) -> None:
    printed = python("audio/audio.py", ".", "--steps", "100", cwd=tmp_path)
    right = re.search(r"held-out sounds: ([0-9.]+)% right", printed)
    assert right is not None and float(right[1]) > 85
    gap = re.search(r"240 of 240 equal, probabilities within (\S+)", printed)
    assert gap is not None and float(gap[1]) < 1e-5
    program = tmp_path / "sounds"
    sources = [str(EXAMPLES / "audio" / "sounds.c"), str(c_programs.library())]
    flags = [*c_programs.FLAGS, *WARNINGS, "-lm", "-pthread", "-o", str(program)]
    subprocess.run([c_programs.compiler("cc"), *sources, *flags], check=True)
    command = [str(program), "sounds.gio", "samples.f32"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 240
    assert done.stdout == (tmp_path / "answers.txt").read_text()


# ---- a training that is ended and goes on ----


@BOTH
def test_a_training_that_gets_sigterm_ends_with_the_bits_of_one_that_did_not(
    engine: str, tmp_path: Path
) -> None:
    module(engine)
    target = ["--engine", engine]
    straight = python("preemption/train.py", "once", *target, cwd=tmp_path).splitlines()
    assert straight[0] == "from step 0"
    first, *_, last = [float(v) for v in re.findall(r"loss ([0-9.]+)", "\n".join(straight))]
    assert last < first / 1.5

    command = [sys.executable, str(EXAMPLES / "preemption" / "train.py"), "twice", *target]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, stdout=pipe, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if line.startswith("step 140 "):
                running.send_signal(signal.SIGTERM)
                break
        running.stdout.read()
        assert running.wait(60) == -signal.SIGTERM
    resumed = python("preemption/train.py", "twice", *target, cwd=tmp_path).splitlines()
    where = re.fullmatch(r"from step (\d+)", resumed[0])
    assert where is not None and 140 <= int(where[1]) < 400
    assert resumed[-1] == straight[-1] and "sha256" in straight[-1]
