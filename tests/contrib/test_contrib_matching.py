"""tf.contrib.image's matches and components, and tf.contrib.resampler, against plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphio as tf

ndimage = pytest.importorskip("scipy.ndimage")
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


def run(target: str, *made: Any) -> Any:
    with tf.Session(target=target) as session:
        return session.run(made)


# ---- matches ----


def pairs(distances: Any, valid: int, most: int) -> tuple[list[int], list[int]]:
    """Rows and columns, always the closest two that are free."""
    rows, columns = [-1] * distances.shape[0], [-1] * distances.shape[1]
    order = sorted(np.ndindex(distances.shape), key=lambda at: distances[at])
    for row, column in order:
        used = sum(r >= 0 for r in rows)
        if rows[row] < 0 > columns[column] and (valid < 0 or row < valid) and used != most:
            rows[row], columns[column] = column, row
    return rows, columns


@TARGETS
@pytest.mark.parametrize(("valid", "most"), [(-1, -1), (3, -1), (-1, 2), ([2], 5)])
def test_rows_and_columns_are_matched_by_distance(valid: Any, most: int, target: str) -> None:
    distances = np.random.RandomState(0).rand(5, 4).astype(np.float32)
    made = tf.contrib.image.bipartite_match(distances, valid, most)
    expected = pairs(distances, int(np.ravel(valid)[0]), most)
    found = run(target, *made)
    assert [part.tolist() for part in found] == list(expected)
    assert found[0].dtype == np.int32


# ---- components ----


@TARGETS
def test_pixels_of_equal_values_are_components_of_an_image(target: str) -> None:
    images = np.random.RandomState(1).randint(0, 3, (3, 9, 12))
    contrib = tf.contrib.image
    each, one = run(
        target, contrib.connected_components(images), contrib.connected_components(images[0] > 0)
    )
    assert np.array_equal(one, ndimage.label(images[0] > 0)[0])
    joint = np.zeros_like(images)
    for k, image in enumerate(images):
        for value in (1, 2):
            labels, _ = ndimage.label(image == value)
            joint[k] += np.where(labels > 0, labels + 1000 * value + 10000 * k, 0)
    firsts = [v for v in dict.fromkeys(joint.ravel().tolist()) if v]
    expected = np.vectorize(lambda v: firsts.index(v) + 1 if v else 0)(joint)
    assert np.array_equal(each, expected)


@TARGETS
def test_a_long_path_of_pixels_is_one_component(target: str) -> None:
    maze = np.zeros((21, 21), bool)
    maze[::2] = True
    maze[1::4, -1] = maze[3::4, 0] = True
    found = run(target, tf.contrib.image.connected_components(maze))[0]
    assert np.array_equal(found, maze.astype(np.int32))


# ---- images at positions ----


def sampled(image: Any, x: float, y: float) -> Any:
    """The image at a position, with zeros around it."""
    total = np.zeros(image.shape[-1])
    for row in (int(np.floor(y)), int(np.floor(y)) + 1):
        for column in (int(np.floor(x)), int(np.floor(x)) + 1):
            if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
                total += image[row, column] * (1 - abs(y - row)) * (1 - abs(x - column))
    return total


@TARGETS
def test_images_are_read_at_positions_with_gradients(target: str) -> None:
    draw = np.random.RandomState(2)
    data, warp = draw.rand(2, 5, 6, 3), draw.rand(2, 4, 3, 2) * 9 - 2
    given = tf.constant(data), tf.constant(warp)
    made = tf.contrib.resampler.resampler(*given)
    assert made.shape.as_list() == [2, 4, 3, 3]
    weights = draw.rand(2, 4, 3, 3)
    slopes = tf.gradients(tf.reduce_sum(made * weights), given)
    found, of_data, of_warp = run(target, made, *slopes)

    def expected(data: Any, warp: Any) -> Any:
        rows = [[sampled(data[n], *at) for at in warp[n].reshape(-1, 2)] for n in range(2)]
        return np.array(rows).reshape(found.shape)

    np.testing.assert_allclose(found, expected(data, warp), rtol=1e-12, atol=1e-12)
    for slope, number in ((of_data, 0), (of_warp, 1)):
        way, arrays = draw.randn(*slope.shape), [data, warp]
        ends = []
        for step in (1e-6, -1e-6):
            moved = list(arrays)
            moved[number] = arrays[number] + step * way
            ends.append((expected(*moved) * weights).sum())
        np.testing.assert_allclose((slope * way).sum(), (ends[0] - ends[1]) / 2e-6, rtol=1e-6)


# ---- colours ----


@TARGETS
def test_random_hues_saturations_and_values_are_in_their_ranges(target: str) -> None:
    contrib = tf.contrib.image
    pixels = np.random.RandomState(3).rand(4, 4, 3).astype(np.float32)
    same = contrib.random_hsv_in_yiq(pixels)
    lighter = contrib.random_hsv_in_yiq(pixels, lower_value=1.5, upper_value=2.0, seed=1)
    unchanged, found = run(target, same, lighter)
    np.testing.assert_allclose(unchanged, pixels, atol=2e-3)
    assert 1.49 < found.sum() / pixels.sum() < 2.01
    for options, words in (
        ({"max_delta_hue": -1}, "max_delta"),
        ({"lower_value": -1}, "lower_value"),
        ({"lower_saturation": 2}, "lower_saturation must be <"),
    ):
        with pytest.raises(ValueError, match=words):
            contrib.random_hsv_in_yiq(pixels, **options)
