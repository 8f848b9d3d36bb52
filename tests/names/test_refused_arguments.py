"""Arguments that do not fit, of functions of several families: the error says which, and why."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import engines
import numpy as np
import pytest

import graphio as tf

NAN, INF = float("nan"), float("inf")
#: steps as tf.quantize gives them
STEPS = np.uint8([0, 255])
IMAGE = np.zeros([1, 2, 2, 1], np.uint8)
CLASSES = np.int64([[1]])
_sampler = functools.partial(tf.nn.learned_unigram_candidate_sampler, CLASSES, 1)


def _pool(ratio: Any) -> Any:
    return tf.nn.fractional_max_pool(tf.zeros([1, 4, 4, 1]), ratio)


def _gaps(**options: Any) -> Any:
    x = tf.zeros([1, 4, 4, 1])
    return tf.nn.with_space_to_batch(x, [2], "VALID", lambda x, n, p: x, **options)


def _gradient(target: Any = None, **options: Any) -> Any:
    with tf.GradientTape() as tape:
        x = tf.constant(1.0)
        tape.watch(x)
        made = {"y": [x * x, x * 3.0], None: None}[target]
    return tape.gradient(made, x, **options)


def _stopped() -> None:
    with tf.GradientTape().stop_recording():
        pass


REFUSED: tuple[tuple[type[Exception], str, Callable[[], Any]], ...] = (
    (ValueError, "rank 0 but is rank 1", lambda: tf.quantize([1.0], [0.0], [1.0], tf.quint8)),
    (ValueError, "rank 0 but is rank 1", lambda: tf.dequantize(STEPS, [0.0, 0.0], 1.0)),
    (ValueError, "0 values, expected 2", lambda: tf.quantized_concat(0, [], [], [])),
    (ValueError, "1 values, expected 2", lambda: tf.quantized_concat(0, [STEPS], [0.0], [1.0])),
    (TypeError, "values are uint8, int8",
     lambda: tf.quantized_concat(0, [STEPS, np.int8([1])], [0.0, 0.0], [1.0, 1.0])),
    (ValueError, "max_value has shape", lambda: tf.nn.quantized_relu_x(STEPS, [1.0], 0.0, 1.0)),
    (ValueError, r"ksize is \[1, 2\], expected 4",
     lambda: tf.nn.quantized_avg_pool(IMAGE, 0.0, 1.0, [1, 2], [1, 1, 1, 1], "SAME")),
    (TypeError, "expected a floating", lambda: tf.quantization.quantize_and_dequantize([1], 0, 1)),
    (ValueError, "input_min has shape", lambda: tf.quantization.quantize_and_dequantize(
        [1.0], [0.0], 1.0, range_given=True)),
    (ValueError, "expected four numbers", lambda: _pool([1.0, NAN, 1.0, 1.0])),
    (TypeError, "None, expected a list", lambda: _pool(None)),
    (ValueError, "1 elements and spatial_dims 2", lambda: _gaps(spatial_dims=[1, 2])),
    (ValueError, "range_max -1", lambda: _sampler(2, True, -1)),
    (TypeError, "Expected list for 'weights'.*3: give", lambda: tf.train.sdca_shrink_l1(3, 1, 1)),
    (TypeError, "expected a float32 variable",
     lambda: tf.train.sdca_shrink_l1([tf.constant([1.0])], 1, 1)),
    (TypeError, "Expected float for argument 'l1'", lambda: tf.train.sdca_shrink_l1([], "a", 1)),
    (TypeError, "received None", _gradient),
    (ValueError, "1 output_gradients for 2 targets",
     lambda: _gradient("y", output_gradients=[1.0])),
    (ValueError, "unconnected_gradients: 'x'", lambda: _gradient("y", unconnected_gradients="x")),
    (TypeError, "DataType string", lambda: tf.ConditionalAccumulator(tf.string)),
    (TypeError, "DataType bool", lambda: tf.SparseConditionalAccumulator(tf.bool)),
    (ValueError, "driver_name has shape",
     lambda: tf.data.experimental.SqlDataset(["sqlite", "x"], "x", "select 1", (tf.int64,))),
    (ValueError, "a share of each class in both", lambda: tf.data.Dataset.range(3).apply(
        tf.data.experimental.rejection_resample(lambda x: x, [0.5, 0.5], [0.2, 0.3, 0.5]))),
    (RuntimeError, "stop recording a tape which is not", _stopped),
    (TypeError, "DataType complex64",
     lambda: tf.contrib.layers.bucketize(np.complex64([1]), [1.0])),
    (TypeError, "DataType string", lambda: tf.contrib.layers.bucketize(["a"], [1.0])),
    (ValueError, "Invalid k=0",
     lambda: tf.metrics.average_precision_at_k(CLASSES, [[0.1, 0.2]], 0)),
    (ValueError, "month", lambda: tf.compat.forward_compatible(2019, 13, 1)),
)  # fmt: skip


@pytest.mark.parametrize("row", range(len(REFUSED)))
def test_an_argument_that_does_not_fit_is_refused_while_the_graph_is_built(row: int) -> None:
    error, words, call = REFUSED[row]
    with tf.Graph().as_default(), pytest.raises(error, match=words) as raised:
        call()
    assert "of a wrong type or value" not in str(raised.value), "an error by chance"


@engines.BOTH
def test_a_run_refuses_a_range_that_ends_before_its_start(engine: str) -> None:
    with tf.Graph().as_default(), tf.Session(engine) as session:
        made = tf.quantization.quantize_and_dequantize([1.0], 2.0, 1.0, range_given=True)
        with pytest.raises(tf.errors.InvalidArgumentError, match="input_min is above input_max"):
            session.run(made)


@engines.BOTH
def test_infinity_is_rounded_to_the_end_of_the_range(engine: str) -> None:
    x = tf.constant([NAN, 1.0, INF, -INF, 0.3])
    made = tf.quantization.quantize_and_dequantize(x, -1.0, 1.0, range_given=True)
    with tf.Session(engine) as session:
        found, slope = session.run([made, tf.gradients(made, x)[0]])
    # TensorFlow 2.21 gives these numbers
    expected = np.float32([NAN, 1.0, 1.0, -1.0078740119934082, 0.29921260476112366])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(slope, np.ones(5))


@engines.BOTH
def test_a_scalar_of_unknown_rank_is_no_string_of_codes(engine: str) -> None:
    codes = tf.placeholder(tf.int32)
    with tf.Session(engine) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="rank must be at least 1"):
            session.run(tf.strings.unicode_encode(codes, "UTF-8"), {codes: 65})


@engines.BOTH
def test_crosses_take_memory_for_values_and_not_for_rows(engine: str) -> None:
    rows = 1 << 40
    sparse = tf.SparseTensor([[5, 0], [7, 0], [7, 1]], ["a", "b", "c"], [rows, 2])
    other = tf.SparseTensor([[7, 0], [8, 0]], ["d", "e"], [rows, 1])
    with tf.Session(engine) as session:
        found = session.run(tf.sparse.cross([sparse, other]))
    assert found.values.tolist() == [b"b_X_d", b"c_X_d"]
    assert found.indices.tolist() == [[7, 0], [7, 1]]
    assert found.dense_shape.tolist() == [rows, 2]


def test_the_path_of_a_data_base_may_be_any_bytes(tmp_path: Any) -> None:
    import os
    import sqlite3

    path = os.fsencode(tmp_path) + b"/\xff?.db"
    with sqlite3.connect(path) as made:
        made.execute("create table t(a)")
        made.execute("insert into t values(3)")
    made.close()
    dataset = tf.data.experimental.SqlDataset("sqlite", path, "select a from t", (tf.int64,))
    element = tf.data.make_one_shot_iterator(dataset).get_next()
    with tf.Session() as session:
        assert session.run(element) == (3,)


@pytest.mark.parametrize("name", ["new_vocab_size", "num_oov_buckets", "old_vocab_size"])
def test_a_vocabulary_has_no_negative_size(name: str, tmp_path: Any) -> None:
    (tmp_path / "words").write_text("a\nb\n")
    words = str(tmp_path / "words")
    sizes = {"new_vocab_size": 2, "num_oov_buckets": 0, "old_vocab_size": -1, name: -2}
    info = tf.train.VocabInfo(new_vocab=words, old_vocab=words, **sizes)
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.get_variable("v", [2])
        session.run(variable.initializer)
        tf.train.Saver().save(session, str(tmp_path / "m"))
        with pytest.raises(ValueError, match=f"{name} is -2, expected"):
            tf.train.warm_start(str(tmp_path / "m"), "v", {"v": info})


@engines.BOTH
def test_nan_has_reached_every_boundary(engine: str) -> None:
    with tf.Graph().as_default(), tf.Session(engine) as session:
        found = session.run(tf.contrib.layers.bucketize([1.0, NAN, INF, -INF, 0.5], [0.0, 1.0]))
    assert found.tolist() == [2, 2, 2, 0, 1]  # TensorFlow 2.21's


@engines.BOTH
def test_the_run_may_tell_the_rank_of_a_picture(engine: str) -> None:
    with tf.Graph().as_default(), tf.Session(engine) as session:
        x = tf.placeholder(tf.float32)
        pooled = tf.nn.fractional_avg_pool(x, [1.0, 2.0, 2.0, 1.0])[0]
        assert session.run(pooled, {x: np.ones([1, 4, 4, 1])}).tolist() == [
            [[[1], [1]], [[1], [1]]]
        ]
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(pooled, {x: np.ones([4, 4])})
