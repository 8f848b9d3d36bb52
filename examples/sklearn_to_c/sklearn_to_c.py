"""A pipeline of scikit-learn becomes an equivalent C program that classifies rows.

    python examples/sklearn_to_c/sklearn_to_c.py [--folder build/wine]

scikit-learn trains, skl2onnx writes ONNX, `graphio export-c` the function that classify.c calls.
The program reads rows of numbers; its classes have to be scikit-learn's, on rows that
are not in the training set.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
from skl2onnx import to_onnx
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import graphio as tf

HERE = Path(__file__).resolve().parent


def trained() -> tuple[Pipeline, np.ndarray, np.ndarray]:
    """A pipeline, rows that it has not seen, and their classes."""
    rows, classes = load_wine(return_X_y=True)
    seen, unseen, labels, expected = train_test_split(
        rows.astype(np.float32), classes, test_size=0.5, random_state=0
    )
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(50, random_state=0))
    return pipeline.fit(seen, labels), unseen, expected


def program(pipeline: Pipeline, rows: np.ndarray, folder: Path) -> list[str]:
    """The command that classifies: model, header and program in a folder."""
    model = to_onnx(pipeline, rows[:1], options={"zipmap": False})
    tf.onnx.convert(model, folder / "wine.gio")
    python = [sys.executable, "-m"]
    subprocess.run([*python, "graphio", "export-c", "wine.gio"], cwd=folder, check=True)
    query = [*python, "graphio.cinfer", "--cflags", "--libs"]
    flags = subprocess.run(query, check=True, capture_output=True, text=True).stdout
    built = ["cc", "-std=c11", "-O2", "-I.", str(HERE / "classify.c"), *shlex.split(flags)]
    subprocess.run([*built, "-o", "classify"], cwd=folder, check=True)
    return [str(folder / "classify"), str(folder / "wine.gio")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("build/wine"))
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)

    pipeline, rows, expected = trained()
    command = program(pipeline, rows, folder)
    # Nine digits are a float32 exactly.
    text = "\n".join(" ".join(f"{number:.9g}" for number in row) for row in rows)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    found = np.array([line.split() for line in done.stdout.splitlines()], np.float64)

    classes, chances = found[:, 0].astype(int), found[:, 1:]
    equal = int(np.sum(classes == pipeline.predict(rows)))
    gap = float(np.abs(chances - pipeline.predict_proba(rows)).max())
    print(f"right {np.mean(classes == expected):.3f} of {len(rows)} rows")
    print(f"as scikit-learn {equal} of {len(rows)} classes, probabilities within {gap:.1e}")
    return 0 if equal == len(rows) and gap < 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main())
