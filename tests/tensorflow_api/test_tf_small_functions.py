"""Functions of TensorFlow 1 composed from others: values in both engines, and refusals."""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Iterator
from typing import Any

import engines
import gradient_check
import numpy as np
import pytest
import tf_names

import graphio as tf

RNG = np.random.RandomState(11)
IMAGES = RNG.rand(2, 6, 7, 3).astype(np.float32)
OTHER = RNG.rand(2, 6, 7, 3).astype(np.float32)


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


def by_pixel(function: Callable[..., Any], images: Any) -> Any:
    flat = [function(*map(float, pixel)) for pixel in images.reshape(-1, 3)]
    return np.array(flat).reshape(images.shape)


def patches(x: Any, rows: int, columns: int, stride: int, rate: int) -> Any:
    """(n, oh, ow, rows * columns, c), without padding."""
    high, wide = (rows - 1) * rate + 1, (columns - 1) * rate + 1
    return np.stack([
        np.stack([
            x[:, top : top + high : rate, left : left + wide : rate].reshape(
                len(x), rows * columns, -1
            )
            for left in range(0, x.shape[2] - wide + 1, stride)
        ], 1)
        for top in range(0, x.shape[1] - high + 1, stride)
    ], 1)  # fmt: skip


def rotated(hue: float) -> Callable[..., Any]:
    def change(*rgb: float) -> Any:
        h, s, v = colorsys.rgb_to_hsv(*rgb)
        return colorsys.hsv_to_rgb((h + hue) % 1, s, v)

    return change


def stronger(factor: float) -> Callable[..., Any]:
    def change(*rgb: float) -> Any:
        h, s, v = colorsys.rgb_to_hsv(*rgb)
        return colorsys.hsv_to_rgb(h, min(max(s * factor, 0), 1), v)

    return change


def noise(a: Any, b: Any) -> Any:
    return 10 * np.log10(1 / ((a - b).astype(float) ** 2).mean((1, 2, 3)))


WINDOW = [1, 2, 3, 1]
ONE = [1, 1, 1, 1]
FILTER = RNG.rand(2, 3, 3).astype(np.float32)
GREY = np.array([[[0.5, 0.5, 0.5], [0.0, 0.0, 0.0]]], np.float32)


def same_patches(x: Any) -> Any:
    padded = np.pad(x, [(0, 0), (0, 1), (1, 1), (0, 0)])
    return patches(padded, 2, 3, 1, 1).reshape(2, 6, 7, 18)


#: builder, inputs, what numpy says
CASES: dict[str, tuple[Callable[..., Any], list[Any], Any]] = {
    "rgb_to_hsv": (tf.image.rgb_to_hsv, [IMAGES], by_pixel(colorsys.rgb_to_hsv, IMAGES)),
    "rgb_to_hsv of grey": (tf.image.rgb_to_hsv, [GREY], [[[0, 0, 0.5], [0, 0, 0]]]),
    "hsv_to_rgb": (tf.image.hsv_to_rgb, [IMAGES], by_pixel(colorsys.hsv_to_rgb, IMAGES)),
    "adjust_hue": (
        lambda x: tf.image.adjust_hue(x, -0.3), [IMAGES], by_pixel(rotated(-0.3), IMAGES),
    ),
    "adjust_saturation": (
        lambda x: tf.image.adjust_saturation(x, 1.7), [IMAGES], by_pixel(stronger(1.7), IMAGES),
    ),
    "there and back": (
        lambda x: tf.image.yuv_to_rgb(tf.image.rgb_to_yuv(x)), [IMAGES], IMAGES,
    ),
    "brightness is YUV's first": (
        lambda x: tf.image.rgb_to_yuv(x)[..., 0], [IMAGES], IMAGES @ [0.299, 0.587, 0.114],
    ),
    "psnr": (lambda a, b: tf.image.psnr(a, b, 1.0), [IMAGES, OTHER], noise(IMAGES, OTHER)),
    "ssim of the same": (lambda a: tf.image.ssim(a, a, 1.0, filter_size=5), [IMAGES], [1.0, 1.0]),
    "patches": (
        lambda x: tf.extract_image_patches(x, WINDOW, [1, 2, 2, 1], [1, 2, 1, 1], "VALID"),
        [IMAGES[:, :, :6]],
        np.concatenate([
            IMAGES[:, i * 2 : i * 2 + 3 : 2, j : j + 4 : 2] for i in range(2) for j in range(3)
        ], 3)[:, :2, :2],
    ),
    "patches with a border": (
        lambda x: tf.image.extract_image_patches(x, WINDOW, ONE, ONE, "SAME"), [IMAGES],
        same_patches(IMAGES),
    ),
    "dilation": (
        lambda x, f: tf.nn.dilation2d(x, f, ONE, ONE, "VALID"), [IMAGES, FILTER],
        (patches(IMAGES, 2, 3, 1, 1) + FILTER.reshape(6, 3)).max(3),
    ),
    "erosion": (
        lambda x, f: tf.nn.erosion2d(x, f, ONE, ONE, "VALID"), [IMAGES, FILTER],
        (patches(IMAGES, 2, 3, 1, 1) - FILTER[::-1, ::-1].reshape(6, 3)).min(3),
    ),
    "dilation past the border": (
        lambda x, f: tf.nn.dilation2d(x, f, ONE, ONE, "SAME")[:, -1, -1], [-IMAGES, 0 * FILTER],
        np.maximum(-IMAGES[:, -1, -1], -IMAGES[:, -1, -2]),
    ),
    "resize_image_with_pad": (
        lambda x: tf.image.resize_image_with_pad(x, 6, 9), [IMAGES],
        np.pad(IMAGES, [(0, 0), (0, 0), (1, 1), (0, 0)]),
    ),
    "broadcast_dynamic_shape": (
        tf.broadcast_dynamic_shape, [np.int32([2, 1, 3]), np.int32([5, 1])], np.int32([2, 5, 3]),
    ),
    "unravel_index": (
        lambda i: tf.unravel_index(i, [3, 4]), [np.int32([2, 5, 7])],
        np.int32(np.unravel_index([2, 5, 7], [3, 4])),
    ),
    "bitcast": (lambda x: tf.bitcast(x, tf.int32), [IMAGES], IMAGES.view(np.int32)),
    "where_v2": (
        lambda x: tf.where_v2(x > 0.5, x, 0.0), [IMAGES], np.where(IMAGES > 0.5, IMAGES, 0),
    ),
    "bins": (
        lambda x: tf.histogram_fixed_width_bins(x, [0.0, 5.0], 5),
        [np.float32([-1, 0, 1.5, 2, 5, 15])], np.int32([0, 0, 1, 2, 4, 4]),
    ),
    "space to batch": (
        lambda s: tf.required_space_to_batch_paddings(s, [3, 4]), [np.int32([10, 15])],
        [np.int32([[0, 2], [0, 1]])] * 2,
    ),
    "tensor_scatter_nd_add": (
        lambda x: tf.tensor_scatter_nd_add(x, [[1], [1]], [2.0, 3.0]), [np.zeros(3, np.float32)],
        [0, 5, 0],
    ),
    "roll": (lambda x: tf.manip.roll(x, 1, 0), [IMAGES], np.roll(IMAGES, 1, 0)),
    "fake_quant": (
        lambda x: tf.quantization.fake_quant_with_min_max_args(x, 0, 3, num_bits=2),
        [np.float32([-1, 0.4, 0.6, 2.2, 9])], [0, 0, 1, 2, 3],
    ),
    "fake_quant keeps 0": (
        lambda x: tf.fake_quant_with_min_max_vars(x, -0.1, 0.9, num_bits=2),
        [np.float32([0.0])], [0.0],
    ),
    "fake_quant, each channel": (
        lambda x: tf.fake_quant_with_min_max_vars_per_channel(x, [0.0, 0.0], [3.0, 6.0], 2),
        [np.float32([[0.6, 0.6], [2.2, 2.9], [9, 9]])], [[1, 0], [2, 2], [3, 6]],
    ),
    "pairs": (
        lambda a, b: tf.losses.mean_pairwise_squared_error(a, b),
        [np.float32([[1, 2, 4]]), np.float32([[1, 3, 8]])], (1 + 16 + 9) / 3,
    ),
}  # fmt: skip


@engines.BOTH
@pytest.mark.parametrize("case", CASES)
def test_values(engine: str, case: str) -> None:
    build, values, want = CASES[case]
    tf_names.compare(engine, build, values, want, rtol=3e-5)


@engines.BOTH
def test_yiq_is_exact_to_the_digits_of_its_matrices(engine: str) -> None:
    found = tf_names.run(engine, lambda x: tf.image.yiq_to_rgb(tf.image.rgb_to_yiq(x)), [IMAGES])
    np.testing.assert_allclose(found, IMAGES, atol=1e-4)


@engines.BOTH
def test_edges_are_those_of_sobel(engine: str) -> None:
    found = tf_names.run(engine, tf.image.sobel_edges, [IMAGES])
    around = np.pad(IMAGES, [(0, 0), (1, 1), (1, 1), (0, 0)], mode="reflect")
    down = around[:, 2:] - around[:, :-2]
    right = around[:, :, 2:] - around[:, :, :-2]
    np.testing.assert_allclose(
        found[..., 0], down[:, :, :-2] + 2 * down[:, :, 1:-1] + down[:, :, 2:], atol=1e-5
    )
    np.testing.assert_allclose(
        found[..., 1], right[:, :-2] + 2 * right[:, 1:-1] + right[:, 2:], atol=1e-5
    )


@engines.BOTH
def test_unlike_images_are_less_similar(engine: str) -> None:
    value = tf_names.run(
        engine, lambda a, b: tf.image.ssim(a, b, 1.0, filter_size=5), [IMAGES, OTHER]
    )
    assert (value < 0.5).all()


def test_integers_are_colours_too() -> None:
    bytes_ = (IMAGES * 255).astype(np.uint8)
    found = tf_names.run("runtime", lambda x: tf.image.adjust_hue(x, 0.0), [bytes_])
    assert found.dtype == np.uint8 and np.abs(found.astype(int) - bytes_).max() <= 1


SLOPES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "rgb_to_hsv": (tf.image.rgb_to_hsv, [gradient_check.pos(2, 3) / 3]),
    "patches": (
        lambda x: tf.extract_image_patches(x, WINDOW, ONE, ONE, "SAME"),
        [gradient_check.away(1, 3, 4, 2)],
    ),
    "dilation": (
        lambda x, f: tf.nn.dilation2d(x, f, ONE, ONE, "SAME"),
        [gradient_check.away(1, 3, 4, 2), 0.01 * gradient_check.away(2, 2, 2)],
    ),
}


@pytest.mark.parametrize("case", SLOPES)
def test_gradients(case: str) -> None:
    build, values = SLOPES[case]
    gradient_check.check(build, values, second=False)


@engines.BOTH
def test_fake_quantization_passes_gradients_within_and_to_the_ends(engine: str) -> None:
    engines.module(engine)
    x, low, high = tf.constant([-7.0, 0.5, 7.0, 8.0]), tf.constant(-1.0), tf.constant(1.0)
    y = tf.fake_quant_with_min_max_vars(x, low, high)
    slopes = tf.gradients(y, [x, low, high])
    direct = tf.quantization.fake_quant_with_min_max_vars_gradient(tf.ones([4]), x, low, high)
    with tf.Session(engine) as session:
        for found in session.run([slopes, list(direct)]):
            assert [np.asarray(v).tolist() for v in found] == [[0, 1, 0, 0], 1, 2]


def test_partitioners_tell_how_to_cut_and_variables_are_cut_so() -> None:
    shape = tf.TensorShape([10, 4])
    assert tf.fixed_size_partitioner(3)(shape=shape, dtype=tf.float32) == [3, 1]
    assert tf.variable_axis_size_partitioner(64)(shape=shape, dtype=tf.float32) == [3, 1]
    assert tf.min_max_variable_partitioner(4, min_slice_size=80)(shape, tf.float32) == [2, 1]
    w = tf.get_variable("w", shape, partitioner=tf.fixed_size_partitioner(3))
    assert w.shape == shape and tf.global_variables() == list(w)
    assert [part.shape.as_list() for part in w] == [[4, 4], [3, 4], [3, 4]]
    with pytest.raises(TypeError, match="not iterable"):
        list(tf.get_variable("whole", shape))


def test_init_scope_leaves_control_dependencies_and_branches(graph: tf.Graph) -> None:
    def branch() -> Any:
        with tf.init_scope():
            assert tf.get_default_graph() is graph
        return 1.0

    with tf.control_dependencies([tf.no_op()]), tf.name_scope("s"):
        tf.cond(tf.constant(True), branch, lambda: 2.0)
        with tf.init_scope():
            made = tf.constant(1.0)
    assert made.op.control_inputs == [] and made.name.startswith("s/")
    with tf.op_scope([made], None, "fallback") as scope:
        assert scope == "fallback/"


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="expected floats"):
        tf.image.rgb_to_hsv(tf.zeros([2, 4]))
    with pytest.raises(ValueError, match=r"expected \[1, rows, columns, 1\]"):
        tf.extract_image_patches(tf.zeros([1, 4, 4, 1]), [2, 2], ONE, ONE, "SAME")
    with pytest.raises(ValueError, match="SAME or VALID"):
        tf.extract_image_patches(tf.zeros([1, 4, 4, 1]), WINDOW, ONE, ONE, "FULL")
    with pytest.raises(ValueError, match="the size 2"):
        tf.bitcast(tf.zeros([3]), tf.int64)
    with pytest.raises(ValueError, match="num_bits"):
        tf.fake_quant_with_min_max_args(tf.zeros([2]), num_bits=1)
    with pytest.raises(ValueError, match="max_delta"):
        tf.image.random_hue(IMAGES, 0.7)
    with pytest.raises(ValueError, match=r"value\.shape >= size"):
        tf.random_crop(tf.zeros([2, 2]), [3, 1])


@engines.BOTH
def test_crops_lie_within(engine: str) -> None:
    engines.module(engine)
    crop = tf.random_crop(tf.reshape(tf.range(70), [7, 10]), [2, 3], seed=1)
    assert crop.shape == [2, 3]
    with tf.Session(engine) as session:
        seen = [session.run(crop) for _ in range(20)]
    assert all((v - v[0, 0] == [[0, 1, 2], [10, 11, 12]]).all() for v in seen)
    assert len({int(v[0, 0]) for v in seen}) > 5


@engines.BOTH
def test_gamma_and_poisson_have_their_moments(engine: str) -> None:
    engines.module(engine)
    tf.set_random_seed(3)
    gamma = tf.random_gamma([4000], [0.5, 3.0], 2.0)
    poisson = tf.random.poisson([0.7, 6.0], [4000])
    with tf.Session(engine) as session:
        g, p = session.run([gamma, poisson])
    assert g.shape == p.shape == (4000, 2) and (g > 0).all() and (p == np.round(p)).all()
    np.testing.assert_allclose(g.mean(0), [0.25, 1.5], rtol=0.1)
    np.testing.assert_allclose(g.var(0), [0.125, 0.75], rtol=0.25)
    np.testing.assert_allclose(p.mean(0), [0.7, 6.0], rtol=0.1)
    np.testing.assert_allclose(p.var(0), [0.7, 6.0], rtol=0.15)


def test_an_error_may_have_no_message() -> None:
    error = tf.errors.AbortedError(None, None, None)
    assert (error.message, str(error), error.error_code) == ("", "", tf.errors.ABORTED)


def test_a_dtype_is_not_pythons_int() -> None:
    others: list[Any] = [int, float]
    assert [tf.int32 == other for other in others] == [False, False]
    assert [tf.float32 == other for other in others] == [False, True]
    assert tf.as_dtype(int) == tf.int32


def test_the_versions_of_the_build_have_tensorflows_other_names() -> None:
    assert tf.__git_version__ == tf.GIT_VERSION
    assert tf.__compiler_version__ == tf.COMPILER_VERSION


def test_cumulative_reductions_have_one_axis_of_the_tensor() -> None:
    for function in (tf.cumsum, tf.cumprod, tf.math.cumulative_logsumexp):
        for axis in (2, -3):
            with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
                function(tf.zeros([2, 3]), axis)
        for axes in ([0], tf.constant([0]), np.array([1])):
            with pytest.raises(tf.errors.InvalidArgumentError, match="must be a scalar"):
                function(tf.zeros([2, 3]), axes)


def test_paddings_of_known_sizes_are_constants() -> None:
    paddings, crops = tf.required_space_to_batch_paddings([10, 15, 4], [3, 4, 2], [[1, 0]] * 3)
    found = [tf.get_static_value(t).tolist() for t in (paddings, crops)]
    assert found == [[[1, 1], [1, 0], [1, 1]], [[0, 1], [0, 0], [0, 1]]]
    with tf.Session() as session:
        assert [value.tolist() for value in session.run([paddings, crops])] == found
