"""Public names and their types as type checkers and editors see them."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
from folders import ROOT

import graphio as tf

sys.path.insert(0, str(ROOT / "tools"))
import gen_stubs

#: names that __init__.py imports for its own use
OWN = {"Any", "annotations"}

RIGHT = """\
import numpy as np
import graphio as tf


def main() -> list[float]:
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.placeholder(tf.int64, shape=[None])
    with tf.variable_scope("hidden", reuse=tf.AUTO_REUSE):
        w = tf.get_variable("w", [2, 8], initializer=tf.initializers.glorot_uniform())
    b = tf.Variable(tf.zeros([8]), name="b")
    hidden = tf.nn.relu(tf.matmul(x, w) + b)
    logits = tf.layers.dense(hidden, 3, activation=None, name="logits", reuse=False)
    right = tf.equal(tf.argmax(logits, axis=1), y)
    accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
    penalty = 0.01 * tf.reduce_sum(w ** 2) + np.float32(0) * tf.reduce_sum(-b)
    loss = penalty + tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.1, step, 10, 0.9)
    optimizer = tf.train.AdamOptimizer(rate)
    pairs = [(tf.clip_by_norm(g, 1.0), v) for g, v in optimizer.compute_gradients(loss)]
    train = optimizer.apply_gradients(pairs, global_step=step)
    points = np.ones([4, 2], np.float32)
    data = tf.data.Dataset.from_tensor_slices(points).map(lambda p: p * 2).repeat().batch(2)
    batch = data.make_one_shot_iterator().get_next()
    saver = tf.train.Saver(max_to_keep=2)
    found: list[float] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        fed = {x: session.run(batch), y: np.zeros([2], np.int64)}
        value, _ = session.run([loss, train], feed_dict=fed)
        found.append(float(value))
        path = saver.save(session, "./model", global_step=step)
        saver.restore(session, path)
        tf.saved_model.save(
            "model.gio", session, {"predict": ({"x": x}, {"logits": logits[:, :2]})}
        )
        found.append(float(accuracy.eval(fed)))
    tf.train.train(train, "run", steps=2, feed=fed, metrics={"loss": loss})
    model = tf.saved_model.load("model.gio")
    found.append(float(model.signature("predict")(x=points)["logits"].sum()))
    assert tf.__version__ == tf.compat.v1.VERSION
    return found


if __name__ == "__main__":
    assert len(main()) == 3
"""

#: the comments are the errors that are expected
WRONG = """\
import graphio as tf
import graphio.compat.v1 as v1

x = tf.plaecholder(tf.float32)  # attr-defined
x = tf.placeholder(tf.float32, shpae=[None])  # call-arg
x = tf.nn.relu(1, None, 3, 4, 5)  # call-arg
x = tf.nn.rleu(1)  # attr-defined
tf.train.nosuch()  # attr-defined
tf.train.Saver(max_to_kep=1)  # call-arg
tf.train.AdamOptimizer(0.1).minimise(x)  # attr-defined
tf.layers.dense(x)  # call-arg
tf.maximum(x)  # call-arg
tf.io.decode_proto("")  # attr-defined
tf.initializers.zeross()  # attr-defined
v1.Sesion()  # attr-defined
tf.compat.v1.Sesion()  # attr-defined
tf.Session(target=3)  # arg-type
length: str = tf.size(x)  # assignment
"""


def stub(path: str) -> dict[str, str]:
    """The modules of a stub's names."""
    tree = ast.parse((ROOT / path).read_text())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def public_names() -> set[str]:
    """The names in `tf.`; imported modules do not count, unless they are namespaces."""
    found = {name for name in dir(tf) if not name.startswith("_")} - OWN
    return {n for n in found if n in tf._NAMESPACES or not inspect.ismodule(getattr(tf, n))}


def test_the_stub_has_every_name_that_is_found_and_no_other() -> None:
    tf.Graph  # noqa: B018
    versions = {"__compiler_version__", "__git_version__", "__version__"}
    assert set(stub("graphio/__init__.pyi")) == public_names() | versions


@pytest.mark.parametrize("package", ["graphio", "graphio.io"])
def test_a_name_of_a_stub_is_what_its_module_has(package: str) -> None:
    module = importlib.import_module(package)
    for name, home in stub(f"{package.replace('.', '/')}/__init__.pyi").items():
        there = getattr(importlib.import_module(home), name)
        assert inspect.unwrap(getattr(module, name)) is inspect.unwrap(there), name


def test_the_stubs_are_those_of_the_tables() -> None:
    for path, text in gen_stubs.generate().items():
        assert (ROOT / path).read_text() == text, f"{path} is stale, run tools/gen_stubs.py"


def paths(path: str, module: types.ModuleType, seen: set[str]) -> Iterator[str]:
    """Every public name in the module and in the public modules below it."""
    if module.__name__ in seen:
        return
    seen.add(module.__name__)
    lazy = stub("graphio/io/__init__.pyi") if module.__name__ == "graphio.io" else ()
    for name in sorted({*getattr(module, "__all__", ()), *lazy}):
        yield f"{path}.{name}"
        value = getattr(module, name)
        if isinstance(value, types.ModuleType) and value.__name__.startswith("graphio."):
            yield from paths(f"{path}.{name}", value, seen)


def all_names() -> list[str]:
    found = [f"tf.{name}" for name in sorted(public_names())]
    found += ["tf.__version__", "tf.compat.v1.Session", "tf.dtypes.cast", "tf.dtypes.saturate_cast"]
    found += [
        f"tf.initializers.{name}"
        for name in ("variables", "global_variables", "local_variables", "tables_initializer")
    ]
    seen: set[str] = set()
    for name in tf._NAMESPACES:
        found += paths(f"tf.{name}", getattr(tf, name), seen)
    return found


def test_mypy_knows_every_name_and_finds_the_mistakes_of_a_program_and_no_others(
    tmp_path: Path,
) -> None:
    pytest.importorskip("mypy", reason="mypy, which checks the types, is not installed")
    names = all_names()
    every = "import graphio as tf\n" + "".join(f"reveal_type({name})\n" for name in names)
    for name, text in (("right", RIGHT), ("wrong", WRONG), ("every", every)):
        (tmp_path / f"{name}.py").write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir=cache"]
    command += ["--follow-imports=silent", "right.py", "wrong.py", "every.py"]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    reported = re.findall(r"^(\w+)\.py:(\d+): error: .*\[([\w-]+)\]$", done.stdout, re.MULTILINE)
    expected = [
        ("wrong", str(i), line.partition("  # ")[2])
        for i, line in enumerate(WRONG.splitlines(), 1)
        if "  # " in line
    ]
    assert reported == expected, done.stdout[-3000:] + done.stderr
    types_of = re.findall(r'^every\.py:(\d+): note: Revealed type is "(.*)"$', done.stdout, re.M)
    assert len(types_of) == len(names)
    assert [names[int(i) - 2] for i, kind in types_of if kind == "Any"] == []


def test_the_program_that_mypy_takes_runs(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(RIGHT)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "right.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
