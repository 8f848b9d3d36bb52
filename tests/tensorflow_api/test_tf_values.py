"""Values at the ends of what numbers can say: at 0, at infinity, of nothing, in narrow types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from value_cases import TARGETS, Table, check, gives

import graphio as tf

CASES: Table = {}
FORTIES = np.arange(4, dtype=np.float32) * 40

#: odd and even functions whose slope at 0 is easily lost, and that slope
SLOPES_AT_ZERO = {
    "sinh": (tf.sinh, 1), "asinh": (tf.asinh, 1), "tanh": (tf.tanh, 1), "atanh": (tf.atanh, 1),
    "sin": (tf.sin, 1), "asin": (tf.asin, 1), "tan": (tf.tan, 1), "atan": (tf.atan, 1),
    "erf": (tf.erf, 2 / np.sqrt(np.pi)), "expm1": (tf.math.expm1, 1), "log1p": (tf.log1p, 1),
    "softsign": (tf.nn.softsign, 1), "swish": (tf.nn.swish, 0.5), "cosh": (tf.cosh, 0),
    "softplus": (tf.nn.softplus, 0.5), "sigmoid": (tf.sigmoid, 0.25), "elu": (tf.nn.elu, 1),
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_the_slope_at_0_is_that_of_the_function(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.constant([0.0], tf.float64)
        slopes = {name: tf.gradients(f(x), x)[0] for name, (f, _) in SLOPES_AT_ZERO.items()}
        for name, found in session.run(slopes).items():
            assert found[0] == pytest.approx(SLOPES_AT_ZERO[name][1], abs=1e-12), name


@pytest.mark.parametrize("target", TARGETS)
def test_hyperbolic_functions_keep_their_digits_near_0_and_far_out(target: str) -> None:
    points = np.array([1e-6, -1e-4, 0.3, -3.0, 89.0, -89.0], np.float32)
    wide = points.astype(np.float64)
    with tf.Graph().as_default(), tf.Session(target) as session:
        found = session.run([tf.sinh(points), tf.cosh(points)])
    np.testing.assert_allclose(found, [np.sinh(wide), np.cosh(wide)], rtol=1e-6)


# ---- running logarithms of sums ----


@gives(CASES, FORTIES)
def small_terms_are_kept_beside_large_ones() -> Any:
    return tf.math.cumulative_logsumexp(FORTIES)


@gives(CASES, [-np.inf, 0, 40, 80])
def an_exclusive_running_sum_begins_with_the_logarithm_of_0() -> Any:
    return tf.math.cumulative_logsumexp(FORTIES, exclusive=True)


@gives(CASES, [-np.inf, -np.inf, 0.0, np.log(2.0)])
def running_sums_begin_with_nothing() -> Any:
    return tf.math.cumulative_logsumexp(np.array([-np.inf, -np.inf, 0, 0], np.float32))


@gives(CASES, [0.0, np.inf, np.nan])
def running_sums_of_what_is_not_finite() -> Any:
    return tf.math.cumulative_logsumexp(np.array([0, np.inf, np.nan], np.float32))


@gives(CASES, [0.0, 0.0, 3 / (1 + np.e), 3 * np.e / (1 + np.e)])
def slopes_of_running_sums_that_begin_with_nothing() -> Any:
    x = tf.constant(np.array([-np.inf, -np.inf, 0, 1], np.float32))
    return tf.gradients(tf.math.cumulative_logsumexp(x, reverse=True)[:3], x)[0]


@gives(CASES, FORTIES)
def running_sums_of_as_many_as_are_fed() -> Any:
    x = tf.placeholder(tf.float32, [None])
    return tf.math.cumulative_logsumexp(x), {x: FORTIES}


@gives(CASES, [FORTIES[:, None], FORTIES[:, None]])
def running_sums_of_what_rank_is_fed() -> Any:
    x = tf.placeholder(tf.float32)
    sums = [tf.math.cumulative_logsumexp(x, 0), tf.math.cumulative_logsumexp(x, -2)]
    return sums, {x: FORTIES[:, None]}


@gives(CASES, np.zeros([0]))
def running_sums_of_nothing() -> Any:
    return tf.math.cumulative_logsumexp(tf.zeros([0]))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(-300, 300, width=32), min_size=1, max_size=9),
    st.booleans(),
    st.sampled_from(TARGETS),
)
def test_running_logarithms_of_sums_are_those_of_each_sum(
    numbers: list[float], reverse: bool, target: str
) -> None:
    x = np.array([numbers, numbers[::-1]])
    expected = np.stack([np.logaddexp.accumulate(r[::-1] if reverse else r) for r in x])
    with tf.Graph().as_default(), tf.Session(target) as session:
        given_, some = tf.constant(x), tf.placeholder(tf.float64)
        some.set_shape([2, None])
        sums = [tf.math.cumulative_logsumexp(t, 1, reverse=reverse) for t in (given_, some)]
        found = session.run([*sums, tf.gradients(sums[0], given_)[0]], {some: x})
    for values in found[:2]:
        np.testing.assert_allclose(values, expected[:, ::-1] if reverse else expected, atol=1e-9)
    np.testing.assert_allclose(found[2].sum(), x.size)  # each sum's slopes are 1 together


# ---- weights and powers ----


@gives(CASES, np.zeros([2, 3]))
def moments_of_what_has_no_weight_are_0() -> Any:
    return tf.nn.weighted_moments(tf.ones([2, 3]), [0], tf.zeros([2, 1]))


@gives(CASES, [0.0, 0.0])
def nothing_comes_back_through_a_power_whose_result_counts_for_nothing() -> Any:
    x, y = tf.constant([6.0], tf.float16), tf.constant([6.0], tf.float16)
    return tf.concat(tf.gradients(tf.pow(x, y), [x, y], tf.constant([0.0], tf.float16)), 0)


# ---- other dtypes ----


@gives(CASES, [2, 1])
def strings_that_are_not_empty_are_counted() -> Any:
    return tf.count_nonzero(tf.constant([["", "a", "b"], ["", "", "c"]]), 1)


@gives(CASES, np.int32(5))
def the_norm_of_integers_is_cut_off() -> Any:
    return tf.math.reduce_euclidean_norm(tf.constant([3, 4, 1]))


@gives(CASES, [np.int8(0), np.int8(3)])
def the_mean_of_more_than_the_dtype_counts() -> Any:
    return [tf.reduce_mean(np.full(300, value, np.int8)) for value in (0, 3)]


@gives(CASES, np.zeros(5, np.int32))
def an_empty_list_has_no_numbers_to_count() -> Any:
    return tf.bincount([], minlength=5)


@gives(CASES, [1, 0])
def the_first_true_one_is_the_largest() -> Any:
    x = tf.constant([False, True, True])
    return [tf.argmax(x, 0), tf.argmin(x, 0)]


@gives(CASES, [-1.0, 5.0])
def integers_leak_as_floats() -> Any:
    return tf.nn.leaky_relu(tf.constant([-5, 5]))


@gives(CASES, [b"1.500000", b"1.500000", b"text"])
def small_floats_and_strings_are_printed() -> Any:
    small = [tf.as_string(tf.constant(1.5, kind)) for kind in (tf.float16, tf.bfloat16)]
    return [*small, tf.as_string("text")]


@gives(CASES, [7.5, 3.0])
def the_mean_of_unsorted_segments_of_integers_has_a_fraction() -> Any:
    return tf.math.unsorted_segment_mean(tf.constant([7, 8, 3]), [0, 0, 1], 2)


@gives(CASES, [7, 3])
def the_mean_of_sorted_segments_of_integers_is_whole() -> Any:
    return tf.math.segment_mean(tf.constant([7, 8, 3]), [0, 0, 1])


@gives(CASES, [2.0, 0.5])
def unsigned_integers_are_divided_as_doubles() -> Any:
    parts = [np.array([4, 2], kind) for kind in (np.uint32, np.uint64)]
    return [tf.constant(x)[i] / tf.constant(x)[1 - i] for i, x in enumerate(parts)]


@gives(CASES, [[b"ac", b"ad"], [b"bc", b"bd"]])
def strings_are_added_with_broadcasting() -> Any:
    return tf.constant([["a"], ["b"]]) + tf.constant([["c", "d"]])


@gives(CASES, [9, 1])
def an_integer_has_powers_that_are_fed() -> Any:
    exponent = tf.placeholder(tf.int32)
    return tf.constant([3, 2]) ** exponent, {exponent: [2, 0]}


@gives(CASES, [[True, True], [True, True]])
def a_size_of_the_noise_that_is_none_is_that_of_the_data() -> Any:
    fed = tf.placeholder(tf.float32, [None, 3])
    dropped = tf.nn.dropout(fed, 0.5, noise_shape=[None, 1])
    rows = tf.reduce_all(tf.equal(dropped, dropped[:, :1]), 1)
    known = tf.nn.dropout(tf.ones([2, 3]), 0.5, noise_shape=[None, 1])
    return [rows, tf.reduce_all(tf.equal(known, known[:, :1]), 1)], {fed: np.ones((2, 3))}


# ---- narrow integers ----


@gives(CASES, [86, 86])
def the_mean_of_bytes_is_that_of_a_sum_that_bytes_cannot_hold() -> Any:
    fed = tf.placeholder(tf.uint8)
    return tf.stack([tf.reduce_mean(np.array([0, 3, 255], np.uint8)), tf.reduce_mean(fed)]), {
        fed: [0, 3, 255]
    }


@gives(CASES, 2**31 - 1)
def the_mean_of_large_integers_is_one_of_them() -> Any:
    return tf.reduce_mean(np.full(3, 2**31 - 1, np.int32))


@gives(CASES, [[28, -28, 5, -(2**31)], [1, -2, 5, 0]])
def integers_are_shifted_by_0_to_their_width_less_1() -> Any:
    x, positions = tf.constant([7, -7, 5, 1]), tf.constant([2, 2, -3, 99])
    return tf.stack([tf.bitwise.left_shift(x, positions), tf.bitwise.right_shift(x, positions)])


@gives(CASES, [[0, 2, 9], [0, 2, 6]])
def rectifiers_take_integers() -> Any:
    x = tf.constant([-1, 2, 9])
    return tf.stack([tf.nn.relu(x), tf.nn.relu6(x)])


@gives(CASES, 3)
def shuffling_a_scalar_keeps_it() -> Any:
    return tf.random_shuffle(3)


# ---- slopes and limits beyond the usual domain ----


@gives(CASES, [np.nan, np.nan, np.inf, 1 / np.sqrt(3)])
def the_slope_of_acosh_is_nan_where_acosh_is() -> Any:
    x = tf.constant([-2.0, 0.5, 1.0, 2.0])
    return tf.gradients(tf.acosh(x), x)[0]


@gives(CASES, [np.nan, np.nan, np.inf, np.nan])
def digamma_has_poles_and_grows_without_end() -> Any:
    return tf.digamma([0.0, -1.0, np.inf, -np.inf])


@gives(CASES, [[0, 3, 0], [5, -2, 0]])
def the_slopes_of_multiply_no_nan_are_the_other_operands() -> Any:
    x, y = tf.constant([5.0, -2.0, np.inf]), tf.constant([0.0, 3.0, 0.0])
    return tf.stack(tf.gradients(tf.math.multiply_no_nan(x, y), [x, y]))


def test_division_cut_towards_0_has_no_gradient() -> None:
    x, y = tf.constant([7.0]), tf.constant([-2.0])
    assert tf.gradients(tf.truncatediv(x, y), [x, y]) == [None, None]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("exponent", [[2, -1], [-2, 0]])
def test_an_integer_has_no_negative_powers(target: str, exponent: list[int]) -> None:
    fed = tf.placeholder(tf.int32)
    with tf.Session(target) as session:
        for made, feed in ((exponent, {}), (fed, {fed: exponent})):
            with pytest.raises(tf.errors.InvalidArgumentError, match="negative integer powers"):
                session.run(tf.pow(tf.constant([1, 3]), made), feed)


@pytest.mark.parametrize("ids", [[[0], [1]], 0])
def test_numbers_of_sorted_segments_are_a_vector(ids: Any) -> None:
    for segments in (tf.math.segment_sum, tf.math.segment_mean, tf.math.segment_max):
        with pytest.raises(ValueError, match="Shape must be rank 1"):
            segments(tf.constant([1.0, 2.0]), ids)


def test_numbers_of_segments_fit_the_data() -> None:
    for segments in (tf.math.unsorted_segment_sum, tf.math.unsorted_segment_max):
        with pytest.raises(ValueError, match="at least rank 2"):
            segments(tf.constant([1.0, 2.0]), [[0], [1]], 2)
        with pytest.raises(ValueError, match="Dimensions must be equal"):
            segments(tf.constant([1.0, 2.0]), [0, 1, 1], 2)


def test_roots_of_counts_and_means_of_chosen_rows_want_floats() -> None:
    whole = tf.constant([7, 8, 3])
    with pytest.raises(TypeError, match="expected a floating dtype"):
        tf.math.unsorted_segment_sqrt_n(whole, [0, 0, 1], 2)
    with pytest.raises(TypeError, match="expected a floating dtype"):
        tf.sparse.segment_mean(whole, [0, 1], [0, 0])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_the_value_is_tensorflow_s(name: str, target: str) -> None:
    check(CASES, name, target)
