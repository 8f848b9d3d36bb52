"""Random numbers: which seeds repeat what, and what is drawn; in both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


def drawn(target: str, build: Callable[[], Any], runs: int = 1, seed: int | None = None) -> Any:
    """The values that a new graph's new session draws in some runs."""
    with tf.Graph().as_default():
        if seed is not None:
            tf.set_random_seed(seed)
        made = build()
        with tf.Session(target) as session:
            return [session.run(made) for _ in range(runs)]


def two(seed: int | None = None) -> Callable[[], Any]:
    return lambda: [tf.random_normal([3], seed=seed), tf.random_normal([3], seed=seed)]


@TARGETS
def test_a_graph_seed_repeats_the_stream_of_a_session(target: str) -> None:
    found = drawn(target, two(), 2, seed=7)
    np.testing.assert_array_equal(found, drawn(target, two(), 2, seed=7))
    assert np.any(found[0][0] != found[0][1])  # operations differ
    assert np.any(found[0][0] != found[1][0])  # runs differ
    assert np.any(np.asarray(found) != drawn(target, two(), 2, seed=8))


@TARGETS
def test_an_operations_seed_alone_stands_beside_the_graph_seed_87654321(target: str) -> None:
    alone = drawn(target, lambda: tf.random_normal([3], seed=5), 2)
    np.testing.assert_array_equal(alone, drawn(target, lambda: tf.random_normal([3], seed=5), 2))
    both = drawn(target, lambda: tf.random_normal([3], seed=5), 2, seed=87654321)
    np.testing.assert_array_equal(alone, both)


@TARGETS
def test_with_both_seeds_the_position_does_not_matter(target: str) -> None:
    ((first, second),) = drawn(target, two(5), seed=1)
    np.testing.assert_array_equal(first, second)
    later = drawn(target, lambda: (tf.random_uniform([2]), tf.random_normal([3], seed=5))[1], 1, 1)
    np.testing.assert_array_equal(first, later[0])


@TARGETS
def test_without_seeds_every_session_draws_anew(target: str) -> None:
    build = lambda: tf.random_normal([3])  # noqa: E731
    assert np.any(drawn(target, build)[0] != drawn(target, build)[0])


@pytest.mark.parametrize("seed", ["a", 1.5, [1]], ids=str)
def test_a_seed_is_an_integer(seed: Any) -> None:
    words = r"seed is .*, expected an integer or None"
    for build in (
        lambda: tf.random_normal([2], seed=seed), lambda: tf.set_random_seed(seed),
        lambda: tf.nn.dropout(tf.ones([2]), 0.5, seed=seed),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=words):
            build()


@TARGETS
def test_a_seed_of_numpys_is_a_seed(target: str) -> None:
    one, two = (
        drawn(target, lambda s=s: tf.random_normal([3], seed=s), seed=s) for s in (5, np.int64(5))
    )
    np.testing.assert_array_equal(one, two)


def test_the_seeds_that_the_next_operation_gets() -> None:
    with tf.Graph().as_default():
        assert tf.get_seed(None) == (None, None) and tf.get_seed(3) == (87654321, 3)
        tf.random.set_random_seed(5)
        assert tf.get_seed(3) == (5, 3) and tf.get_seed(None)[0] == 5


@TARGETS
def test_the_short_names_draw_alike(target: str) -> None:
    pairs = [
        (lambda: tf.random.normal([4], seed=1), lambda: tf.random_normal([4], seed=1)),
        (lambda: tf.random.uniform([4], seed=1), lambda: tf.random_uniform([4], seed=1)),
        (lambda: tf.random.shuffle(tf.range(9), 1), lambda: tf.random_shuffle(tf.range(9), 1)),
        (
            lambda: tf.random.categorical([[0.0, 1.0]], 5, seed=1),
            lambda: tf.multinomial([[0.0, 1.0]], 5, seed=1),
        ),
    ]
    for short, long in pairs:
        np.testing.assert_array_equal(drawn(target, short), drawn(target, long))


@TARGETS
@pytest.mark.parametrize("seed", [-5, np.int64(7), 1 << 63, -(1 << 70)])
def test_any_integer_is_a_seed(target: str, seed: Any) -> None:
    def seeded() -> tf.Tensor:
        tf.set_random_seed(seed)
        return tf.random_uniform([4])

    np.testing.assert_array_equal(drawn(target, seeded), drawn(target, seeded))


HALVES = pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16], ids=["float16", "bfloat16"])
#: draws of half types, their means and deviations
OF_HALVES: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    "random_normal": (lambda t: tf.random_normal([4000], 3.0, 2.0, t, seed=1), 3.0, 2.0),
    "truncated_normal": (lambda t: tf.truncated_normal([4000], dtype=t, seed=1), 0.0, 0.88),
    "random_uniform": (
        lambda t: tf.random_uniform([4000], -1, 3, t, seed=1),
        1.0,
        16**0.5 / 12**0.5,
    ),
    "random_gamma": (lambda t: tf.random_gamma([4000], 4.0, 2.0, t, seed=1), 2.0, 1.0),
    "random_poisson": (lambda t: tf.random_poisson(4.0, [4000], t, seed=1), 4.0, 2.0),
    "stateless_uniform": (
        lambda t: tf.random.stateless_uniform([4000], [1, 2], dtype=t),
        0.5,
        0.29,
    ),
    "stateless_normal": (lambda t: tf.random.stateless_normal([4000], [1, 2], dtype=t), 0.0, 1.0),
    "stateless_truncated_normal": (
        lambda t: tf.random.stateless_truncated_normal([4000], [1, 2], dtype=t),
        0.0,
        0.88,
    ),
    "dropout": (lambda t: tf.nn.dropout(tf.ones([4000], t), 0.5, seed=1), 1.0, 1.0),
    "glorot_normal": (lambda t: tf.glorot_normal_initializer(1)([40, 100], t), 0.0, 70**-0.5),
}


@TARGETS
@HALVES
@pytest.mark.parametrize("case", OF_HALVES)
def test_half_types_are_drawn_too(target: str, dtype: Any, case: str) -> None:
    build, mean, deviation = OF_HALVES[case]
    (found,) = drawn(target, lambda: build(dtype))
    assert found.dtype == dtype.as_numpy_dtype
    wide = found.astype(np.float64)
    assert abs(wide.mean() - mean) < 0.1 * deviation
    assert abs(wide.std() - deviation) < 0.1 * deviation


@TARGETS
@HALVES
def test_no_uniform_number_of_a_half_type_is_1(target: str, dtype: Any) -> None:
    def build() -> list[tf.Tensor]:
        x = tf.ones([1 << 15], dtype)
        keep = tf.placeholder_with_default(tf.constant(1.0, dtype), [])
        stateless = tf.random.stateless_uniform([1 << 15], [3, 4], dtype=dtype)
        return [tf.random_uniform([1 << 15], dtype=dtype), stateless, tf.nn.dropout(x, keep)]

    (found,) = drawn(target, build, seed=3)
    for uniform in found[:2]:
        assert uniform.min() >= 0 and uniform.max() < 1
    assert np.all(found[2] == 1)  # all are kept, and none twice


@TARGETS
@HALVES
def test_classes_of_half_logits_are_drawn_by_their_probability(target: str, dtype: Any) -> None:
    logits = np.log(np.array([[0.125, 0.125, 0.25, 0.5]])).tolist()

    def build() -> list[tf.Tensor]:
        x = tf.constant(logits, dtype)
        stateless = tf.random.stateless_multinomial(x, 8000, [1, 2])
        return [tf.multinomial(x, 8000, seed=1), stateless]

    for classes in drawn(target, build)[0]:
        shares = np.bincount(classes[0]) / 8000
        np.testing.assert_allclose(shares, [0.125, 0.125, 0.25, 0.5], atol=0.02)


@TARGETS
@HALVES
def test_layers_of_half_types_have_first_values(target: str, dtype: Any) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        weights = tf.get_variable("w", [4, 4], dtype)
        y = tf.layers.dense(tf.layers.dropout(tf.ones([2, 4], dtype), training=True), 3)
        session.run(tf.global_variables_initializer())
        assert np.any(session.run(weights)) and session.run(y).dtype == dtype.as_numpy_dtype


@pytest.mark.parametrize("function", [tf.random_normal, tf.random_uniform, tf.truncated_normal])
def test_no_other_type_is_drawn(function: Callable[..., Any]) -> None:
    words = "expected float16, bfloat16, float32 or float64"
    with tf.Graph().as_default(), pytest.raises(TypeError, match=words):
        function([2], dtype=tf.int8)


@TARGETS
def test_an_orthogonal_initializer_follows_the_rules_of_seeds(target: str) -> None:
    def build() -> tf.Tensor:
        return tf.orthogonal_initializer()([5, 3])

    found = drawn(target, build, 2, seed=7)
    np.testing.assert_array_equal(found, drawn(target, build, 2, seed=7))
    assert np.any(found[0] != found[1])  # runs differ
    assert np.any(found[0] != drawn(target, build, seed=8)[0])
    assert np.any(drawn(target, build)[0] != drawn(target, build)[0])
    seeded = lambda: tf.orthogonal_initializer(seed=5)([5, 3])  # noqa: E731
    np.testing.assert_array_equal(drawn(target, seeded), drawn(target, seeded))


@TARGETS
def test_a_variable_that_begins_orthogonal_is_drawn_again(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        v = tf.get_variable("v", [3, 3], initializer=tf.orthogonal_initializer())
        first, second = [(session.run(v.initializer), session.run(v))[1] for _ in range(2)]
        assert np.any(first != second)


@TARGETS
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (70, 40), (3, 2, 5, 8), (1, 3), (0, 2)])
def test_orthogonal_values_have_orthonormal_rows_or_columns(
    target: str, dtype: str, shape: tuple[int, ...]
) -> None:
    (found,) = drawn(target, lambda: tf.orthogonal_initializer(2.0, seed=1)(shape, dtype))
    assert found.shape == shape and found.dtype == tf.as_dtype(dtype).as_numpy_dtype
    q = found.astype(np.float64).reshape(-1, shape[-1]) / 2
    square = q.T @ q if q.shape[0] >= q.shape[1] else q @ q.T
    atol = {"float32": 1e-6, "float64": 1e-14, "float16": 2e-3, "bfloat16": 2e-2}[dtype]
    np.testing.assert_allclose(square, np.eye(len(square)), atol=atol)


def test_every_orthogonal_matrix_is_alike_probable() -> None:
    """Signs and positions of the entries do not distinguish them: mean 0, variance 1 / n."""

    def build() -> tf.Tensor:
        return tf.map_fn(
            lambda _: tf.orthogonal_initializer()([3, 3]), tf.zeros([2000]), dtype=tf.float32
        )

    (found,) = drawn("", build, seed=4)
    np.testing.assert_allclose(found.mean(0), np.zeros([3, 3]), atol=0.05)
    np.testing.assert_allclose(found.var(0), np.full([3, 3], 1 / 3), atol=0.03)
    np.testing.assert_allclose(np.linalg.det(found).mean(), 0, atol=0.07)


@TARGETS
def test_what_arrives_within_infinite_time_is_infinite(target: str) -> None:

    with tf.Graph().as_default(), tf.Session(target) as session:
        means = tf.constant([np.inf, 3.0])
        floats = tf.random_poisson(means, [50], tf.float64, seed=1)
        whole = tf.random_poisson(means, [50], tf.int64, seed=1)
        found, integers = session.run([floats, whole])
    assert np.isinf(found[:, 0]).all() and (integers[:, 0] == 0).all()
    assert 1 < found[:, 1].mean() < 5


@TARGETS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gamma_numbers_follow_their_parameters_at_the_same_share(target: str, dtype: Any) -> None:
    special = pytest.importorskip("scipy.special")
    form = np.logspace(-2, 3, 12).astype(dtype)[:, None]
    rate = np.array([0.5, 4.0], dtype)
    with tf.Graph().as_default(), tf.Session(target) as session:
        a, b = tf.constant(form), tf.constant(rate)
        drawn = tf.random_gamma([3], a, b, seed=3)
        slopes = [tf.gradients(drawn[0, :, i], [a, b]) for i in range(2)]
        values, found = session.run([drawn, slopes])
    for i, (by_form, by_rate) in enumerate(found):
        column, wide = values[0, :, i].astype(np.float64), form[:, 0].astype(np.float64)
        share, step = special.gammainc(wide, column * rate[i]), 1e-4 * wide
        ends = [special.gammaincinv(wide + s * step, share) / rate[i] for s in (1, -1)]
        expected = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(by_form[:, 0], expected, rtol=2e-4, atol=1e-6)
        np.testing.assert_allclose(by_rate[i], -column.sum() / rate[i], rtol=1e-4)
        assert by_rate[1 - i] == 0


def test_gradients_of_gamma_numbers_have_the_shapes_of_their_parameters() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        shape, a, b = tf.placeholder(tf.int32), *(tf.placeholder(tf.float32) for _ in range(2))
        slopes = tf.gradients(tf.random_gamma(shape, a, b), [a, b])
        found = session.run(slopes, {shape: [2, 1], a: np.ones([1, 2]), b: np.ones([2, 1])})
        assert [f.shape for f in found] == [(1, 2), (2, 1)]


@TARGETS
@pytest.mark.parametrize("form", [0.5, 1.0, 3.0])
def test_gamma_numbers_of_a_seed_are_spread_as_they_should(target: str, form: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    (found,) = drawn(target, lambda: tf.random_gamma([4000], form, dtype=tf.float64, seed=5))
    assert stats.kstest(found, "gamma", args=(form,)).statistic < 0.03


@pytest.mark.parametrize("function", [tf.random_gamma, lambda s, a: tf.random_poisson(a, s)])
def test_more_numbers_than_a_tensor_can_hold_are_refused(function: Any) -> None:
    with tf.Graph().as_default(), pytest.raises(tf.errors.InvalidArgumentError, match="overflow"):
        function([46902, 51188, 34063, 59195], tf.ones([4, 4]))


def seed_of_generators(graph_seed: int, op_seed: int) -> Any:
    """The seed whose Philox block is these two: the rounds of Philox backwards."""
    mask = 0xFFFFFFFF
    first, second = 0xD2511F53, 0xCD9E8D57
    k = [0x3EC8F720, 0x02461E29]
    keys = [(k[0] + i * 0x9E3779B9 & mask, k[1] + i * 0xBB67AE85 & mask) for i in range(10)]
    c = [graph_seed & mask, graph_seed >> 32, op_seed & mask, op_seed >> 32]
    for k0, k1 in reversed(keys):
        c0, c2 = c[3] * pow(first, -1, 1 << 32) & mask, c[1] * pow(second, -1, 1 << 32) & mask
        c = [c0, c[0] ^ k0 ^ (c2 * second >> 32), c2, c[2] ^ k1 ^ (c0 * first >> 32)]
    return np.uint64([c[0] | c[1] << 32, c[2] | c[3] << 32])


#: draws, as a function of the stateless form's seed or the other's
PAIRS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "uniform": (
        lambda s: tf.random.stateless_uniform([5], s, -2, 3, tf.float64),
        lambda s: tf.random_uniform([5], -2, 3, tf.float64, s),
    ),
    "integers": (
        lambda s: tf.random.stateless_uniform([5], s, -2, 3000, tf.int32),
        lambda s: tf.random_uniform([5], -2, 3000, tf.int32, s),
    ),
    "normal": (
        lambda s: tf.random.stateless_normal([5], s, 1, 2, tf.bfloat16),
        lambda s: tf.random_normal([5], 1, 2, tf.bfloat16, s),
    ),
    "truncated normal": (
        lambda s: tf.random.stateless_truncated_normal([5], s),
        lambda s: tf.truncated_normal([5], seed=s),
    ),
    "classes": (
        lambda s: tf.random.stateless_multinomial([[0.0, 1.0, 2.0]], 20, s),
        lambda s: tf.multinomial([[0.0, 1.0, 2.0]], 20, s),
    ),
}


@TARGETS
@pytest.mark.parametrize("case", PAIRS)
def test_a_seed_gives_what_a_generator_of_its_block_gives(target: str, case: str) -> None:
    stateless, stateful = PAIRS[case]
    (expected,) = drawn(target, lambda: stateful(17), seed=7)
    (found,) = drawn(target, lambda: stateless(seed_of_generators(7, 17)))
    np.testing.assert_array_equal(found, expected)
    (other,) = drawn(target, lambda: stateless([7, 17]))
    assert np.any(other != found)


@TARGETS
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.uint32, tf.uint64], ids=str)
def test_without_bounds_integers_are_drawn_from_the_whole_range(target: str, dtype: Any) -> None:
    (found,) = drawn(target, lambda: tf.random.stateless_uniform([999], [1, 2], None, None, dtype))
    limits = np.iinfo(dtype.as_numpy_dtype)
    middle, width = (float(limits.max) + float(limits.min)) / 2, 2.0**limits.bits
    assert found.dtype == dtype.as_numpy_dtype
    assert abs(found.astype(np.float64).mean() - middle) < 0.05 * width
    assert found.max() > limits.max - 0.02 * width and found.min() < limits.min + 0.02 * width


@TARGETS
def test_a_seed_of_a_shape_that_only_a_run_knows_is_checked_there(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        seed = tf.placeholder(tf.int32)
        draw = tf.random.stateless_normal([3], seed)
        assert session.run(draw, {seed: [1, 2]}).shape == (3,)
        with pytest.raises(tf.errors.InvalidArgumentError, match="expected two integers of shape"):
            session.run(draw, {seed: [1, 2, 3]})
