"""CONTRIBUTING.md shows how an operator is added; the patch that it shows works."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import c_programs
import numpy as np
import pytest
from folders import ROOT

PATCH = ROOT / "tests" / "contributing" / "add_operator.patch"
#: builds, runs and saves a graph with the new operator
PYTHON = """
import sys

# An editable installation would import the modules of its checkout.
sys.meta_path[:] = [f for f in sys.meta_path if "ScikitBuild" not in type(f).__name__]
folders = ["", "tests", "tests/support", "tests/architecture", "tools"]
sys.path[:0] = [{tree!r} + "/" + folder for folder in folders]
import graphio as tf
import numpy as np
import test_architecture
from graphio.ops.math.elementwise import cube

test_architecture.test_an_operator_has_all_its_parts()
x = tf.placeholder(tf.float32, [None], name="x")
y = cube(x)
(slope,) = tf.gradients(y, x)
with tf.Session() as session:
    values = session.run([y, slope], {{x: [-2.0, 0.5, 3.0]}})
    tf.saved_model.save("cube.gio", session, {{"run": ({{"x": x}}, {{"y": y}})}})
np.testing.assert_array_equal(values, [[-8.0, 0.125, 27.0], [12.0, 0.75, 27.0]])
print("the Python runtime agrees")
"""
C = """
#include <stdio.h>
#include "cinfer.h"

int main(void) {
  float in[3] = {-2.0f, 0.5f, 3.0f}, out[3];
  ci_tensor x = {in, sizeof in, CI_FLOAT, 1, {3}}, y = {out, sizeof out, CI_FLOAT, 1, {3}};
  ci_model *model;
  ci_session *session;
  ci_error error;
  if (ci_open("cube.gio", NULL, &model, &error) ||
      ci_session_open(model, NULL, NULL, &session, &error) ||
      ci_run(session, ci_signature(model, "run"), &x, 1, &y, 1, &error))
    return puts(error.message), 1;
  printf("%g %g %g\\n", (double)out[0], (double)out[1], (double)out[2]);
  ci_session_close(session);
  ci_close(model);
  return 0;
}
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout with the patch applied and the generated table written."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("no checkout of git")
    folder = tmp_path_factory.mktemp("contributing")
    kept = re.compile(
        r"(cinfer/(src|include|cinfer\.c)|graphio|runtime|schema|tools)\b|tests/[^.]+\.py$"
    )
    for name in filter(kept.match, listed.stdout.splitlines()):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    (folder / "graphio" / "runtime").unlink(missing_ok=True)
    (folder / "graphio" / "runtime").symlink_to("../runtime")
    command(["git", "apply", "--whitespace=error", str(PATCH)], folder)
    command([sys.executable, "tools/gen_operators.py"], folder)
    return folder


def command(words: list[str], folder: Path) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (
        f"{' '.join(words)[:80]}: {done.stdout[-2000:]}{done.stderr[-3000:]}\n"
        "If the files of tests/contributing/add_operator.patch have changed, update the patch."
    )
    return done.stdout


def test_the_patch_that_adds_an_operator_works_in_both_engines(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(PYTHON.format(tree=str(tree)))
    printed = command([sys.executable, "run.py"], tmp_path)
    assert printed == "the Python runtime agrees\n"

    (tmp_path / "run.c").write_text(C)
    cc = c_programs.compiler("tcc" if shutil.which("tcc") else "cc")
    flags = ["-std=c11", "-O0", f"-I{tree / 'cinfer' / 'include'}"]
    sources = [str(tree / "cinfer" / "cinfer.c"), "run.c"]
    command([cc, *flags, *sources, "-o", "run", "-lm", "-pthread"], tmp_path)
    numbers = [float(word) for word in command(["./run"], tmp_path).split()]
    np.testing.assert_array_equal(numbers, [-8.0, 0.125, 27.0])


def test_the_page_shows_the_files_that_the_patch_changes() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    changed = re.findall(r"^\+\+\+ b/(.*)$", PATCH.read_text(), re.MULTILINE)
    assert len(changed) >= 6 and [name for name in changed if f"`{name}`" not in page] == []
    assert "(tests/contributing/add_operator.patch)" in page
