"""tf.contrib.learn's ModelFnOps, inputs for serving and heads: bad input. Values of models and
heads are compared with TensorFlow's in test_contrib_scenes.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphio as tf

learn = tf.contrib.learn
ROWS = {"logits": np.zeros([3, 1], np.float32)}


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as made:
        yield made


def test_the_loss_of_a_model_becomes_a_scalar() -> None:
    loss, step = tf.constant([[2.0]]), tf.constant(1)
    found = learn.ModelFnOps("train", {"a": [1.0]}, loss, step)
    assert found.loss.shape == [] and found.train_op is step.op
    assert found.predictions["a"].dtype == tf.float32
    assert found.eval_metric_ops == {} and found.training_hooks == [] and found.mode == "train"
    assert found._fields[:3] == ("predictions", "loss", "train_op")
    with tf.Session() as session:
        assert session.run(found.loss) == 2.0


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"mode": "test"}, ValueError, "Invalid mode"),
        ({"mode": "train", "loss": 1.0}, ValueError, "Missing train_op"),
        ({"mode": "eval", "predictions": 1.0}, ValueError, "Missing loss"),
        ({"mode": "infer"}, ValueError, "Missing predictions"),
        ({"mode": "infer", "predictions": 1.0, "loss": [1.0, 2.0]}, ValueError, "must be scalar"),
        ({"mode": "infer", "predictions": 1.0, "eval_metric_ops": []}, ValueError, "be a dict"),
        ({"mode": "infer", "predictions": 1.0, "training_hooks": [3]}, TypeError, "SessionRunHook"),
    ],
)
def test_models_without_their_tensors_are_refused(
    given: dict[str, Any], error: type[Exception], text: str
) -> None:
    if given.get("eval_metric_ops") == []:
        given = {**given, "eval_metric_ops": [1]}
    with pytest.raises(error, match=text):
        learn.ModelFnOps(**given)


def test_examples_are_parsed_for_serving() -> None:
    make = learn.utils.build_parsing_serving_input_fn({"x": tf.FixedLenFeature([], tf.int64)}, 2)
    assert learn.build_parsing_serving_input_fn is learn.utils.build_parsing_serving_input_fn
    found = make()
    placeholder = found.default_inputs["examples"]
    assert placeholder.op.name == "input_example_tensor" and placeholder.shape == [2]
    feature = [tf.train.Feature(int64_list=tf.train.Int64List(value=[n])) for n in (4, 7)]
    rows = [tf.train.Example(features=tf.train.Features(feature={"x": f})) for f in feature]
    with tf.Session() as session:
        fed = {placeholder: [row.SerializeToString() for row in rows]}
        assert session.run(found.features["x"], fed).tolist() == [4, 7]
    assert found.labels is None and isinstance(found, learn.InputFnOps)


def test_features_are_fed_for_serving(graph: Any) -> None:
    given = {"x": tf.zeros([5, 3], name="first"), "y": tf.zeros([5], tf.int32, name="second")}
    with tf.Graph().as_default():
        found = learn.utils.build_default_serving_input_fn(given)()
    assert found.features is found.default_inputs and found.labels is None
    x, y = found.features["x"], found.features["y"]
    assert (x.op.name, x.shape.as_list(), x.dtype) == ("first", [None, 3], tf.float32)
    assert (y.op.name, y.shape.as_list(), y.dtype) == ("second", [None], tf.int32)


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("multi_class_head", {"n_classes": 1}, "n_classes must be > 1"),
        ("multi_class_head", {"n_classes": 2, "metric_class_ids": [0]}, "metric_class_ids"),
        ("multi_class_head", {"n_classes": 2, "label_keys": ["a", "b"]}, "label_keys"),
        ("multi_class_head", {"n_classes": 3, "label_keys": ["a", "b"]}, "Length of label_keys"),
        ("multi_class_head", {"n_classes": 3, "metric_class_ids": [3]}, "Class ID 3 not in"),
        ("multi_class_head", {"n_classes": 3, "loss_fn": lambda labels: 0}, "Argument logits"),
        ("multi_label_head", {"n_classes": 1}, "n_classes must be > 1"),
        ("multi_label_head", {"n_classes": 3, "metric_class_ids": [-1]}, "Class ID -1"),
        ("regression_head", {"label_dimension": 0}, "Invalid logits_dimension"),
    ],
)
def test_heads_of_no_classes_are_refused(name: str, given: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        getattr(learn, name)(**given)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"mode": "test", **ROWS}, "unrecognized"),
        ({"mode": "eval"}, "Neither logits nor logits_input"),
        ({"mode": "eval", **ROWS, "logits_input": np.zeros([3, 4])}, "Both logits"),
        ({"mode": "eval", "logits": np.zeros([3, 2], np.float32)}, "not compatible|incompatible"),
        ({"mode": "train", **ROWS}, "train_op_fn can not be None"),
        ({"mode": "eval", **ROWS, "features": {}}, "Weights w missing"),
    ],
)
def test_heads_without_their_tensors_are_refused(given: dict[str, Any], text: str) -> None:
    head = learn.regression_head(weight_column_name="w")
    arguments = {"features": {"w": tf.ones([3])}, "labels": tf.zeros([3]), **given}
    with pytest.raises(ValueError, match=text):
        head.create_model_fn_ops(**arguments)


def test_labels_that_a_head_has_no_use_for_are_refused() -> None:
    sparse = tf.SparseTensor([[0, 1]], tf.constant([1], tf.int64), [3, 3])
    scores = tf.zeros([3, 3])
    head = learn.multi_class_head(3)
    with pytest.raises(ValueError, match="SparseTensor is not supported"):
        head.create_model_fn_ops({}, "eval", sparse, logits=scores)
    with pytest.raises(ValueError, match="integer"):
        head.create_model_fn_ops({}, "eval", tf.zeros([3]), logits=scores)
    weighted = learn.multi_class_head(3, weight_column_name="w")
    with pytest.raises(ValueError, match="can not be broadcast"):
        weighted.create_model_fn_ops({"w": tf.ones([3])}, "eval", tf.zeros([3], tf.int32),
                                     logits=scores)  # fmt: skip


def test_sparse_labels_are_classes_that_are_there() -> None:
    labels = tf.SparseTensor([[0, 0], [2, 0]], tf.constant([1, 2], tf.int64), [3, 1])
    scores = tf.constant(np.linspace(-1, 1, 9, dtype=np.float32).reshape(3, 3))
    found = learn.multi_label_head(3).create_model_fn_ops({}, "eval", labels, logits=scores)
    x, y = np.linspace(-1, 1, 9).reshape(3, 3), np.array([[0, 1, 0], [0, 0, 0], [0, 0, 1]])
    with tf.Session() as session:
        expected = (np.log1p(np.exp(x)) - y * x).mean()
        np.testing.assert_allclose(session.run(found.loss), expected, rtol=1e-6)


def test_several_heads_need_names_and_weights_each() -> None:
    named, nameless = learn.regression_head(head_name="a"), learn.regression_head()
    with pytest.raises(ValueError, match="must have names"):
        learn.multi_head([named, nameless])
    with pytest.raises(ValueError, match="same size"):
        learn.multi_head([named], [1.0, 2.0])
    with pytest.raises(ValueError, match="unrecognized"):
        learn.multi_head([named]).create_model_fn_ops({}, "test", **ROWS)
    with pytest.raises(ValueError, match="train_op_fn"):
        learn.multi_head([named]).create_model_fn_ops({}, "train", tf.zeros([3]), **ROWS)


def test_networks_of_other_cells_are_refused() -> None:
    made = learn.models.get_rnn_model(
        3, "other", 1, lambda x: [x], False, lambda x, y: x, None, None, None, None, None
    )
    with pytest.raises(ValueError, match="cell_type other"):
        made(tf.zeros([2, 3]), None)
    cell = tf.contrib.rnn.GRUCell(2)
    for cells, inputs, error in (
        ((3, cell), [tf.zeros([2, 3])], TypeError),
        ((cell, 3), [tf.zeros([2, 3])], TypeError),
        ((cell, cell), tf.zeros([2, 3]), TypeError),
        ((cell, cell), [], ValueError),
    ):
        with pytest.raises(error):
            learn.models.bidirectional_rnn(*cells, inputs, dtype=tf.float32)


def test_an_operation_that_does_nothing_trains_nothing() -> None:
    assert learn.no_op_train_fn(tf.constant(1.0)).type in ("NoOp", "Group")
    assert issubclass(learn.NotFittedError, ValueError)
    assert issubclass(learn.NotFittedError, AttributeError)


def test_every_head_is_a_head() -> None:
    learn = tf.contrib.learn
    for head, size in ((learn.multi_class_head(3), 3), (learn.regression_head(), 1)):
        assert isinstance(head, learn.Head) and head.logits_dimension == size
    with pytest.raises(TypeError, match="abstract"):
        learn.Head()


def test_a_decoder_trains_on_its_inputs_and_samples_from_its_outputs() -> None:
    def cell(x: Any, state: Any) -> Any:
        return x + 10.0 * state, state + 1.0

    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.constant([[1.0]]), tf.constant([[2.0]]), tf.constant([[3.0]])]
        found = tf.contrib.learn.ops.rnn_decoder(inputs, tf.constant([[1.0]]), cell)
        outputs, states, sampled, sampled_states = session.run(found)
    assert np.ravel(outputs).tolist() == [11.0, 22.0, 33.0]
    # as in TensorFlow 1.15, the second sample begins with the first state once more
    assert np.ravel(sampled).tolist() == [11.0, 21.0, 41.0]
    assert np.ravel(states).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert np.ravel(sampled_states).tolist() == [1.0, 1.0, 2.0, 3.0]
