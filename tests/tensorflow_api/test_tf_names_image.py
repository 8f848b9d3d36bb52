"""tf.image against numpy, in both engines."""

from __future__ import annotations

import re
from typing import Any

import engines
import numpy as np
import pytest
from gradient_check import away, check
from tf_names import compare, static

import graphio as tf

R = np.random.RandomState(9)
X = R.rand(2, 5, 4, 3).astype(np.float32)
ONE = X[0]
BYTES = R.randint(0, 256, (2, 3, 4, 3)).astype(np.uint8)
#: corners, one box with swapped corners, two that overlap much, one apart
BOXES = np.float32(
    [[0, 0, 1, 1], [1.1, 1, 0.1, 0], [0, 0.05, 1, 1.05], [0, 2, 1, 3], [0, 2, 1, 2.9]]
)
SCORES = np.float32([0.7, 0.9, 0.8, 0.1, 0.6])


def origins(old: int, new: int, corners: bool, half: bool = False) -> np.ndarray:
    i = np.arange(new)
    if corners:
        return i * (old - 1) / (new - 1) if new > 1 else i * 0.0
    return (i + 0.5) * old / new - 0.5 if half else i * old / new


def keys(t: np.ndarray, a: float) -> np.ndarray:
    t = np.abs(t)
    near = (a + 2) * t**3 - (a + 3) * t**2 + 1
    far = a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0))


def matrix(old: int, new: int, how: str, corners: bool, half: bool = False) -> np.ndarray:
    """(new, old): what each new element takes of each old one."""
    at, m = origins(old, new, corners, half), np.zeros((new, old))
    for i, x in enumerate(at):
        if how == "nearest":
            x += 0.5 * half
            m[i, min(int(np.floor(x + 0.5) if corners else np.floor(x)), old - 1)] = 1
        elif how == "linear":
            x = max(x, 0.0)
            low = int(np.floor(x))
            m[i, min(low, old - 1)] += 1 - (x - low)
            m[i, min(low + 1, old - 1)] += x - low
        else:
            for k in range(int(np.floor(x)) - 1, int(np.floor(x)) + 3):
                if half and not 0 <= k < old:
                    continue
                m[i, np.clip(k, 0, old - 1)] += keys(x - k, -0.5 if half else -0.75)
            m[i] /= m[i].sum()
    return m


def area(old: int, new: int) -> np.ndarray:
    fine = np.repeat(np.eye(old), new, axis=0)
    return fine.reshape(new, old, old).mean(1)


def resized(x: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return np.einsum("rh,nhwc,sw->nrsc", rows, x.astype(np.float64), columns)


def both(how: str, h: int, w: int, corners: bool = False, half: bool = False) -> np.ndarray:
    return resized(X, matrix(5, h, how, corners, half), matrix(4, w, how, corners, half))


def cropped(x: Any, boxes: Any, numbers: Any, h: int, w: int, fill: float, how: str) -> np.ndarray:
    y = np.full((len(boxes), h, w, x.shape[-1]), fill)
    for b, (y1, x1, y2, x2) in enumerate(boxes.astype(np.float64)):
        for i, j in np.ndindex(h, w):
            r = (y1 + (i * (y2 - y1) / (h - 1) if h > 1 else (y2 - y1) / 2)) * (x.shape[1] - 1)
            s = (x1 + (j * (x2 - x1) / (w - 1) if w > 1 else (x2 - x1) / 2)) * (x.shape[2] - 1)
            if not (0 <= r <= x.shape[1] - 1 and 0 <= s <= x.shape[2] - 1):
                continue
            image = x[numbers[b]].astype(np.float64)
            if how == "nearest":
                y[b, i, j] = image[int(np.floor(r + 0.5)), int(np.floor(s + 0.5))]
                continue
            t, u = int(r), int(s)
            v, z = int(np.ceil(r)), int(np.ceil(s))
            top = image[t, u] + (image[t, z] - image[t, u]) * (s - u)
            low = image[v, u] + (image[v, z] - image[v, u]) * (s - u)
            y[b, i, j] = top + (low - top) * (r - t)
    return y


def suppressed(limit: int, overlap: float, least: float) -> np.ndarray:
    def part(a: Any, b: Any) -> float:
        (a1, a2, a3, a4), (b1, b2, b3, b4) = (
            (min(c[0], c[2]), min(c[1], c[3]), max(c[0], c[2]), max(c[1], c[3])) for c in (a, b)
        )
        common = max(min(a3, b3) - max(a1, b1), 0) * max(min(a4, b4) - max(a2, b2), 0)
        return common / ((a3 - a1) * (a4 - a2) + (b3 - b1) * (b4 - b2) - common)

    kept: list[int] = []
    for i in np.argsort(-SCORES):
        if SCORES[i] > least and all(part(BOXES[i], BOXES[j]) <= overlap for j in kept):
            kept.append(int(i))
    return np.int32(kept[:limit])


def standard(x: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64)
    size = np.prod(x.shape[-3:])
    mean, spread = x.mean((-3, -2, -1), keepdims=True), x.std((-3, -2, -1), keepdims=True)
    return (x - mean) / np.maximum(spread, 1 / np.sqrt(size))


def grey(x: np.ndarray) -> np.ndarray:
    return (x.astype(np.float64) * [0.2989, 0.587, 0.114]).sum(-1, keepdims=True)


I = tf.image  # noqa: E741
REGIONS = np.float32([[0, 0, 1, 1], [0.9, 0.1, 0.2, 0.8], [-0.3, 0.2, 0.7, 1.4]])
OF = np.int32([1, 0, 1])
SIZES = ((3, 7), (10, 2), (5, 1))

CASES: dict[str, tuple[Any, ...]] = {
    **{
        f"{how}{' corners' * corners} {h}x{w}": (
            lambda x, b=build, s=(h, w), c=corners: b(x, s, align_corners=c),
            [X],
            both(how, h, w, corners),
        )
        for how, build in (
            ("linear", I.resize_bilinear),
            ("cubic", I.resize_bicubic),
            ("nearest", I.resize_nearest_neighbor),
        )
        for corners in (False, True)
        for h, w in SIZES
    },
    **{
        f"{how} half": (
            lambda x, b=build: b(x, [3, 9], half_pixel_centers=True),
            [X],
            both(how, 3, 9, half=True),
        )
        for how, build in (
            ("linear", I.resize_bilinear),
            ("cubic", I.resize_bicubic),
            ("nearest", I.resize_nearest_neighbor),
        )
    },
    "resize fed": (I.resize_bilinear, [X, np.int32([3, 6])], both("linear", 3, 6)),
    "resize bytes": (
        lambda x: I.resize_images(x, [2, 2]),
        [BYTES],
        resized(BYTES, matrix(3, 2, "linear", False), matrix(4, 2, "linear", False)),
    ),
    "resize one": (lambda x: I.resize_images(x, [3, 7]), [ONE], both("linear", 3, 7)[0]),
    "resize nearest bytes": (
        lambda x: I.resize_images(x, [6, 8], I.ResizeMethod.NEAREST_NEIGHBOR),
        [BYTES],
        BYTES.repeat(2, 1).repeat(2, 2),
    ),
    "flip_left_right": (I.flip_left_right, [ONE], ONE[:, ::-1]),
    "flip_up_down": (I.flip_up_down, [X], X[:, ::-1]),
    "transpose_image": (I.transpose_image, [X], X.swapaxes(1, 2)),
    **{f"rot90 {k}": (lambda x, k=k: I.rot90(x, k), [ONE], np.rot90(ONE, k)) for k in range(-1, 4)},
    "crop": (lambda x: I.crop_to_bounding_box(x, 1, 2, 3, 2), [X], X[:, 1:4, 2:4]),
    "pad": (
        lambda x: I.pad_to_bounding_box(x, 1, 2, 7, 6),
        [ONE],
        np.pad(ONE, [(1, 1), (2, 0), (0, 0)]),
    ),
    "to bytes": (
        lambda x: I.convert_image_dtype(x, tf.uint8),
        [ONE],
        (ONE * np.float32(255.5)).astype(np.uint8),
    ),
    "from bytes": (
        lambda x: I.convert_image_dtype(x, tf.float32),
        [BYTES],
        BYTES / 255.0,
    ),
    "to int16": (
        lambda x: I.convert_image_dtype(x, tf.int16),
        [BYTES],
        BYTES.astype(np.int16) * 128,
    ),
    "standard": (I.per_image_standardization, [X], standard(X)),
    "standard bytes": (I.per_image_standardization, [BYTES], standard(BYTES)),
    "standard flat": (I.per_image_standardization, [ONE * 0 + 3], ONE * 0.0),
    "grey": (I.rgb_to_grayscale, [X], grey(X)),
    "grey bytes": (I.rgb_to_grayscale, [BYTES], (grey(BYTES / 255.0) * 255.5).astype(np.uint8)),
    "rgb": (lambda x: I.grayscale_to_rgb(I.rgb_to_grayscale(x)), [X], grey(X).repeat(3, -1)),
    "brightness": (lambda x: I.adjust_brightness(x, 0.25), [X], X + 0.25),
    "brightness bytes": (
        lambda x: I.adjust_brightness(x, 0.5),
        [np.uint8([[[0, 100, 200]]])],
        np.uint8([[[127, 227, 255]]]),
    ),
    "contrast": (
        lambda x: I.adjust_contrast(x, 2.0),
        [X],
        2 * X - X.mean((1, 2), keepdims=True),
    ),
    "gamma": (lambda x: I.adjust_gamma(x, 2.0, 0.5), [X], X * X / 2),
    "variation": (
        I.total_variation,
        [X],
        np.abs(np.diff(X, axis=1)).sum((1, 2, 3)) + np.abs(np.diff(X, axis=2)).sum((1, 2, 3)),
    ),
    "gradients": (
        lambda x: list(I.image_gradients(x)),
        [X],
        [np.diff(X, axis=1, append=X[:, -1:]), np.diff(X, axis=2, append=X[:, :, -1:])],
    ),
    "suppression": (
        lambda b, s: I.non_max_suppression(b, s, 4),
        [BOXES, SCORES],
        suppressed(4, 0.5, -1),
    ),
    "suppression limits": (
        lambda b, s: I.non_max_suppression(b, s, 3, 0.95, 0.5),
        [BOXES, SCORES],
        suppressed(3, 0.95, 0.5),
    ),
    "suppression none": (
        lambda b, s: I.non_max_suppression(b, s, 0),
        [BOXES, SCORES],
        np.zeros(0, np.int32),
    ),
    **{
        f"crop_and_resize {how} {h}x{w}": (
            lambda x, b, n, s=(h, w), m=how: I.crop_and_resize(x, b, n, s, m, 7.0),
            [X, REGIONS, OF],
            cropped(X, REGIONS, OF, h, w, 7.0, how),
        )
        for how in ("bilinear", "nearest")
        for h, w in ((3, 4), (1, 2))
    },
}

#: functions of known heights and widths
KNOWN: dict[str, tuple[Any, ...]] = {
    "area": (lambda x: I.resize_area(x, [3, 7]), [X], resized(X, area(5, 3), area(4, 7))),
    "central_crop": (lambda x: I.central_crop(x, 0.5), [X], X[:, 1:4, 1:3]),
    "crop or pad": (
        lambda x: I.resize_image_with_crop_or_pad(x, 2, 7),
        [ONE],
        np.pad(ONE[1:3], [(0, 0), (1, 2), (0, 0)]),
    ),
    "same size": (lambda x: I.resize_images(x, [3, 4]), [BYTES], BYTES),
    "aspect": (
        lambda x: I.resize_images(x, [10, 100], preserve_aspect_ratio=True),
        [X],
        both("linear", 10, 8),
    ),
}


@engines.BOTH
@pytest.mark.parametrize("opened", [False, True], ids=["known", "open"])
@pytest.mark.parametrize("name", CASES)
def test_values(engine: str, name: str, opened: bool) -> None:
    function, values, expected = CASES[name]
    compare(engine, function, values, expected, opened=opened, rtol=3e-5)


@engines.BOTH
@pytest.mark.parametrize("name", KNOWN)
def test_values_of_known_sizes(engine: str, name: str) -> None:
    function, values, expected = KNOWN[name]
    compare(engine, function, values, expected, rtol=3e-5)


IMAGE = away(1, 3, 4, 2)
GRADIENTS: dict[str, tuple[Any, ...]] = {
    "nearest": (lambda x: I.resize_nearest_neighbor(x, [5, 3]), [IMAGE]),
    "rot90": (I.rot90, [IMAGE]),
    "pad": (lambda x: I.pad_to_bounding_box(x, 1, 0, 5, 4), [IMAGE]),
    "crop": (lambda x: I.central_crop(x, 0.5), [IMAGE]),
    "grey": (I.rgb_to_grayscale, [away(2, 2, 3)]),
    "contrast": (lambda x: I.adjust_contrast(x, 2.0), [IMAGE]),
    "variation": (I.total_variation, [IMAGE]),
    "crop_and_resize": (
        lambda x, b: I.crop_and_resize(x, b, [0, 0], [3, 2]),
        [IMAGE, np.array([[0.03, 0.07, 0.93, 0.91], [0.81, 0.13, 0.17, 0.77]])],
    ),
}


@engines.BOTH
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(engine: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engines.module(engine)
    monkeypatch.setenv("GRAPHIO_TARGET", engine)
    check(*GRADIENTS[name])


@engines.BOTH
def test_the_gradient_of_standardized_images(engine: str) -> None:
    engines.module(engine)
    with tf.Graph().as_default(), tf.Session(engine) as session:
        x = tf.constant(IMAGE)
        apart = x - tf.reduce_mean(x, [-3, -2, -1], keepdims=True)
        spread = tf.sqrt(tf.reduce_mean(tf.square(apart), [-3, -2, -1], keepdims=True))
        direction = np.random.RandomState(3).randn(*IMAGE.shape)
        expected_values = tf.gradients(apart / spread, x, tf.constant(direction))[0]
        made = I.per_image_standardization(x)
        found = tf.gradients(made, x, tf.constant(direction, tf.float32))[0]
        np.testing.assert_allclose(*session.run([found, expected_values]), rtol=1e-3, atol=1e-4)


#: linear functions whose results are float32, too coarse for differences
RESIZES: dict[str, Any] = {
    "bilinear": lambda x: I.resize_bilinear(x, [5, 3]),
    "corners": lambda x: I.resize_bilinear(x, [5, 3], True),
    "cubic": lambda x: I.resize_bicubic(x, [5, 3]),
    "area": lambda x: I.resize_area(x, [2, 3]),
}


@engines.BOTH
@pytest.mark.parametrize("name", RESIZES)
def test_gradients_of_resizing_are_its_transpose(engine: str, name: str) -> None:
    engines.module(engine)
    with tf.Graph().as_default(), tf.Session(engine) as session:
        x, direction = tf.constant(IMAGE), tf.constant(IMAGE[:, ::-1])
        y = RESIZES[name](x)
        dy = tf.constant(np.random.RandomState(3).randn(*y.shape.as_list()).astype(np.float32))
        dx = tf.gradients(y, x, dy)[0]
        pairs = [tf.reduce_sum(y * dy), tf.reduce_sum(x * dx)]
        again = [RESIZES[name](direction), tf.gradients(dx, dy, direction)[0]]
        assert (y.dtype, dx.dtype) == (tf.float32, tf.float64)
        for one, other in (pairs, again):
            np.testing.assert_allclose(*session.run([one, other]), rtol=1e-5, atol=1e-5)


SHAPES: dict[str, tuple[Any, ...]] = {
    "bilinear": (lambda x: I.resize_bilinear(x, [5, 3]), [None, None, None, 3], [None, 5, 3, 3]),
    "images": (lambda x: I.resize_images(x, [5, 3]), [None, None, 3], [5, 3, 3]),
    "crop": (lambda x: I.crop_to_bounding_box(x, 0, 0, 2, 2), [None, 4, None, 3], [None, 2, 2, 3]),
    "pad": (lambda x: I.pad_to_bounding_box(x, 0, 0, 8, 8), [None, None, 3], [8, 8, 3]),
    "grey": (I.rgb_to_grayscale, [None, 4, 3], [None, 4, 1]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_static_shapes(name: str) -> None:
    function, shape, expected = SHAPES[name]
    assert static(function, shape) == expected


ERRORS: dict[str, tuple[Any, ...]] = {
    "rank": (lambda: I.flip_left_right(ONE[0]), ValueError, "3 or 4 dimensions"),
    "size": (lambda: I.resize_bilinear(X, [1, 2, 3]), ValueError, "2 elements"),
    "positive": (lambda: I.resize_bilinear(X, [0, 2]), ValueError, "positive"),
    "method": (lambda: I.resize_images(X, [2, 2], 9), ValueError, "not implemented"),
    "half": (
        lambda: I.resize_bilinear(X, [2, 2], True, half_pixel_centers=True),
        ValueError,
        "False",
    ),
    "crop": (lambda: I.crop_to_bounding_box(X, 3, 0, 3, 1), ValueError, "height must be >="),
    "pad": (lambda: I.pad_to_bounding_box(X, 3, 0, 6, 9), ValueError, "height must be <="),
    "fraction": (lambda: I.central_crop(X, 0.0), ValueError, "central_fraction"),
    "grey": (lambda: I.rgb_to_grayscale(X[..., :2]), ValueError, "expected"),
    "as many boxes as int32 does not hold": (
        lambda: I.non_max_suppression(BOXES, SCORES, 2**31),
        TypeError,
        "int64",
    ),
    "boxes": (lambda: I.non_max_suppression(BOXES[:, :3], SCORES, 1), ValueError, "equal"),
    "crop method": (
        lambda: I.crop_and_resize(X, REGIONS, OF, [2, 2], "cubic"),
        ValueError,
        "method",
    ),
    "area": (
        lambda: I.resize_area(tf.placeholder(tf.float32, [1, None, 3]), [2, 2]),
        ValueError,
        "expected rank 4",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    build, error, text = ERRORS[name]
    with tf.Graph().as_default(), pytest.raises(error, match=re.compile(text)):
        build()


@engines.BOTH
def test_random_flips_take_each_image_by_itself(engine: str) -> None:
    engines.module(engine)
    many = np.stack([np.arange(6, dtype=np.float32).reshape(1, 6, 1)] * 200)
    with tf.Graph().as_default(), tf.Session(engine) as session:
        found = session.run(I.random_flip_left_right(many, seed=3))
    transposed = (found[:, 0, 0, 0] == 5).sum()
    assert 60 < transposed < 140
    for image in found:
        np.testing.assert_array_equal(np.sort(image.ravel()), np.arange(6))


@engines.BOTH
def test_random_colours_stay_within_their_limits(engine: str) -> None:
    engines.module(engine)
    with tf.Graph().as_default(), tf.Session(engine) as session:
        brighter, harder = I.random_brightness(X, 0.2, 1), I.random_contrast(X, 0.5, 2.0, 1)
        first, second = session.run([brighter, harder])
    change = first - X
    assert np.ptp(change) < 1e-6 and abs(change.mean()) <= 0.2
    mean = X.mean((1, 2), keepdims=True)
    factor = ((second - mean) / (X - mean)).mean()
    assert 0.5 <= factor < 2.0


@engines.BOTH
@pytest.mark.parametrize("opened", [False, True], ids=["known", "open"])
def test_symmetric_padding(engine: str, opened: bool) -> None:
    ends = [[0, 0], [2, 5], [4, 0], [1, 3]]
    expected = np.pad(X, ends, mode="symmetric")
    compare(engine, lambda x: tf.pad(x, ends, "SYMMETRIC"), [X], expected, opened=opened)


def test_symmetric_padding_beyond_the_size_is_refused() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="greater than 3"):
        tf.pad(X, [[0, 0], [0, 0], [0, 0], [4, 0]], "SYMMETRIC")


def test_the_gradient_of_symmetric_padding() -> None:
    check(lambda x: tf.pad(x, [[2, 1], [0, 3]], "symmetric"), [away(2, 3)])
