"""Dtypes and arguments that TensorFlow's kernels take, in both engines."""

from __future__ import annotations

from typing import Any

import engines
import numpy as np
import pytest
from engines import BOTH

import graphio as tf


def run(engine: str, fetches: Any, feed: Any = None) -> Any:
    engines.module(engine)
    with tf.Session(engine) as session:
        return session.run(fetches, feed)


@BOTH
@pytest.mark.parametrize("training", [True, False])
def test_fused_batch_norm_of_halves_keeps_its_statistics_in_float32(
    engine: str, training: bool
) -> None:
    x = np.random.RandomState(0).rand(2, 3, 3, 4).astype(np.float16)
    scale = np.array([1, 2, 3, 4], np.float32)
    with tf.Graph().as_default():
        more = () if training else (tf.zeros([4]), tf.ones([4]))
        made = tf.nn.fused_batch_norm(x, scale, scale, *more, is_training=training)
        wide = tf.nn.fused_batch_norm(
            x.astype(np.float32), scale, scale, *more, is_training=training
        )
        y, mean, variance = run(engine, made)
        expected = run(engine, wide)
    assert (y.dtype, mean.dtype, variance.dtype) == (np.float16, np.float32, np.float32)
    np.testing.assert_array_equal(y, expected[0].astype(np.float16))
    np.testing.assert_array_equal([mean, variance], expected[1:])


@BOTH
def test_fused_batch_norm_mixes_its_statistics_with_those_before(engine: str) -> None:
    x = np.random.RandomState(0).rand(2, 3, 4, 2).astype(np.float32)
    before = np.float32([[1, 2], [3, 4]])
    with tf.Graph().as_default():
        fused = tf.nn.fused_batch_norm
        alone = fused(x, [1.0, 1.0], [0.0, 0.0])
        mixed = fused(x, [1.0, 1.0], [0.0, 0.0], *before, exponential_avg_factor=0.25)
        known, found = run(engine, [alone, mixed])
        with pytest.raises(ValueError, match="exponential_avg_factor is not 1"):
            fused(x, [1.0, 1.0], [0.0, 0.0], exponential_avg_factor=0.25)
    np.testing.assert_array_equal(found[0], known[0])
    np.testing.assert_allclose(found[1:], 0.25 * np.array(known[1:]) + 0.75 * before, rtol=1e-6)


def test_fused_batch_norm_has_tensorflows_attributes() -> None:
    with tf.Graph().as_default():
        for layout in ("NHWC", "NCHW", "NDHWC", "NCDHW"):
            y = tf.nn.fused_batch_norm(
                np.ones([2] * len(layout)), np.ones(2), np.ones(2), epsilon=0.5, data_format=layout
            )[0]
            assert y.op.get_attr("epsilon") == 0.5 and y.op.get_attr("is_training")
            assert y.op.get_attr("data_format") == layout.encode()


@BOTH
def test_fused_batch_norm_of_volumes_is_that_of_their_images(engine: str) -> None:
    x = np.random.RandomState(0).rand(2, 3, 2, 4, 5).astype(np.float32)
    last, scale = np.moveaxis(x, 1, -1), np.arange(1, 4, dtype=np.float32)
    with tf.Graph().as_default():
        first = tf.nn.fused_batch_norm(x, scale, scale, data_format="NCDHW")
        volumes = tf.nn.fused_batch_norm(last, scale, scale, data_format="NDHWC")
        images = tf.nn.fused_batch_norm(last.reshape(4, 4, 5, 3), scale, scale)
        found, same, expected = run(engine, [first, volumes, images])
        with pytest.raises(ValueError, match="rank 5"):
            tf.nn.fused_batch_norm(x[0], scale, scale, data_format="NDHWC")
    np.testing.assert_array_equal(same[0].reshape(4, 4, 5, 3), expected[0])
    np.testing.assert_array_equal(np.moveaxis(found[0], 1, -1), same[0])
    for one, other in zip((*found[1:], *same[1:]), expected[1:] * 2, strict=True):
        np.testing.assert_array_equal(one, other)


@BOTH
def test_moments_of_halves_are_those_of_floats_rounded_once(engine: str) -> None:
    x = (np.random.RandomState(0).rand(3, 400) + 1).astype(np.float16)
    weights = np.linspace(0, 1, 400)
    with tf.Graph().as_default():
        for moments in (
            lambda t: list(tf.nn.moments(t, [1])),
            lambda t: list(tf.nn.weighted_moments(t, [1], weights)),
        ):
            halves, floats = run(engine, [moments(x), moments(x.astype(np.float32))])
            for half, exact in zip(halves, floats, strict=True):
                assert half.dtype == np.float16
                np.testing.assert_array_equal(half, exact.astype(np.float16))


@BOTH
def test_batch_normalization_casts_what_the_statistics_give_to_its_input(engine: str) -> None:
    with tf.Graph().as_default():
        x = tf.constant([[1.0, 3.0]], tf.float16)
        one = tf.ones([2])
        y = run(engine, tf.nn.batch_normalization(x, one, one, one, one, 0.0))
    assert y.dtype == np.float16 and y.tolist() == [[1.0, 3.0]]


@BOTH
def test_transposed_convolution_of_integers(engine: str) -> None:
    with tf.Graph().as_default():
        x, w = tf.ones([1, 2, 2, 1], tf.int32), 3 * tf.ones([2, 2, 1, 1], tf.int32)
        y = run(engine, tf.nn.conv2d_transpose(x, w, [1, 2, 2, 1], [1, 1, 1, 1]))
    assert y.dtype == np.int32 and y.ravel().tolist() == [3, 6, 6, 12]


@BOTH
def test_a_stride_in_the_batch_is_an_error_of_the_run(engine: str) -> None:
    with tf.Graph().as_default():
        y = tf.nn.conv2d(tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1, 1]), [2, 1, 1, 1], "SAME")
        assert y.shape.as_list() == [1, 4, 4, 1]
        with pytest.raises(tf.errors.InvalidArgumentError, match="batch and channels must be 1"):
            run(engine, y)


@BOTH
@pytest.mark.parametrize("blank", [0, 1, -1, None])
def test_the_blank_of_greedy_decoding_is_the_class_requested(
    engine: str, blank: int | None
) -> None:
    best = [0, 1, 1, 2, 0, 2]
    with tf.Graph().as_default():
        (found,), _ = tf.nn.ctc_greedy_decoder(
            np.eye(3, dtype=np.float32)[best][:, None], [6], blank_index=blank
        )
        values = run(engine, found).values.tolist()
        with pytest.raises(ValueError, match="expected -3 to 2"):
            tf.nn.ctc_greedy_decoder(tf.ones([2, 1, 3]), [2], blank_index=3)
    assert values == [c for c in [0, 1, 2, 0, 2] if c != (2 if blank in (None, -1) else blank)]


@BOTH
def test_a_pattern_may_be_a_tensor(engine: str) -> None:
    with tf.Graph().as_default():
        pattern = tf.placeholder(tf.string, [])
        matched = tf.strings.regex_full_match(["abc", "1"], pattern)
        assert run(engine, matched, {pattern: "[a-z]+"}).tolist() == [True, False]
        assert run(engine, matched, {pattern: "[0-9]"}).tolist() == [False, True]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid pattern"):
            run(engine, matched, {pattern: "A["})


@BOTH
def test_a_matmul_takes_bfloat16_beside_float32(engine: str) -> None:
    with tf.Graph().as_default():
        a, b = tf.fill([2, 2], 3.0), tf.cast(tf.fill([2, 2], 2.0), tf.bfloat16)
        for multiplied in (tf.matmul(a, b, b_is_sparse=True), tf.matmul(a, b), tf.matmul(b, a)):
            assert multiplied.dtype == tf.float32
            assert run(engine, multiplied).tolist() == [[12.0] * 2] * 2


def test_a_rate_below_one_frame_a_second_is_written_as_one() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert b"RIFF" in session.run(tf.summary.audio("a", tf.ones([1, 3, 1]), 0.2, 3))


def test_shapes_of_the_last_axes_and_none_are_asserted() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.zeros([1, 2, 3, 4]), tf.placeholder(tf.float32)
        check = tf.debugging.assert_shapes([(x, (..., "N", 4)), (y, ("*", "N")), (x, None)])
        session.run(check, {y: np.zeros((5, 3))})
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(check, {y: np.zeros((5, 4))})
        with pytest.raises(ValueError, match="must have size 5"):
            tf.debugging.assert_shapes([(x, (..., 5, 4))])


# ---- windows ----

IMAGE = (np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4) * 5 % 7).astype(np.float32)
PAIRS = [[0, 0], [1, 0], [1, 2], [0, 0]]


@BOTH
@pytest.mark.parametrize("form", ["NHWC", "NCHW"])
def test_positions_around_an_image_never_are_the_largest(engine: str, form: str) -> None:
    wide = np.pad(IMAGE - 9, PAIRS, constant_values=-np.inf)
    order, back = ([0, 3, 1, 2], [0, 2, 3, 1]) if form == "NCHW" else (range(4), range(4))
    with tf.Graph().as_default():
        x = tf.transpose(tf.constant(IMAGE - 9), list(order))
        sizes, pairs = [[1, 2, 2, 1][i] for i in order], [PAIRS[i] for i in order]
        y = tf.transpose(tf.nn.max_pool(x, sizes, sizes, pairs, form), list(back))
        known = tf.nn.max_pool(input=wide[:, 1:], ksize=2, strides=2, padding="SAME")
        found, _, slope = run(engine, [y, known, tf.gradients(y, x)[0]])
    expected = wide[:, :2, :6].reshape(1, 1, 2, 3, 2, 4).max((2, 4))
    np.testing.assert_array_equal(found, expected)
    assert slope.sum() == np.isfinite(expected).sum()


@BOTH
def test_positions_around_a_sequence_never_are_the_largest(engine: str) -> None:
    with tf.Graph().as_default():
        y = tf.nn.max_pool1d(IMAGE[0] - 9, 2, 2, [[0, 0], [1, 0], [0, 0]])
        found = run(engine, y)
    padded = np.pad(IMAGE[0] - 9, [[0, 0], [1, 0], [0, 0]], constant_values=-np.inf)
    np.testing.assert_array_equal(found, padded.reshape(2, 2, 2, 4).max(2))


@BOTH
def test_the_largest_of_neighbouring_channels(engine: str) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2, 3, 4])
        y = tf.nn.max_pool(x, [1, 1, 1, 2], [1, 1, 1, 2], "SAME")
        assert y.shape.as_list() == [None, 2, 3, 2]
        found, slope = run(engine, [y, tf.gradients(y, x)[0]], {x: IMAGE})
    np.testing.assert_array_equal(found, IMAGE.reshape(1, 2, 3, 2, 2).max(-1))
    assert slope.sum() == found.size and (slope.reshape(-1, 2).sum(1) == 1).all()


@pytest.mark.parametrize(
    ("ksize", "strides", "words"),
    [
        ([1, 2, 2, 2], [1, 1, 1, 2], "exactly one of pooling"),
        ([1, 1, 1, 2], [1, 1, 1, 1], "equal the depth stride"),
        ([1, 1, 1, 3], [1, 1, 1, 3], "evenly divide"),
        ([2, 1, 1, 1], [1, 1, 1, 1], "batch and channels must be 1"),
    ],
)
def test_windows_of_channels_that_kernels_have_not(
    ksize: list[int], strides: list[int], words: str
) -> None:
    with tf.Graph().as_default(), pytest.raises(tf.errors.UnimplementedError, match=words):
        tf.nn.max_pool(IMAGE, ksize, strides, "SAME")


@BOTH
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_convolutions_have_batches_of_several_axes(engine: str, axes: int) -> None:
    rng = np.random.default_rng(axes)
    x = rng.normal(size=(2, 3, *[4, 3, 2][:axes], 2)).astype(np.float32)
    w = rng.normal(size=(*[2] * axes, 2, 3)).astype(np.float32)
    build = {1: tf.nn.conv1d, 2: tf.nn.conv2d, 3: tf.nn.conv3d}[axes]
    with tf.Graph().as_default():
        open_x = tf.placeholder(tf.float32, [2, None, *x.shape[2:]])
        made = [build(open_x, w, 1, "VALID"), tf.nn.convolution(open_x, w, "VALID")]
        flat = build(x.reshape(6, *x.shape[2:]), w, 1, "VALID")
        assert made[0].shape.as_list()[:2] == [2, None] and made[0].shape[-1] == 3
        one, other, expected = run(engine, [*made, flat], {open_x: x})
    np.testing.assert_array_equal(one, expected.reshape(2, 3, *expected.shape[1:]))
    np.testing.assert_array_equal(one, other)


@BOTH
def test_sizes_of_the_input_of_a_convolution_need_no_batch(engine: str) -> None:
    with tf.Graph().as_default():
        dy, w = np.ones([2, 1, 1, 2], np.float32), np.ones([2, 2, 3, 2], np.float32)
        short, whole = (
            tf.nn.conv2d_backprop_input(sizes, w, dy, 1, "VALID")
            for sizes in ([2, 2], [2, 2, 2, 3])
        )
        nothing = tf.nn.conv2d_backprop_input(
            [3, 1, 1, 2], np.ones([1, 3, 2, 3]), np.ones([3, 1, 0, 3]), [1, 1, 2, 1], "VALID"
        )
        found = run(engine, [short, whole, nothing])
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[2], np.zeros([3, 1, 1, 2]))


def test_filters_without_elements_and_paddings_below_0_are_refused() -> None:
    with tf.Graph().as_default():
        with pytest.raises(tf.errors.InvalidArgumentError, match="zero elements"):
            tf.nn.conv2d(np.ones([1, 1, 1, 1]), np.ones([1, 0, 1, 1]), 1, "SAME")
        for build in (
            lambda p: tf.nn.conv2d(IMAGE, np.ones([1, 1, 4, 1], np.float32), 1, p),
            lambda p: tf.nn.max_pool(IMAGE, 2, 2, p),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match="integers >= 0"):
                build([[0, 0], [-1, 0], [0, 0], [0, 0]])


# ---- weights of losses ----


@BOTH
@pytest.mark.parametrize(
    ("weights", "fits"),
    [
        (2.0, True), (np.ones([2, 1]), True), (np.ones([2, 3]), True), (np.ones([1, 3]), True),
        (np.ones([2]), False), (np.ones([3, 1]), False), (np.ones([1, 2, 3]), False),
    ],
)  # fmt: skip
def test_weights_that_are_fed_must_fit_the_losses(engine: str, weights: Any, fits: bool) -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    with tf.Graph().as_default():
        factor = tf.placeholder(tf.float32)
        losses = [
            tf.losses.compute_weighted_loss(values, factor),
            tf.losses.mean_pairwise_squared_error(values, np.zeros([2, 3]), factor),
        ]
        for loss in losses:
            if fits:
                run(engine, loss, {factor: weights})
                continue
            with pytest.raises(tf.errors.InvalidArgumentError, match="broadcast|Incompatible"):
                run(engine, loss, {factor: weights})


@BOTH
def test_pairs_are_weighed_by_all_weights_of_a_row(engine: str) -> None:
    labels, predictions = np.zeros([2, 3], np.float32), np.arange(6.0).reshape(2, 3) ** 2
    weights = np.array([[1, 2, 3], [0, 1, 1]], np.float32)
    expected = 0.0
    for row, factors in zip(predictions, weights, strict=True):
        present = np.count_nonzero(factors)
        pairs = 2 * (row**2).sum() / (present - 1) - 2 * row.sum() ** 2 / (present * (present - 1))
        expected += pairs * factors.sum()
    with tf.Graph().as_default():
        loss = tf.losses.mean_pairwise_squared_error(labels, predictions, weights)
        assert run(engine, loss) == pytest.approx(expected, rel=1e-5)


@BOTH
def test_one_row_of_labels_whose_rank_is_fed_serves_all_rows(engine: str) -> None:
    with tf.Graph().as_default():
        x, labels = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=x)
        logits, row = np.array([[1.0, 2, 3], [3, 1, 0]]), np.array([[0.0, 1, 0]])
        slope = tf.gradients(loss, x)[0]
        one = run(engine, [loss, slope], {x: logits, labels: row})
        two = run(engine, [loss, slope], {x: logits, labels: np.repeat(row, 2, 0)})
    for found, expected in zip(one, two, strict=True):
        np.testing.assert_array_equal(found, expected)


@BOTH
def test_fed_weights_of_classes_may_have_a_last_axis_of_size_1(engine: str) -> None:
    logits = np.array([[1.0, 2, 3], [3, 1, 0]], np.float32)
    with tf.Graph().as_default():
        weights = tf.placeholder(tf.float32)
        loss = tf.losses.sparse_softmax_cross_entropy([0, 2], logits, weights)
        flat = run(engine, loss, {weights: [2.0, 5.0]})
        assert run(engine, loss, {weights: [[2.0], [5.0]]}) == flat != 0
        assert run(engine, loss, {weights: 0.0}) == 0
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(engine, loss, {weights: [[2.0, 1.0], [5.0, 1.0]]})


@BOTH
def test_segments_of_another_number_of_rows_are_an_error_of_the_run(engine: str) -> None:
    with tf.Graph().as_default():
        for build in (tf.segment_sum, tf.segment_max, tf.segment_mean):
            total = build(tf.ones([4, 2]), [0, 1])
            with pytest.raises(tf.errors.InvalidArgumentError):
                run(engine, total)


def test_a_pool_of_sequences_by_its_format() -> None:
    with tf.Graph().as_default():
        x = tf.constant(IMAGE[0])
        found = [tf.nn.max_pool(x, 2, 1, "VALID", "NWC"), tf.nn.max_pool1d(x, 2, 1, "VALID")]
        np.testing.assert_array_equal(*run("runtime", found))


def test_more_segments_than_a_tensor_can_hold_are_refused() -> None:
    with tf.Graph().as_default():
        for build in (tf.segment_sum, tf.segment_max, tf.segment_mean):
            with pytest.raises(tf.errors.InvalidArgumentError, match="more than a tensor can hold"):
                build(np.ones([1, 10]), [2**61])


@BOTH
def test_batch_normalization_takes_integers_of_python(engine: str) -> None:
    x = np.random.RandomState(3).uniform(-2, 2, (4, 5)).astype(np.float32)
    mean, variance = x.mean(0), x.var(0)
    rows = {
        (0, 1): (x - mean) / np.sqrt(variance + 0.01),
        (2, None): (x - mean) / np.sqrt(variance + 0.01) + 2,
        (None, 3): (x - mean) / np.sqrt(variance + 0.01) * 3,
    }
    with tf.Graph().as_default(), tf.Session(engine) as sess:
        t = tf.constant(x)
        for (offset, scale), expected in rows.items():
            found = tf.nn.batch_normalization(t, mean, tf.constant(variance), offset, scale, 0.01)
            np.testing.assert_allclose(sess.run(found), expected, rtol=1e-5, atol=1e-6)
        by_zero = tf.nn.batch_normalization(t, 0, tf.constant(variance), 0, 1, 0.01)
        np.testing.assert_allclose(sess.run(by_zero), x / np.sqrt(variance + 0.01), rtol=1e-5)
