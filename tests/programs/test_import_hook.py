"""The import hook and `python -m graphio program.py`: programs that import tensorflow run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import sys
import tensorflow as tf
import tensorflow.compat.v1 as v1
import tensorflow.nn.rnn_cell as cells
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.framework import ops
from tensorflow.python.ops.rnn_cell_impl import GRUCell
import graphio
from helper import value

tf.flags.DEFINE_integer("steps", 3, "number of steps")

def main(_):
    assert tf is v1 is graphio and cells.GRUCell is GRUCell
    assert config_pb2.ConfigProto is tf.ConfigProto
    assert ops.reset_default_graph is tf.reset_default_graph
    assert tf.__spec__.name == "graphio" and tf.__name__ == "graphio"
    x = tf.Variable(1.0)
    step = tf.assign(x, x * value)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(tf.flags.FLAGS.steps):
            session.run(step)
        print(tf.__version__, graphio.graphio_version, session.run(x), sys.argv)

if __name__ == "__main__":
    tf.app.run()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text("import tensorflow as tf\nvalue = tf.constant(2.0)\n")
    return tmp_path


def run(folder: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, **options},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("target", ["", "cinfer"], ids=["runtime", "cinfer"])
def test_a_program_runs_without_a_change(folder: Path, target: str) -> None:
    done = run(folder, "-m", "graphio", "program.py", "--steps=4", GRAPHIO_TARGET=target)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1.15.5", "0.1.0", "16.0", "['program.py',", "'--steps=4']"]


def test_a_program_in_another_folder_finds_its_modules(folder: Path) -> None:
    done = run(folder.parent, "-m", "graphio", f"{folder.name}/program.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[2] == "8.0"


def test_a_module_runs_as_a_program(folder: Path) -> None:
    done = run(folder, "-m", "graphio", "-m", "program", "--steps", "1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[2] == "2.0"


def test_one_line_installs_the_hook(folder: Path) -> None:
    line = "from graphio.python import hook; hook.install()\n"
    (folder / "program.py").write_text(line + PROGRAM)
    done = run(folder, "program.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[2] == "8.0"


def test_the_exit_code_is_the_programs(folder: Path) -> None:
    (folder / "exits.py").write_text("import tensorflow, sys\nsys.exit(7)\n")
    assert run(folder, "-m", "graphio", "exits.py").returncode == 7
    (folder / "fails.py").write_text("import tensorflow as tf\ntf.no_such_name\n")
    done = run(folder, "-m", "graphio", "fails.py")
    assert (done.returncode, "no attribute 'no_such_name'" in done.stderr) == (1, True)


def test_a_program_that_is_not_there_is_named(folder: Path) -> None:
    done = run(folder, "-m", "graphio", "none.py")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "graphio: can't open file 'none.py': there is no such file\n"


def test_a_folder_named_tensorflow_is_not_an_installed_one(folder: Path) -> None:
    (folder / "tensorflow" / "models").mkdir(parents=True)
    (folder / "program.py").write_text("import tensorflow as tf\nprint(tf.square.__name__)\n")
    done = run(folder, "-m", "graphio", "program.py")
    assert (done.returncode, done.stdout) == (0, "square\n"), done.stderr


def test_an_installed_tensorflow_is_used_unless_forced(folder: Path) -> None:
    package = folder / "tensorflow"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('the real one')\n")
    paths = {"PYTHONPATH": str(folder)}
    done = run(folder, "-m", "graphio", "program.py", **paths)
    assert done.returncode == 2
    assert "TensorFlow is installed in" in done.stderr
    assert "--force" in done.stderr
    done = run(folder, "-m", "graphio", "--force", "program.py", **paths)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[2] == "8.0"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("import tensorflow.estimator", "tf.estimator is not part of graphio: "),
        ("import tensorflow.keras.layers", "tf.keras.layers is not part of graphio: "),
        ("from tensorflow.python.keras import layers", "cannot import name 'layers'"),
        ("import tensorflow.Session", "tensorflow.Session is not a module"),
        ("import tensorflow.none", "No module named 'tensorflow.none'"),
        ("from tensorflow import nonesuch", "cannot import name 'nonesuch'"),
    ],
)
def test_what_is_not_there_is_an_import_error_that_says_why(
    folder: Path, line: str, text: str
) -> None:
    (folder / "imports.py").write_text(
        f"try:\n    {line}\nexcept ImportError as error:\n    print(error)\n"
    )
    done = run(folder, "-m", "graphio", "imports.py")
    assert text in done.stdout, done.stderr


POOL = """
import multiprocessing
import sys
import tensorflow as tf
from tensorflow.python.framework import ops

def work(n):
    with tf.Graph().as_default(), tf.Session() as session:
        return int(session.run(ops.convert_to_tensor(n) * 2))

if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        print(pool.map(work, [1, 2, 3]))
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_of_a_program_import_tensorflow(folder: Path, method: str) -> None:
    (folder / "pool.py").write_text(POOL)
    done = run(folder, "-m", "graphio", "pool.py", method)
    assert done.stdout == "[2, 4, 6]\n", done.stderr


OTHER_IMPORTS = """
from __future__ import absolute_import, division, print_function
import importlib, pickle, sys
import tensorflow.contrib.slim as slim
import tensorflow.train
from tensorflow.contrib import slim as again
from tensorflow.contrib.rnn.python.ops import core_rnn_cell
from tensorflow.contrib.slim.nets import resnet_v1
from tensorflow.nn import relu

tf = importlib.import_module("tensorflow")
assert importlib.import_module(".ops", "tensorflow.python.framework").Graph is tf.Graph
assert slim is again is tf.contrib.slim and relu is tf.nn.relu
assert tf.contrib.rnn.python.ops.core_rnn_cell is core_rnn_cell
assert resnet_v1.resnet_v1_50 is slim.nets.resnet_v1.resnet_v1_50
for value in (tf.float32, relu, tf.contrib.training.HParams, core_rnn_cell.RNNCell):
    assert pickle.loads(pickle.dumps(value)) is value
assert tuple(map(int, tf.__version__.split("."))) >= (1, 4)
print("done")
from tensorflow import *
assert Graph is tf.Graph and print is tf.print
"""


def test_imports_of_all_kinds_give_the_same_objects(folder: Path) -> None:
    (folder / "others.py").write_text(OTHER_IMPORTS)
    done = run(folder, "-m", "graphio", "others.py")
    assert done.stdout == "done\n", done.stderr


def test_the_hook_comes_before_tensorflow_and_goes(folder: Path) -> None:
    (folder / "hook.py").write_text(
        "import sys, types\n"
        "from graphio.python import hook\n"
        "hook.install(); hook.install()\n"
        "import tensorflow.python.framework.ops as ops\n"
        "hook.uninstall()\n"
        "assert 'tensorflow' not in sys.modules\n"
        "assert ops.__spec__.name == 'graphio.python.framework.ops'\n"
        "sys.modules['tensorflow'] = types.ModuleType('tensorflow')\n"
        "try:\n    hook.install()\nexcept ImportError as error:\n    print(error)\n"
    )
    done = run(folder, "hook.py")
    assert done.stdout == "tensorflow is imported already; install the hook before that\n"


def test_importing_graphio_imports_no_table_of_tensorflow() -> None:
    program = (
        "import sys, graphio; graphio.constant; "
        "print([n for n in sys.modules if n.startswith(('graphio.python', 'graphio.core'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"


def test_a_module_is_looked_for_without_an_error(folder: Path) -> None:
    (folder / "looks.py").write_text(
        "from importlib.util import find_spec\n"
        "names = ['nonesuch', 'nn.nonesuch', 'nn', 'nn.rnn_cell', 'contrib.slim', 'python.ops']\n"
        "print([find_spec('tensorflow.' + name) is not None for name in names])\n"
        "try:\n"
        "    find_spec('tensorflow.estimator')\n"
        "except ModuleNotFoundError as error:\n"
        "    print(error)\n"
    )
    done = run(folder, "-m", "graphio", "looks.py")
    first, second = done.stdout.splitlines()
    assert first == "[False, False, True, True, True, True]", done.stderr
    assert second.startswith("tf.estimator is not part of graphio: ")
