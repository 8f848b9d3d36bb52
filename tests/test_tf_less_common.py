"""What fewer programs use: values in both engines, and refusals."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import engines
import numpy as np
import pytest
from gradient_check import check as check_gradient

import graphio as tf

RNG = np.random.RandomState(5)


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


@pytest.fixture(params=engines.NAMES)
def session(request: Any, graph: tf.Graph) -> Iterator[tf.Session]:
    engines.module(request.param)
    with tf.Session(request.param, graph=graph) as made:
        yield made


# ---- variables and graphs ----


def test_an_assignment_without_validation_changes_the_shape(session: tf.Session) -> None:
    v = tf.get_variable("v", [2], initializer=tf.ones_initializer)
    doubled, fed = v * 2.0, tf.placeholder(tf.float32)
    grown = tf.assign(v, fed, validate_shape=False)
    session.run(v.initializer)
    assert session.run(doubled).tolist() == [2, 2]
    assert session.run(grown, {fed: [[1, 2, 3]]}).shape == (1, 3)
    assert session.run(doubled).tolist() == [[2, 4, 6]]


def test_a_variable_says_how_it_was_made() -> None:
    v = tf.get_variable("v", [2], constraint=tf.abs, aggregation=tf.VariableAggregation.SUM)
    assert v.trainable
    assert v.constraint is tf.abs
    assert v.aggregation is tf.VariableAggregation.SUM
    assert v.synchronization is tf.VariableSynchronization.AUTO


def test_an_operation_knows_the_line_that_made_it() -> None:
    file, line, function, _ = tf.constant(1.0).op.traceback[-1]
    assert (file, function) == (
        "test_tf_less_common.py", "test_an_operation_knows_the_line_that_made_it",
    )  # fmt: skip
    assert line > 0
    assert tf.no_op("n").colocation_groups() == [b"loc:@n"]


def test_shapes_have_limits_and_things_in_common() -> None:
    shape = tf.TensorShape([2, None])
    assert shape.with_rank_at_most(2) is shape
    with pytest.raises(ValueError, match="must have rank at most 1"):
        shape.with_rank_at_most(1)
    assert shape.most_specific_compatible_shape([2, 3]).as_list() == [2, None]
    assert shape.most_specific_compatible_shape([2]).ndims is None
    assert [d.size for d in shape.as_proto().dim] == [2, -1]


# ---- a permutation that is fed ----


def test_transpose_takes_a_permutation_that_is_fed(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [2, None, 4])
    order = tf.placeholder(tf.int32, [3])
    y = tf.transpose(x, order)
    slope = tf.gradients(y * tf.square(y), x)[0]
    assert y.shape.as_list() == [None, None, None]
    value = RNG.randn(2, 3, 4).astype(np.float32)
    for perm in ([2, 0, 1], [0, 1, 2], [1, 2, 0]):
        got, steep = session.run([y, slope], {x: value, order: perm})
        np.testing.assert_array_equal(got, value.transpose(perm))
        np.testing.assert_allclose(steep, 3 * value**2, rtol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError, match="no permutation of 3 axes"):
        session.run(y, {x: value, order: [0, 0, 1]})
    with pytest.raises(ValueError, match="Dimension must be 3 but is 2"):
        tf.transpose(x, tf.placeholder(tf.int32, [2]))


# ---- starting from a checkpoint ----


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.variable_scope("old"):
            tf.get_variable("w", initializer=[[1.0, 2.0]])
            tf.get_variable("b", initializer=3.0)
        session.run(tf.global_variables_initializer())
        path: str = tf.train.Saver().save(session, str(tmp_path / "m"), global_step=7)
        return path


def test_variables_start_from_a_checkpoint(session: tf.Session, checkpoint: str) -> None:
    with tf.variable_scope("new"):
        w = tf.get_variable("w", [1, 2])
    b, own = tf.get_variable("bias", []), tf.get_variable("own", initializer=5.0)
    tf.train.init_from_checkpoint(checkpoint, {"old/": "new/", "old/b": b})
    session.run(tf.global_variables_initializer())
    assert session.run([w, b, own])[0].tolist() == [[1, 2]]
    assert session.run([b, own]) == [3, 5]


def test_what_a_checkpoint_lacks_is_no_start(checkpoint: str) -> None:
    w = tf.get_variable("w", [2])
    for wrong, words in (
        ({"old/w": w}, r"Shape of variable w:0 \(\(2,\)\) doesn't match"),
        ({"old/x": w}, "Tensor old/x is not found"),
        ({"old/b": "x"}, "Variable x is not found: get_variable made w"),
        ({"old/": "w"}, "scope/': 'other_scope/'"),
        ({"/": "/"}, "w .* is not found in the checkpoint"),
    ):
        with pytest.raises(ValueError, match=words):
            tf.train.init_from_checkpoint(checkpoint, wrong)
    with pytest.raises(tf.errors.NotFoundError):
        tf.train.init_from_checkpoint(checkpoint + "x", {"old/w": w})


def test_a_warm_start_takes_what_a_pattern_matches(session: tf.Session, checkpoint: str) -> None:
    with tf.variable_scope("old"):
        w, b = tf.get_variable("w", initializer=[[0.0, 0.0]]), tf.get_variable("b", initializer=0.0)
    tf.train.warm_start(checkpoint, ".*w")
    session.run(tf.global_variables_initializer())
    assert session.run(w).tolist() == [[1, 2]]
    assert session.run(b) == 0


def test_new_checkpoints_come_one_by_one(checkpoint: str) -> None:
    folder = str(Path(checkpoint).parent)
    assert list(tf.train.checkpoints_iterator(folder, timeout=0)) == [checkpoint]


# ---- connectionist temporal classification ----


def _collapsed(path: tuple[int, ...], blank: int) -> tuple[int, ...]:
    merged = [p for i, p in enumerate(path) if i == 0 or p != path[i - 1]]
    return tuple(p for p in merged if p != blank)


def _ctc(x: Any, label: tuple[int, ...], length: int) -> Any:
    """By all paths."""
    chances = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    classes = x.shape[1]
    paths = itertools.product(range(classes), repeat=length)
    return -np.log(
        sum(
            np.prod([chances[t, c] for t, c in enumerate(path)])
            for path in paths
            if _collapsed(path, classes - 1) == label
        )
    )


def _sparse(rows: list[tuple[int, ...]]) -> tf.SparseTensor:
    places = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    values = [v for row in rows for v in row]
    longest = max(map(len, rows))
    return tf.SparseTensor(
        np.reshape(np.array(places, np.int64), (-1, 2)), np.array(values, np.int32),
        [len(rows), longest],
    )  # fmt: skip


def test_ctc_loss_counts_all_ways_to_read_the_labels(session: tf.Session) -> None:
    rows = [(0, 1), (1, 1), (2,), (), (0, 2, 0)]
    lengths = [5, 4, 1, 3, 5]
    x = RNG.randn(5, 5, 4)
    logits = tf.constant(x)
    loss = tf.nn.ctc_loss(_sparse(rows), logits, lengths)
    expected = [_ctc(x[:, i], row, lengths[i]) for i, row in enumerate(rows)]
    np.testing.assert_allclose(session.run(loss), expected, rtol=1e-9)
    swapped = tf.nn.ctc_loss(_sparse(rows), x.transpose(1, 0, 2), lengths, time_major=False)
    np.testing.assert_allclose(session.run(swapped), expected, rtol=1e-9)


def test_ctc_loss_has_a_gradient() -> None:
    check_gradient(
        lambda x: tf.nn.ctc_loss(_sparse([(0, 1), (1, 1), ()]), x, [4, 3, 2]),
        [RNG.randn(4, 3, 3)],
        second=False,
    )


def test_ctc_loss_refuses_labels_that_do_not_fit(session: tf.Session) -> None:
    x = tf.constant(RNG.randn(3, 1, 4))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Not enough time"):
        session.run(tf.nn.ctc_loss(_sparse([(1, 1)]), x, [2]))
    ignored = tf.nn.ctc_loss(_sparse([(1, 1)]), x, [2], ignore_longer_outputs_than_inputs=True)
    assert session.run(ignored).tolist() == [0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not below the number of the blank"):
        session.run(tf.nn.ctc_loss(_sparse([(3,)]), x, [3]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="more than there are steps"):
        session.run(tf.nn.ctc_loss(_sparse([(1,)]), x, [4]))
    with pytest.raises(ValueError, match="must be rank 3 but is rank 2"):
        tf.nn.ctc_loss(_sparse([(1,)]), x[0], [3])
    with pytest.raises(TypeError, match="to be a SparseTensor"):
        tf.nn.ctc_loss([[1]], x, [3])


def test_the_greedy_decoder_reads_the_best_classes(session: tf.Session) -> None:
    best = np.array([[0, 0, 2, 0, 1], [2, 1, 1, 1, 0]])
    x = np.eye(3, dtype=np.float32)[best.T] + 1
    for merge, texts in ((True, [[0, 0, 1], [1, -1, -1]]), (False, [[0, 0, 0, 1], [1, 1, -1, -1]])):
        (found,), cost = tf.nn.ctc_greedy_decoder(x, [5, 3], merge_repeated=merge)
        assert session.run(tf.sparse_tensor_to_dense(found, -1)).tolist() == texts
        assert session.run(cost).tolist() == [[-10], [-6]]


def test_truths_are_padded_with_false(session: tf.Session) -> None:
    padded = tf.pad(tf.constant([True, True]), [[1, 1]])
    assert session.run(padded).tolist() == [False, True, True, False]
