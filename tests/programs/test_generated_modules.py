"""tensorflow.python's modules of single operations (gen_nn_ops, training_ops), whose functions take
arguments by position; modules that other modules import; and the writer of event files."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphio.python.framework import ops
from graphio.python.ops import gen_array_ops, gen_math_ops, gen_nn_ops
from graphio.python.training import training_ops

import graphio as tf
from graphio.python import pywrap_tensorflow, tables
from graphio.tensorflow_files import raw_ops

TARGETS = pytest.mark.parametrize("target", ["", "cinfer"], ids=["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as made:
        yield made


# arguments as in TensorFlow 1.15.5's generated modules
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("relu_grad", "gradients features"),
        ("conv2d", "input filter strides padding use_cudnn_on_gpu explicit_paddings data_format "
         "dilations"),
        ("max_pool_grad", "orig_input orig_output grad ksize strides padding data_format"),
        ("conv2d_backprop_input", "input_sizes filter out_backprop strides padding "
         "use_cudnn_on_gpu explicit_paddings data_format dilations"),
        ("l2_loss", "t"),
        ("lrn_grad", "input_grads input_image output_image depth_radius bias alpha beta"),
        ("apply_rms_prop", "var ms mom lr rho momentum epsilon grad use_locking"),
        ("fused_batch_norm_v2", "x scale offset mean variance epsilon data_format is_training"),
    ],
)  # fmt: skip
def test_a_generated_function_has_tensorflows_name_and_arguments(
    name: str, parameters: str
) -> None:
    op_type = raw_ops._by_generated_name()[name]
    assert raw_ops._parameters(raw_ops.definitions()[op_type]) == parameters.split()


@TARGETS
def test_the_gradient_of_a_guided_relu_is_written_with_relu_grad(target: str) -> None:
    name = f"GuidedReluOf{target}"

    @ops.RegisterGradient(name)
    def guided(op: Any, grad: Any) -> Any:
        passed = gen_nn_ops._relu_grad(grad, op.outputs[0])
        return tf.where(grad > 0.0, passed, tf.zeros(tf.shape(grad)))

    x = tf.constant([1.0, -1.0, 2.0])
    with tf.get_default_graph().gradient_override_map({"Relu": name}):
        y = tf.nn.relu(x)
    dx = tf.gradients(y, x, grad_ys=[tf.constant([3.0, 4.0, -5.0])])[0]
    with tf.Session(target) as sess:
        assert sess.run(dx).tolist() == [3.0, 0.0, 0.0]


@TARGETS
def test_a_generated_function_takes_positions_and_keywords(target: str) -> None:
    x = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1) % 7
    y = tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    ones = tf.ones([1, 2, 2, 1])
    grad = gen_nn_ops.max_pool_grad(x, y, ones, [1, 2, 2, 1], [1, 2, 2, 1], padding="VALID")
    sums = gen_math_ops.mat_mul([[1.0, 2.0]], [[3.0, 4.0]], False, True, "rows")
    with tf.Session(target) as sess:
        values, total = sess.run([grad, sums])
    # of TensorFlow 2.21
    assert values.ravel().tolist() == [0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0]
    assert total.tolist() == [[11.0]] and sums.op.name == "rows"


def test_wrong_arguments_of_a_generated_function_are_refused() -> None:
    with pytest.raises(TypeError, match="ReluGrad got multiple values for argument 'features'"):
        gen_nn_ops.relu_grad([1.0], [1.0], features=[1.0])
    with pytest.raises(TypeError, match="ReluGrad takes 3 arguments, 4 are given"):
        gen_nn_ops.relu_grad([1.0], [1.0], "x", 3)
    with pytest.raises(TypeError, match="only takes keyword args"):
        tf.raw_ops.ReluGrad([1.0], [1.0])
    with pytest.raises(AttributeError, match="gen_array_ops.no_such_op is not part of graphio"):
        _ = gen_array_ops.no_such_op


@TARGETS
def test_a_variable_is_trained_by_the_operation_of_an_optimizer(target: str) -> None:
    var, ms, mom = (tf.Variable([value, value]) for value in (1.0, 4.0, 0.5))
    step = training_ops.apply_rms_prop(
        var, ms, mom, 0.1, 0.9, 0.5, 1e-3, tf.constant([2.0, -1.0]), use_locking=False
    )
    with tf.Session(target) as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(step.op)
        found = sess.run([var, ms, mom])
    grad = np.array([2.0, -1.0])
    squares = 0.9 * 4.0 + 0.1 * grad**2
    momentum = 0.5 * 0.5 + 0.1 * grad / np.sqrt(squares + 1e-3)
    np.testing.assert_allclose(found, [1.0 - momentum, squares, momentum], rtol=1e-6)


@pytest.mark.parametrize("module", sorted(tables.GENERATED))
def test_every_generated_module_is_imported(module: str) -> None:
    assert importlib.import_module(f"graphio.{module}").__name__.endswith(module)


def test_a_module_has_the_modules_that_it_imports() -> None:
    from graphio.python.ops.rnn import array_ops, rnn_cell_impl
    from graphio.python.training.optimizer import ops as framework_ops

    assert rnn_cell_impl.GRUCell is tf.nn.rnn_cell.GRUCell
    assert array_ops.concat is tf.concat and framework_ops is ops
    with pytest.raises(ImportError, match="no_such_module"):
        from graphio.python.ops.rnn import no_such_module  # noqa: F401


def test_events_are_written_to_one_file_and_read_again(tmp_path: Path) -> None:
    writer = pywrap_tensorflow.EventsWriter(str(tmp_path / "events").encode())
    writer.InitWithSuffix(".end")
    assert list(tmp_path.iterdir()) == []
    for step in range(2):
        value = tf.Summary.Value(tag="loss", simple_value=0.5 * step)
        writer.WriteEvent(tf.Event(step=step, wall_time=1.0, summary=tf.Summary(value=[value])))
    assert writer.Flush()
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("events.out.tfevents.") and path.name.endswith(".end")
    assert writer.FileName() == bytes(path)
    first, *events = tf.train.summary_iterator(str(path))
    assert first.file_version == "brain.Event:2"
    assert [(e.step, e.summary.value[0].simple_value) for e in events] == [(0, 0.0), (1, 0.5)]
    assert writer.Close() and writer.Close()
