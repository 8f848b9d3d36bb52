"""Summaries of tf.contrib.layers, slim and training against those of tf-slim: tags and values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from contrib_scenes import recording, summaries_scenes

import graphio as tf
from graphio.contrib import summary as written

EXPECTED = recording.stored("summaries")
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@TARGETS
@pytest.mark.parametrize("name", EXPECTED)
def test_summaries_have_the_tags_and_values_of_tensorflow(name: str, target: str) -> None:
    scene = summaries_scenes.SCENES[name]
    found = summaries_scenes.record(
        tf, lambda part: getattr(tf.contrib, part), scene, target=target
    )
    assert [row[:2] for row in found] == [row[:2] for row in EXPECTED[name]]
    for (tag, _, ours), (_, _, theirs) in zip(found, EXPECTED[name], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6, err_msg=tag)


def test_every_scene_is_recorded() -> None:
    assert list(EXPECTED) == list(summaries_scenes.SCENES)


def test_optimizers_have_the_names_of_tensorflow() -> None:
    layers, train = tf.contrib.layers, tf.train
    assert layers.OPTIMIZER_CLS_NAMES == {
        "Adagrad": train.AdagradOptimizer,
        "Adam": train.AdamOptimizer,
        "Ftrl": train.FtrlOptimizer,
        "Momentum": layers.OPTIMIZER_CLS_NAMES["Momentum"],
        "RMSProp": train.RMSPropOptimizer,
        "SGD": train.GradientDescentOptimizer,
    }
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.get_variable("x", initializer=1.0)
        step = layers.OPTIMIZER_CLS_NAMES["Momentum"](0.1).minimize(2 * x)
        session.run(tf.global_variables_initializer())
        session.run(step)
        session.run(step)
        # the momentum is 0.9: 0.1 * 2, then 0.1 * (2 + 0.9 * 2)
        np.testing.assert_allclose(session.run(x), 1 - 0.2 - 0.38, rtol=1e-6)
    assert layers.OPTIMIZER_SUMMARIES == [
        *("learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm")
    ]


@TARGETS
def test_the_older_function_makes_a_writer_of_files(tmp_path: Path, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        writer = written.create_summary_file_writer(str(tmp_path), filename_suffix=".more")
        assert isinstance(writer, written.SummaryWriter)
        with writer.as_default(), written.always_record_summaries():
            made = written.scalar("loss", tf.constant(2.5), step=tf.constant(4, tf.int64))
        session.run(written.summary_writer_initializer_op())
        session.run(made)
        session.run(written.flush())
        session.run(writer.close())
    (file,) = tmp_path.iterdir()
    assert file.name.endswith(".more")
    events = [e for e in tf.train.summary_iterator(str(file)) if e.HasField("summary")]
    assert [(e.step, v.tag, v.simple_value) for e in events for v in e.summary.value] == [
        (4, "loss", 2.5)
    ]
