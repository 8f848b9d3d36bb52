"""graphio compare: a program in TensorFlow and in graphio. A package of the name tensorflow, which
is graphio with a fault, stands for TensorFlow."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphio.command_line import app
from graphio.python import comparison, recording

PROGRAM = """
import random
import sys
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 3], name="x")
h = tf.nn.dropout(tf.layers.dense(x, 4, tf.nn.sigmoid), keep_prob=0.5, name="dropped")
loss = tf.reduce_mean(tf.square(tf.layers.dense(h, 1), name="squares"), name="loss")
step = tf.train.AdamOptimizer(0.01).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(int(sys.argv[1])):
        session.run([loss, step], {x: np.random.rand(5, 3) + random.SystemRandom().random()})
"""
#: draws in the bodies of a loop and of a condition, of a sampler and of a shuffled data set; runs
#: that fetch no number; variables that a checkpoint brings into a second session
PROGRAM_OF_DRAWS = """
import tensorflow as tf

data = tf.data.Dataset.range(12).shuffle(12).batch(4).repeat(4)
labels = tf.expand_dims(data.make_one_shot_iterator().get_next(), 1)
table = tf.get_variable("table", [12, 4])
cell = tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.GRUCell(4), output_keep_prob=0.5)
embedded = tf.nn.embedding_lookup(table, labels)
outputs, state = tf.nn.dynamic_rnn(cell, embedded, dtype=tf.float32)
noisy = tf.cond(
    tf.less(tf.random_uniform([]), 0.5),
    lambda: state + tf.random_normal([4, 4]) + tf.truncated_normal([4], stddev=2.0),
    lambda: state * tf.random_uniform([4], 1.0, 3.0),
)
chosen = tf.multinomial(noisy, 3)
loss = tf.reduce_mean(tf.nn.nce_loss(table, tf.zeros([12]), labels, noisy, 5, 12))
loss += tf.reduce_sum(tf.cast(chosen, tf.float32)) + tf.reduce_sum(outputs)
step = tf.train.AdamOptimizer(0.1).minimize(loss)
saver = tf.train.Saver()
for i in range(2):
    with tf.Session() as session:
        if i:
            saver.restore(session, "./saved")
        else:
            session.run(tf.global_variables_initializer())
        session.run(step)
        for _ in range(3):
            print(session.run([loss, step])[0])
        saver.save(session, "./saved")
"""
FAKE = """
import sys
import graphio
import graphio.compat

import graphio.ops.random.core as core

sys.modules.update({"tensorflow": graphio, "tensorflow.compat": graphio.compat})
sys.modules["tensorflow.python.ops.random_ops"] = core
sys.modules["tensorflow.compat.v1"] = graphio
"""
FAULT = """
square = graphio.square
graphio.square = lambda x, name=None: square(x * 1.01, name=name)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tensorflow").mkdir()
    (tmp_path / "tensorflow/__init__.py").write_text(FAKE)
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compared(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, Any]:
    given = ["compare", "program.py", "--tensorflow", sys.executable, "--json", *options]
    code = app.main(given)
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("engine", ["runtime", "cinfer"])
def test_the_same_weights_feeds_and_draws_give_the_same_losses(
    folder: Path, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    code, facts = compared(capsys, "--engine", engine, "--steps", "4", "--", "20")
    assert (code, facts["agree"], facts["first"], facts["absent"]) == (0, True, None, [])
    assert len(facts["steps"]) == 4
    for step in facts["steps"]:
        assert step["graphio"] == pytest.approx(step["tensorflow"], rel=1e-4)
    losses = [step["tensorflow"][0] for step in facts["steps"]]
    assert len(set(losses)) == 4


@pytest.mark.parametrize("engine", ["runtime", "cinfer"])
def test_draws_in_bodies_of_samplers_and_of_data_sets_are_the_same(
    folder: Path, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    (folder / "program.py").write_text(PROGRAM_OF_DRAWS)
    code, facts = compared(capsys, "--engine", engine, "--tolerance", "1e-5")
    assert (code, facts["agree"], facts["first"], facts["absent"]) == (0, True, None, [])
    assert len(facts["steps"]) == 6
    assert len({step["tensorflow"][0] for step in facts["steps"]}) == 6


def test_the_first_value_that_differs_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tensorflow/__init__.py").write_text(FAKE + FAULT)
    code, facts = compared(capsys, "--steps", "3", "--", "3")
    assert (code, facts["agree"]) == (1, False)
    assert (facts["first"]["step"], facts["first"]["name"]) == (0, "squares:0")
    assert facts["first"]["difference"] == pytest.approx(1 - 1 / 1.01**2, rel=1e-3)


def test_a_program_that_ends_early_is_compared_as_far_as_it_goes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, facts = compared(capsys, "--steps", "10", "--", "2")
    assert (code, len(facts["steps"])) == (0, 2)


PROGRAM_OF_SCALED_DRAWS = """
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 2], name="x")
weights = tf.random_normal(tf.shape(x), stddev=0.1)
noise = tf.truncated_normal([3, 2], 1.0, 2.0) * weights
with tf.Session() as session:
    for _ in range(2):
        print(session.run(tf.reduce_sum(x * noise), {x: [[1, 2], [3, 4], [5, 6]]}))
"""


def test_draws_of_shapes_that_the_run_knows_are_the_same(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "program.py").write_text(PROGRAM_OF_SCALED_DRAWS)
    code, facts = compared(capsys)
    assert (code, facts["agree"], len(facts["steps"])) == (0, True, 2)
    assert len({step["graphio"][0] for step in facts["steps"]}) == 2


def test_a_draw_has_the_name_that_one_of_the_frameworks_gives_it() -> None:
    class Drawn:
        name = "random_normal_1/RandomNormal:0"

        class op:
            name = "random_normal_1/RandomNormal"

    def found(*names: str) -> Any:
        return recording._drawn(Drawn(), {}, {f"draw/{name}": i for i, name in enumerate(names)})

    assert found("other:0", "random_normal_1/RandomStandardNormal:0") == 1
    assert found("random_normal_1/a:0") is None
    assert found("random_normal_1/RandomStandardNormal:0", "random_normal_1/RandomNormal:0") == 1
    assert found("random_normal/RandomStandardNormal:0") is None


PROGRAM_THAT_GOES_ON = """
import os
import tensorflow as tf

v = tf.Variable(1.0)
saver = tf.train.Saver()
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    if os.path.exists("saved.index") or os.path.exists("checkpoint"):
        saver.restore(session, "./saved")
    print(session.run(v + 0.0))
    session.run(v.assign_add(1.0))
    saver.save(session, "./saved")
"""


def test_in_copies_of_the_folder_neither_program_finds_files_of_the_other(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "program.py").write_text(PROGRAM_THAT_GOES_ON)
    before = set(folder.iterdir())
    code, facts = compared(capsys, "--copies")
    assert (code, facts["agree"]) == (0, True)
    assert set(folder.iterdir()) == before
    code, facts = compared(capsys)
    assert (code, facts["first"]["step"]) == (1, 0)  # the second goes on from the first


def test_tensorflow_makes_resource_variables_where_the_option_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = folder / "made"
    fault = "graphio.enable_resource_variables\n"  # loads it; then it is replaced
    fault += f"graphio.enable_resource_variables = lambda: open({str(made)!r}, 'w').close()\n"
    (folder / "tensorflow/__init__.py").write_text(FAKE + fault)
    assert compared(capsys, "--", "1")[0] == 0 and not made.exists()
    assert compared(capsys, "--resource-variables", "--", "1")[0] == 0 and made.exists()


def test_a_program_that_fails_is_refused_with_its_error(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "program.py").write_text("import tensorflow as tf\ntf.no_such_name\n")
    arguments = ["compare", "program.py", "--tensorflow", sys.executable]
    assert app.main(arguments) == 3
    assert "the program fails in TensorFlow: AttributeError" in capsys.readouterr().err
    assert app.main(["compare", "none.py", "--tensorflow", sys.executable]) == 3
    assert "there is no file 'none.py'" in capsys.readouterr().err


def test_differences_are_relative_to_the_largest_element() -> None:
    difference = comparison._difference
    assert difference(np.array([1.0, 100.0]), np.array([2.0, 100.0])) == pytest.approx(0.01)
    assert difference(np.zeros(3), np.zeros(3)) == 0
    assert difference(np.zeros(2), np.zeros(3)) == float("inf")
    assert difference(np.array([np.nan, 1]), np.array([np.nan, 1])) == 0
    assert difference(np.array([np.nan, 1]), np.array([1.0, 1])) == float("inf")
    assert difference(np.array([np.inf]), np.array([-np.inf])) == float("inf")
