"""Images whose rank or sizes only a run knows give what those of known shapes give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from value_cases import TARGETS

import graphio as tf

IMAGE = np.random.RandomState(0).rand(4, 5, 3)
BATCH = np.stack([IMAGE, IMAGE[::-1]])
#: functions of an image or a batch of them
OF_IMAGES: dict[str, Any] = {
    "flip_left_right": tf.image.flip_left_right,
    "flip_up_down": tf.image.flip_up_down,
    "transpose_image": tf.image.transpose_image,
    "rot90": lambda x: tf.image.rot90(x, 3),
    "rot90 by a tensor": lambda x: tf.image.rot90(x, tf.constant([7])[tf.rank(x) - tf.rank(x)]),
    "central_crop": lambda x: tf.image.central_crop(x, 0.5),
    "to grey": tf.image.rgb_to_grayscale,
    "from grey": lambda x: tf.image.grayscale_to_rgb(tf.reduce_sum(x, -1, keepdims=True)),
}
#: functions to which something of no known rank is one image
OF_ONE: dict[str, Any] = {
    "crop": lambda x: tf.image.crop_to_bounding_box(x, 1, 2, 3, 2),
    "pad": lambda x: tf.image.pad_to_bounding_box(x, 1, 2, 7, 8),
    "lower and wider": lambda x: tf.image.resize_image_with_crop_or_pad(x, 3, 8),
    "higher and narrower": lambda x: tf.image.resize_image_with_crop_or_pad(x, 7, 2),
    "resized with borders": lambda x: tf.cast(tf.image.resize_image_with_pad(x, 3, 9), x.dtype),
}
#: functions of a batch alone
OF_BATCHES: dict[str, Any] = {
    "area": lambda x: tf.image.resize_area(x, [2, 7]),
    "area with corners": lambda x: tf.image.resize_area(x, [3, 1], align_corners=True),
    "patches": lambda x: tf.extract_image_patches(
        x, [1, 2, 3, 1], [1, 2, 3, 1], [1, 1, 1, 1], "SAME"
    ),
    "dilation": lambda x: tf.nn.dilation2d(
        x, np.ones([2, 3, 3]), [1, 2, 2, 1], [1, 1, 1, 1], "SAME"
    ),
}


def _agree(session: Any, build: Any, value: Any, shape: Any) -> None:
    """Value and gradient are those of a known shape."""
    fed, fixed = tf.placeholder(tf.float64, shape), tf.constant(value)
    pairs = []
    for x in (fed, fixed):
        y = build(x)
        pairs.append([y, tf.gradients(y * y, x)[0]])
    for one, other in zip(*session.run(pairs, {fed: value}), strict=True):
        np.testing.assert_allclose(one, other)
        assert one.shape == other.shape


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", OF_IMAGES)
def test_an_image_or_a_batch_of_no_known_rank_or_sizes(name: str, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        for value in (IMAGE, BATCH):
            for shape in (None, [None] * value.ndim):
                _agree(session, OF_IMAGES[name], value, shape)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", OF_ONE)
def test_an_image_of_no_known_rank_and_a_batch_of_no_known_sizes(name: str, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        for value, shape in ((IMAGE, None), (IMAGE, [None] * 3), (BATCH, [None] * 4)):
            _agree(session, OF_ONE[name], value, shape)
        fed = tf.placeholder(tf.float64)
        assert OF_ONE[name](fed).shape.ndims == 3
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(OF_ONE[name](fed), {fed: BATCH})


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", OF_BATCHES)
def test_a_batch_of_no_known_sizes(name: str, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        _agree(session, OF_BATCHES[name], BATCH, [None, None, None, 3])


@pytest.mark.parametrize("target", TARGETS)
def test_offsets_and_sizes_are_fed(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        offset, size = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [2])
        padded = tf.image.pad_to_bounding_box(IMAGE, offset, 1, 8, offset + 7)
        expected = np.pad(IMAGE, [(2, 2), (1, 3), (0, 0)])
        np.testing.assert_array_equal(session.run(padded, {offset: 2}), expected)
        for wrong in (-1, 5):
            with pytest.raises(tf.errors.InvalidArgumentError, match="offset"):
                session.run(padded, {offset: wrong})
        middle = tf.image.resize_image_with_crop_or_pad(IMAGE, offset, offset + 1)
        np.testing.assert_array_equal(session.run(middle, {offset: 2}), IMAGE[1:3, 1:4])
        for wrong in (0, -1):
            with pytest.raises(tf.errors.InvalidArgumentError, match="target_height must be > 0"):
                session.run(middle, {offset: wrong})
        method = tf.image.ResizeMethod.AREA
        small, known = (tf.image.resize_images(BATCH, s, method) for s in (size, [2, 3]))
        np.testing.assert_allclose(*session.run([small, known], {size: [2, 3]}))


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_is_rotated_as_often_as_is_fed(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        times = tf.placeholder(tf.int32, [])
        transposed = tf.image.rot90(BATCH, times)
        assert transposed.shape.as_list() == [2, None, None, 3]
        for k in (-1, 0, 1, 2, 3, 4, 5):
            found = session.run(transposed, {times: k})
            np.testing.assert_array_equal(found, np.rot90(BATCH, k, (1, 2)))
        with pytest.raises(ValueError, match="scalar"):
            tf.image.rot90(BATCH, tf.constant([1]))


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_is_resized_within_borders_that_are_fed(target: str) -> None:
    image = np.arange(10, dtype=np.float32).reshape(2, 5, 1)
    with tf.Graph().as_default(), tf.Session(target) as session:
        high, wide = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
        for sizes in ((2, 5), (4, 4), (7, 3), (6, 15)):
            pair = [tf.image.resize_image_with_pad(image, *s) for s in (sizes, (high, wide))]
            known, fed = session.run(pair, {high: sizes[0], wide: sizes[1]})
            np.testing.assert_array_equal(known, fed)
            assert known.shape == (*sizes, 1)
        # 2 by 5 in 4 by 4 is 1.6 by 4, so that 1.2 rows are above it.
        found = tf.image.resize_image_with_pad(image, 4, 4, tf.image.ResizeMethod.NEAREST_NEIGHBOR)
        assert session.run(found)[..., 0].any(1).tolist() == [False, True, False, False]
        with pytest.raises(tf.errors.InvalidArgumentError, match="target_width must be > 0"):
            session.run(pair[1], {high: 1, wide: 0})


@pytest.mark.parametrize("target", TARGETS)
def test_the_part_of_the_middle_is_fed(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        part = tf.placeholder(tf.float32, [])
        middle = tf.image.central_crop(IMAGE, part)
        for number in (0.3, 0.5, 0.99, 1.0):
            known = tf.image.central_crop(IMAGE, number)
            np.testing.assert_array_equal(*session.run([middle, known], {part: number}))
        with pytest.raises(tf.errors.InvalidArgumentError, match="central_fraction"):
            session.run(middle, {part: 1.5})


def test_methods_of_resizing_have_names() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        for name, number in (("bilinear", 0), ("nearest", 1), ("bicubic", 2), ("area", 3)):
            pair = [tf.image.resize(BATCH, [3, 2], method) for method in (name, number)]
            np.testing.assert_array_equal(*session.run(pair))
        with pytest.raises(ValueError, match="not implemented: 'lanczos3'"):
            tf.image.resize(BATCH, [3, 2], tf.image.ResizeMethod.LANCZOS3)


@pytest.mark.parametrize("target", TARGETS)
def test_thresholds_of_boxes_are_fed(target: str) -> None:
    boxes = np.float32([[0, 0, 1, 1], [0, 0, 1, 0.9], [0, 2, 1, 3], [0, 4, 1, 5]])
    with tf.Graph().as_default(), tf.Session(target) as session:
        alike, least = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        kept = tf.image.non_max_suppression(boxes, [0.9, 0.8, 0.7, 0.1], 4, alike, least)
        assert session.run(kept, {alike: 0.5, least: 0.2}).tolist() == [0, 2]
        assert session.run(kept, {alike: 0.95, least: 0.0}).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("target", TARGETS)
def test_a_negative_gamma_is_refused(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        gamma = tf.placeholder(tf.float64, [])
        brighter = tf.image.adjust_gamma(IMAGE, gamma)
        np.testing.assert_allclose(session.run(brighter, {gamma: 2.0}), IMAGE**2)
        with pytest.raises(tf.errors.InvalidArgumentError, match="non-negative"):
            session.run(brighter, {gamma: -1.0})


#: invalid images and sizes
REFUSED: dict[str, Any] = {
    "no columns": lambda: tf.image.flip_up_down(np.zeros([2, 0, 3])),
    "no rows to cut": lambda: tf.image.crop_to_bounding_box(np.zeros([0, 2, 3]), 0, 0, 1, 1),
    "nothing is cut": lambda: tf.image.crop_to_bounding_box(IMAGE, 0, 0, 0, 1),
    "above the image": lambda: tf.image.crop_to_bounding_box(IMAGE, -1, 0, 1, 1),
    "a size of floats": lambda: tf.image.resize_images(IMAGE, [6, 4.0]),
    "a size of None": lambda: tf.image.resize_images(IMAGE, [6, None]),
    "two factors": lambda: tf.image.adjust_contrast(IMAGE, [2.0, 1.0]),
    "more than there are numbers": lambda: tf.image.resize(BATCH, [1 << 32, 1 << 31]),
    "padded to more": lambda: tf.image.pad_to_bounding_box(IMAGE, 0, 0, 1 << 32, 1 << 31),
    "a threshold for each": lambda: tf.image.non_max_suppression([[0.0] * 4], [1.0], 1, [0.5]),
    "counts of boxes": lambda: tf.image.non_max_suppression([[0.0] * 4], [1.0], [1]),
    "an infinite box": lambda: tf.image.crop_and_resize(BATCH, [[0, 0, 1e40, 1]], [0], [1, 1]),
    "a tensor of floats": lambda: tf.image.resize_images(IMAGE, tf.constant([6.0, 4.0])),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses_while_it_builds(name: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError):
        REFUSED[name]()


def test_the_whole_middle_is_the_image_itself() -> None:
    x = tf.placeholder(tf.float32, [None, 4, 5, 3])
    assert tf.image.central_crop(x, 1.0) is x


def test_a_size_that_is_requested_is_known() -> None:
    x = tf.placeholder(tf.float32, [None, 60, 3])
    assert tf.image.resize_image_with_crop_or_pad(x, 55, 66).shape.as_list() == [55, 66, 3]
    offset = tf.placeholder(tf.int32, [])
    assert tf.image.pad_to_bounding_box(x, offset, 0, 70, 70).shape.as_list() == [70, 70, 3]
