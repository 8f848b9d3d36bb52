"""Loops of tf.contrib.slim: training, going on from a checkpoint, evaluation; tools around them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.contrib import slim

X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(4, 2)
Y = np.float32([[0.5], [-0.25], [0.75], [1.0]])
RATE = 0.2


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as made:
        yield made


def loss_and_step(clip: float = 0, **options: Any) -> Any:
    """A linear model whose weights begin with 1 and 0.5."""
    start = tf.constant_initializer([[1.0], [0.5]])
    out = slim.fully_connected(X, 1, activation_fn=None, weights_initializer=start, scope="fc")
    tf.losses.mean_squared_error(Y, out)
    loss = slim.losses.get_total_loss()
    optimizer = tf.train.GradientDescentOptimizer(RATE)
    return loss, slim.learning.create_train_op(loss, optimizer, clip_gradient_norm=clip, **options)


def expected(steps: int, clip: float = 0, factor: float = 1.0) -> tuple[list[float], Any, Any]:
    """The losses before each step, and the variables after them, in float64."""
    w, b = np.array([[1.0], [0.5]]), np.zeros(1)
    losses = []
    for _ in range(steps):
        e = X @ w + b - Y
        losses.append(float(np.mean(e * e)))
        gradients = [2 * X.T.astype(float) @ e / len(X) * factor, 2 * e.mean(0)]
        if clip:
            gradients = [g * min(1, clip / np.linalg.norm(g)) for g in gradients]
        w, b = w - RATE * gradients[0], b - RATE * gradients[1]
    return losses, w, b


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_training_gives_the_losses_and_variables_of_gradient_descent(
    tmp_path: Path, target: str
) -> None:
    _, step = loss_and_step(summarize_gradients=True)
    losses = []

    def one(sess: Any, *arguments: Any) -> Any:
        loss, stop = slim.learning.train_step(sess, *arguments)
        losses.append(float(loss))
        return loss, stop

    last = slim.learning.train(
        step, str(tmp_path), one, number_of_steps=6, master=target, log_every_n_steps=2
    )
    losses_of_formula, w, b = expected(6)
    np.testing.assert_allclose(losses, losses_of_formula, rtol=1e-5)
    assert last == pytest.approx(losses_of_formula[-1], rel=1e-5)
    reader = tf.train.load_checkpoint(str(tmp_path))
    np.testing.assert_allclose(reader.get_tensor("fc/weights"), w, rtol=1e-5)
    np.testing.assert_allclose(reader.get_tensor("fc/biases"), b, rtol=1e-5)
    assert reader.get_tensor("global_step") == 6
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-6")
    assert (tmp_path / "graph.pbtxt").exists()
    tags = {v.tag for e in events(tmp_path) for v in e.summary.value}
    assert "summarize_grads/fc/weights_gradient_norm" in tags


def events(folder: Path) -> list[Any]:
    return [e for f in folder.glob("*tfevents*") for e in tf.train.summary_iterator(str(f))]


def test_training_goes_on_from_the_last_checkpoint(tmp_path: Path) -> None:
    for steps in (2, 5):
        with tf.Graph().as_default():
            last = slim.learning.train(
                loss_and_step()[1], str(tmp_path), number_of_steps=steps, summary_op=None
            )
    assert last == pytest.approx(expected(5)[0][-1], rel=1e-5)


def test_gradients_are_limited_and_multiplied_by_variable(tmp_path: Path) -> None:
    _, step = loss_and_step(clip=0.05, gradient_multipliers={"fc/weights": 0.5})
    slim.learning.train(step, str(tmp_path), number_of_steps=3)
    _, w, b = expected(3, clip=0.05, factor=0.5)
    np.testing.assert_allclose(slim_value(tmp_path, "fc/weights"), w, rtol=1e-5)
    np.testing.assert_allclose(slim_value(tmp_path, "fc/biases"), b, rtol=1e-5)


def slim_value(folder: Path, name: str) -> Any:
    return tf.contrib.framework.load_variable(str(folder), name)


def test_a_loop_without_a_folder_saves_nothing_and_ends_with_the_data(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    data = tf.data.Dataset.from_tensor_slices(np.float32([1, 2, 3]))
    x = data.make_one_shot_iterator().get_next()
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
    step = slim.learning.create_train_op((v - x) ** 2, tf.train.GradientDescentOptimizer(0.25))
    assert slim.learning.train(step, None) == pytest.approx((1.25 - 3) ** 2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"train_op": None}, "train_op"),
        ({"number_of_steps": 0}, "number_of_steps"),
        ({"logdir": None, "trace_every_n_steps": 2}, "trace_every_n_steps"),
        ({"is_chief": False}, "is_chief"),
        ({"sync_optimizer": object()}, "sync_optimizer"),
    ],
)
def test_an_argument_that_does_not_fit_is_named(
    tmp_path: Path, options: dict[str, Any], word: str
) -> None:
    given = {"train_op": loss_and_step()[1], "logdir": str(tmp_path), **options}
    with pytest.raises(ValueError, match=word):
        slim.learning.train(**given)


def test_a_loss_that_is_not_finite_stops_training(tmp_path: Path) -> None:
    v = tf.get_variable("v", [], initializer=tf.constant_initializer(-1.0))
    step = slim.learning.create_train_op(tf.log(v), tf.train.GradientDescentOptimizer(1.0))
    with pytest.raises(tf.errors.InvalidArgumentError, match="LossTensor is inf or nan"):
        slim.learning.train(step, str(tmp_path), number_of_steps=1)


# ---- evaluation ----


def checkpoint(folder: Path, values: list[float]) -> list[str]:
    with tf.Graph().as_default():
        v = tf.get_variable("v", [])
        tf.train.get_or_create_global_step()
        saver = tf.train.Saver()
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            found = []
            for number, value in enumerate(values):
                sess.run(v.assign(value))
                found.append(saver.save(sess, str(folder / "m"), global_step=number))
    return found


def metric() -> tuple[Any, Any]:
    v = tf.get_variable("v", [])
    tf.train.get_or_create_global_step()
    noise = tf.get_local_variable("count", [], initializer=tf.zeros_initializer())
    value, update = tf.metrics.mean(v * tf.assign_add(noise, 1.0))
    tf.summary.scalar("mean", value)
    return value, update


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_an_evaluation_runs_its_operation_and_gives_the_final_value(
    tmp_path: Path, target: str
) -> None:
    path = checkpoint(tmp_path, [2.0])[0]
    value, update = metric()
    logs = tmp_path / "logs"
    found = slim.evaluation.evaluate_once(
        target, path, str(logs), num_evals=4, eval_op=update, final_op=value
    )
    assert found == pytest.approx(2.0 * np.mean([1, 2, 3, 4]))
    shown = [v.simple_value for e in events(logs) for v in e.summary.value if v.tag == "mean_1"]
    assert shown == [pytest.approx(5.0)]


def test_an_evaluation_loop_takes_each_new_checkpoint(tmp_path: Path) -> None:
    checkpoint(tmp_path, [2.0, 3.0])
    value, update = metric()
    found = slim.evaluation.evaluation_loop(
        "", str(tmp_path), str(tmp_path / "logs"), num_evals=2, eval_op=update, final_op=value,
        eval_interval_secs=0, timeout=0,
    )  # fmt: skip
    assert found == pytest.approx(3.0 * 1.5)


def test_waiting_for_a_checkpoint_ends_after_the_timeout(tmp_path: Path) -> None:
    assert slim.evaluation.wait_for_new_checkpoint(str(tmp_path), timeout=0) is None
    path = checkpoint(tmp_path, [1.0])[0]
    assert slim.evaluation.wait_for_new_checkpoint(str(tmp_path)) == path
    assert slim.evaluation.wait_for_new_checkpoint(str(tmp_path), path, 0, timeout=0) is None


# ---- tools ----


def test_sizes_of_variables_and_tensors_are_counted(capsys: Any) -> None:
    tf.get_variable("v", [2, 3])
    tf.get_variable("w", [5], dtype=tf.float64)
    assert slim.model_analyzer.analyze_vars(tf.global_variables(), True) == (11, 64)
    assert "v:0 (float32 2x3) [6, bytes: 24]" in capsys.readouterr().out
    with tf.Graph().as_default() as other:
        tf.zeros([4, 5]) + 1.0
    assert slim.model_analyzer.analyze_ops(other) >= 20


def test_summaries_have_the_names_of_their_tensors() -> None:
    x = tf.constant([0.0, 1.0, 0.0, 2.0], name="x")
    slim.summaries.add_zero_fraction_summary(x)
    slim.summaries.add_scalar_summary(tf.constant(3.0, name="s"), prefix="p", print_summary=True)
    slim.summaries.add_histogram_summaries([x])
    with tf.Session() as sess:
        found = tf.Summary.FromString(sess.run(tf.summary.merge_all()))
    shown = {v.tag: v for v in found.value}
    assert shown["x/Fraction_of_Zero_Values"].simple_value == 0.5
    assert shown["p/s"].simple_value == 3.0
    assert shown["x_1"].histo.num == 4


def example(**features: Any) -> bytes:
    kinds = {
        bytes: lambda v: tf.train.Feature(bytes_list=tf.train.BytesList(value=v)),
        int: lambda v: tf.train.Feature(int64_list=tf.train.Int64List(value=v)),
        float: lambda v: tf.train.Feature(float_list=tf.train.FloatList(value=v)),
    }
    made = {key: kinds[type(value[0])](value) for key, value in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_a_record_is_decoded_to_its_items(target: str) -> None:
    decoders = slim.tfexample_decoder
    record = example(
        label=[3], numbers=[1.0, 2.0, 3.0, 4.0], size=[2, 2], ids=[0, 2], values=[0.25, 0.5],
        ymin=[0.1], xmin=[0.2], ymax=[0.3], xmax=[0.4],
    )  # fmt: skip
    sides = {key: tf.VarLenFeature(tf.float32) for key in ("ymin", "xmin", "ymax", "xmax")}
    decoder = decoders.TFExampleDecoder(
        {
            "label": tf.FixedLenFeature([], tf.int64),
            "numbers": tf.VarLenFeature(tf.float32),
            "size": tf.VarLenFeature(tf.int64),
            "ids": tf.VarLenFeature(tf.int64),
            "values": tf.VarLenFeature(tf.float32),
            **sides,
        },
        {
            "label": decoders.Tensor("label"),
            "matrix": decoders.Tensor("numbers", shape_keys="size"),
            "row": decoders.Tensor("numbers", shape=[1, 4]),
            "sparse": decoders.SparseTensor("ids", "values", shape=[3], densify=True),
            "boxes": decoders.BoundingBox(),
            "double": decoders.ItemHandlerCallback("label", lambda t: t["label"] * 2),
        },
    )
    items = decoder.list_items()
    assert items == ["label", "matrix", "row", "sparse", "boxes", "double"]
    with tf.Session(target) as sess:
        found = dict(zip(items, sess.run(decoder.decode(tf.constant(record))), strict=True))
    assert found["label"] == 3
    assert found["double"] == 6
    np.testing.assert_array_equal(found["matrix"], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(found["row"], [[1, 2, 3, 4]])
    np.testing.assert_array_equal(found["sparse"], np.float32([0.25, 0, 0.5]))
    np.testing.assert_array_equal(found["boxes"], np.float32([[0.1, 0.2, 0.3, 0.4]]))


def test_a_provider_gives_the_tensors_of_items() -> None:
    provider = slim.data_provider.DataProvider({"a": 1, "b": 2}, 7)
    assert provider.get(["b", "a"]) == [2, 1]
    assert provider.num_samples() == 7
    with pytest.raises(ValueError, match=r"Item \[c\] is invalid"):
        provider.get(["c"])
