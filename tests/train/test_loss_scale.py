"""tf.train.experimental's loss scales, against the same rules in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
experimental = tf.train.experimental


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


@TARGETS
def test_a_dynamic_scale_grows_and_shrinks_with_its_optimizer(target: str) -> None:
    v = tf.get_variable("v", initializer=np.array([1.0, -2.0], np.float32))
    step = tf.train.get_or_create_global_step()
    factor = tf.placeholder(tf.float32, [])
    scale = experimental.DynamicLossScale(8.0, increment_period=2, multiplier=4.0)
    inner = tf.train.MomentumOptimizer(0.5, 0.5)
    optimizer = experimental.MixedPrecisionLossScaleOptimizer(inner, scale)
    train = optimizer.minimize(tf.reduce_sum(v) * factor, global_step=step)
    names = [w.op.name for w in tf.global_variables()]
    assert names == ["v", "global_step", "current_loss_scale", "good_steps", "v/Momentum"]
    w, velocity, expected, good, count = np.array([1.0, -2.0]), 0.0, 8.0, 0, 0
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        for slope in (1.0, 0.5, np.inf, 1.0, np.nan, np.inf, np.inf, 1.0, 2.0, 3.0):
            session.run(train, {factor: slope})
            if np.isfinite(slope):
                velocity = 0.5 * velocity + slope
                w, count, good = w - 0.5 * velocity, count + 1, good + 1
                if good == 2:
                    expected, good = expected * 4, 0
            else:
                expected, good = max(expected / 4, 1.0), 0
            found = session.run([v, scale(), step, scale._steps])
            np.testing.assert_allclose(found[0], w, rtol=1e-6)
            assert found[1:] == [expected, count, good]


@TARGETS
def test_a_scale_does_not_grow_to_infinity(target: str) -> None:
    scale = experimental.DynamicLossScale(2.0**127, increment_period=1)
    update, finite = scale.update([tf.constant([1.0]), None])
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        _, good = session.run([update, finite])
        assert good
        assert session.run([scale(), scale._steps]) == [2.0**127, 0]


@TARGETS
@pytest.mark.parametrize("sparse", [False, True])
def test_a_fixed_scale_lifts_small_gradients(sparse: bool, target: str) -> None:
    v = tf.get_variable("v", initializer=np.ones([2, 2], np.float32))
    read = tf.gather(v, [1, 1]) if sparse else v
    # in float16 the slope is below the smallest number unless it is scaled
    loss = tf.reduce_sum(tf.cast(tf.cast(read * 2.0**-20, tf.float16), tf.float32)) * 2.0**-30
    plain = tf.train.GradientDescentOptimizer(1.0)
    scaled = experimental.MixedPrecisionLossScaleOptimizer(plain, 2**16)
    both = [plain.compute_gradients(loss)[0][0], scaled.compute_gradients(lambda: loss)[0][0]]
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        zero, found = session.run([tf.convert_to_tensor(g) for g in both])
        assert not zero.any()
        rows = [[0, 0], [2, 2]] if sparse else [[1, 1], [1, 1]]
        np.testing.assert_allclose(found, np.array(rows) * 2.0**-50, rtol=1e-3)


def test_scales_come_from_numbers_words_and_configs() -> None:
    make = experimental.MixedPrecisionLossScaleOptimizer
    inner = tf.train.GradientDescentOptimizer(1.0)
    assert repr(make(inner, 4)._loss_scale) == "FixedLossScale(4.0)"
    dynamic = make(inner, "dynamic")._loss_scale
    assert dynamic.get_config() == {
        "initial_loss_scale": 2.0**15, "increment_period": 2000, "multiplier": 2.0,
    }  # fmt: skip
    kind = experimental.FixedLossScale
    assert kind.from_config(kind(3).get_config()).get_config() == {"loss_scale_value": 3.0}
    assert kind(3).update([])[1] is True
    with pytest.raises(ValueError, match="must be at least 1"):
        kind(0.5)
    with pytest.raises(ValueError, match="must be a Python int or float"):
        kind("3")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Could not interpret loss scale identifier: big"):
        make(inner, "big")
    with pytest.raises(ValueError, match='"opt" must be an instance of Optimizer'):
        make("Adam", 4)  # type: ignore[arg-type]


def test_a_checkpoint_has_the_state_of_a_scale(tmp_path: Path) -> None:
    v = tf.Variable(1.0)
    scale = experimental.DynamicLossScale(8.0)
    optimizer = experimental.MixedPrecisionLossScaleOptimizer(
        tf.train.MomentumOptimizer(1.0, 0.5), scale
    )
    optimizer.minimize(v * 2.0)
    saved = tf.train.Checkpoint(v=v, opt=optimizer)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = saved.write(tmp_path / "m", session)
    ending = "/.ATTRIBUTES/VARIABLE_VALUE"
    listed = [name.removesuffix(ending) for name, _ in tf.train.list_variables(path)]
    assert listed == [
        "_CHECKPOINTABLE_OBJECT_GRAPH", "opt/loss_scale/current_loss_scale",
        "opt/loss_scale/good_steps", "save_counter", "v",
        "v/.OPTIMIZER_SLOT/opt/base_optimizer/momentum",
    ]  # fmt: skip


def test_a_scale_is_a_loss_scale_and_the_class_of_all_makes_none() -> None:
    for scale in (experimental.FixedLossScale(4.0), experimental.DynamicLossScale(8.0)):
        assert isinstance(scale, experimental.LossScale)
    with pytest.raises(TypeError, match="abstract"):
        experimental.LossScale()
