"""Pictures, sounds and operators on boxes against what TensorFlow makes of the same files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from media_golden import scenes, stored

import graphio as tf
from graphio.engine.media import distortion
from graphio.runtime import philox

pytest.importorskip("PIL.Image")
pytest.importorskip("simplejpeg")
VALUES = stored.load()["values"]
FILES = stored.files()
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


def assert_close(found: Any, row: list[Any], name: str) -> None:
    """Pixels may differ by one, of 16 bits by two; floats by what is rounded."""
    expected = stored.unpacked(row)
    if isinstance(expected, bytes):
        assert found == expected, name
        return
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), name
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6, err_msg=name)
        return
    exact = expected.dtype.kind != "u"
    limit = 0 if exact else expected.dtype.itemsize
    assert np.abs(found.astype(np.int64) - expected.astype(np.int64)).max(initial=0) <= limit, name


@TARGETS
@pytest.mark.parametrize("name", FILES)
def test_a_file_is_decoded_as_by_tensorflow(name: str, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        contents = tf.placeholder(tf.string, [])
        for call, build in scenes.decoding(name):
            expected = VALUES[f"{name}: {call}"]
            made = build(tf, contents)
            if isinstance(expected, str):
                with pytest.raises(getattr(tf.errors, expected)):
                    session.run(made, {contents: FILES[name]})
                continue
            found = session.run(made, {contents: FILES[name]})
            assert_close(found, expected[0], call)
            assert made.shape.is_compatible_with(found.shape)


@TARGETS
@pytest.mark.parametrize("name", scenes.SCENES)
def test_a_scene_gives_the_values_of_tensorflow(name: str, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        made = scenes.SCENES[name](tf)
        fetches = list(made) if isinstance(made, (list, tuple)) else [made]
        found = session.run(fetches)
        if name.startswith("encode_jpeg"):  # other versions of the library write other bytes
            fetches = [tf.image.decode_jpeg(tf.constant(x)) for x in found]
            found = session.run(fetches)
            theirs = [tf.image.decode_jpeg(tf.constant(stored.unpacked(r))) for r in VALUES[name]]
            expected = [stored.packed(pixels) for pixels in session.run(theirs)]
        else:
            expected = VALUES[name]
    for value, row in zip(found, expected, strict=True):
        assert_close(value, row, name)


@pytest.mark.parametrize("number", range(len(scenes.PARTS)))
def test_a_part_is_drawn_from_random_words_as_by_tensorflow(number: int) -> None:
    size, boxes, options = scenes.PARTS[number]
    attempts = np.arange(options["max_attempts"], dtype=np.uint64)
    words = philox.blocks(number + 1, attempts, np.full_like(attempts, number + 5)).ravel()
    found = distortion.sample(
        np.array(size, np.int32),
        boxes,
        np.float32(options["min_object_covered"]),
        np.float32(options["aspect_ratio_range"]),
        np.float32(options["area_range"]),
        words,
    )
    for value, row in zip(found, VALUES[f"part {number}"], strict=True):
        assert_close(value, row, "part")


def test_every_scene_is_recorded() -> None:
    calls = [f"{name}: {call}" for name in FILES for call, _ in scenes.decoding(name)]
    parts = [f"part {k}" for k in range(len(scenes.PARTS))]
    assert [*scenes.SCENES, *calls, *parts] == list(VALUES)
