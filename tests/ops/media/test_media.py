"""Pictures and sounds in programs: files, data sets, saved models, damaged files."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from media_golden import files, stored

import graphio as tf
from graphio import cinfer
from graphio.engine.media import decoding, gif, wav

Image = pytest.importorskip("PIL.Image")
FILES = stored.files()
BOX = [[[0.0, 0.0, 1.0, 1.0]]]
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@TARGETS
def test_a_dataset_decodes_the_files_that_it_reads(target: str, tmp_path: Path) -> None:
    paths = [tmp_path / "a.jpg", tmp_path / "b.png"]
    for path, name in zip(paths, ("jpeg", "png rgba"), strict=True):
        path.write_bytes(FILES[name])
    data = tf.data.Dataset.from_tensor_slices([str(path) for path in paths])
    data = data.map(lambda path: tf.image.decode_jpeg(tf.read_file(path), channels=3))
    picture = data.make_one_shot_iterator().get_next()
    assert picture.shape.as_list() == [None, None, 3]
    with tf.Session(target=target) as session:
        for name in ("jpeg", "png rgba"):
            found = session.run(picture)
            assert np.array_equal(found, decoding.decode(FILES[name], channels=3))


def test_shapes_are_known_as_far_as_in_tensorflow() -> None:
    contents = tf.placeholder(tf.string)
    for made, shape in (
        (tf.image.decode_jpeg(contents), [None, None, None]),
        (tf.image.decode_jpeg(contents, channels=1), [None, None, 1]),
        (tf.io.decode_png(contents, channels=4), [None, None, 4]),
        (tf.image.decode_gif(contents), [None, None, None, 3]),
        (tf.image.decode_bmp(contents, 3), [None, None, 3]),
        (tf.image.decode_image(contents, 3, expand_animations=False), [None, None, 3]),
        (tf.image.decode_and_crop_jpeg(contents, [1, 2, 3, 4], 3), [3, 4, 3]),
        (tf.io.extract_jpeg_shape(contents), [3]),
        (tf.audio.decode_wav(contents, 2).audio, [None, 2]),
    ):
        assert made.shape.as_list() == shape
    assert tf.image.decode_image(contents).shape.ndims is None
    picture = tf.image.decode_jpeg(contents)
    assert (picture.op.type, picture.op.inputs[0]) == ("DecodeJpeg", contents)
    assert tf.gradients(tf.cast(picture, tf.float32), contents) == [None]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tf.image.decode_jpeg("", channels=2), "channels of DecodeJpeg is 2"),
        (lambda: tf.image.decode_jpeg("", ratio=3), "ratio of DecodeJpeg is 3"),
        (lambda: tf.image.decode_jpeg("", dct_method="FAST"), "dct_method"),
        (lambda: tf.image.decode_bmp("", channels=1), "channels of DecodeBmp is 1"),
        (lambda: tf.image.decode_gif([""]), "rank 0 but is rank 1"),
        (lambda: tf.image.extract_jpeg_shape("", tf.uint8), "output_type"),
        (lambda: tf.image.encode_jpeg(np.zeros((2, 2), np.uint8)), "equal rank"),
        (lambda: tf.image.encode_jpeg(np.zeros((2, 2, 3), np.uint8), quality=101), "quality"),
        (lambda: tf.image.encode_jpeg(np.zeros((2, 2, 3), np.uint8), "cmyk"), "format"),
        (lambda: tf.image.encode_png(np.zeros((2, 2, 3), np.uint8), 10), "compression"),
        (lambda: tf.image.random_jpeg_quality(np.zeros((2, 2, 3)), 50, 50), "less than"),
        (lambda: tf.image.random_jpeg_quality(np.zeros((2, 2, 3)), -1, 50), "between 0 and 100"),
        (lambda: tf.audio.decode_wav("", desired_channels=0), "desired_channels"),
        (lambda: tf.image.sample_distorted_bounding_box([2, 2, 3], BOX, area_range=[2, 1]), "area"),
        (lambda: tf.image.draw_bounding_boxes(np.zeros((1, 2, 2, 2), np.float32), BOX), "depth"),
    ],
)  # fmt: skip
def test_an_argument_without_a_meaning_is_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_a_dtype_that_cannot_be_encoded_is_refused() -> None:
    with pytest.raises(TypeError, match=r"float32 not in list of allowed values: uint8"):
        tf.image.encode_jpeg(np.zeros((2, 2, 3), np.float32))
    with pytest.raises(TypeError, match=r"float32 not in list of allowed values: uint8, uint16"):
        tf.image.decode_png("", dtype=tf.float32)


# ---- damaged files ----


def mutations(data: bytes, count: int) -> list[bytes]:
    """Parts of a file, and files with other bytes."""
    draw = np.random.RandomState(len(data))
    found = [data[: len(data) * k // 6] for k in range(6)]
    for _ in range(count):
        changed = bytearray(data)
        for at in draw.randint(0, len(data), 1 + draw.randint(4)):
            changed[at] = draw.randint(256)
        found.append(bytes(changed))
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in FILES if len(FILES[name]) > 100])
def test_a_damaged_file_is_decoded_or_an_invalid_argument(name: str) -> None:
    for data in mutations(FILES[name], 40):
        for options in ({}, {"channels": 1}, {"op": "DecodeBmp"}):
            try:
                found = decoding.decode(data, **options)
            except (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError):
                continue
            assert found.ndim in (3, 4) and found.dtype == np.uint8


def test_a_damaged_sound_is_decoded_or_an_invalid_argument() -> None:
    data = wav.encode(np.zeros((20, 2), np.float32), 8000)
    for changed in mutations(data, 300):
        try:
            samples, _ = wav.decode(changed)
        except tf.errors.InvalidArgumentError:
            continue
        assert samples.ndim == 2


def test_a_small_file_of_many_large_frames_is_refused_before_it_is_decoded() -> None:
    frame = b"\x2c" + struct.pack("<HHHHB", 0, 0, 6000, 6000, 0) + b"\x08\x01\x00\x00"
    data = b"GIF89a" + struct.pack("<HH", 6000, 6000) + b"\x80\0\0" + bytes(6) + frame * 100 + b";"
    with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
        gif.decode(data)


@TARGETS
def test_an_error_of_a_run_names_the_operation(target: str) -> None:
    picture = tf.image.decode_jpeg(b"no picture", name="cat")
    with tf.Session(target=target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"'cat(_1)?'.*Unknown image file"):
            session.run(picture)
    quality = tf.placeholder(tf.int32, [])
    adjusted = tf.image.adjust_jpeg_quality(files.picture(3), quality)
    with tf.Session(target=target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"quality must be in \[0,100\]"):
            session.run(adjusted, {quality: 200})


# ---- encoding ----


@TARGETS
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_a_png_file_has_the_pixels_that_were_encoded(
    channels: int, dtype: str, target: str
) -> None:
    pixels = files.picture(channels)
    pixels = pixels if dtype == "uint8" else files.wide(pixels)
    data = tf.image.encode_png(pixels)
    with tf.Session(target=target) as session:
        file, again = session.run([data, tf.image.decode_png(data, dtype=dtype)])
    assert np.array_equal(again, pixels)
    with Image.open(io.BytesIO(file)) as read:
        assert read.size == pixels.shape[1::-1]
    if dtype == "uint8":
        mode = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}[channels]
        found = np.array(Image.open(io.BytesIO(file)).convert(mode))
        assert np.array_equal(found.reshape(pixels.shape), pixels)


# ---- random ones ----


@TARGETS
def test_noise_around_a_glimpse_is_between_the_minimum_and_the_maximum(target: str) -> None:
    image = np.random.RandomState(0).rand(1, 4, 4, 2).astype(np.float32) * 3 + 2
    made = tf.image.extract_glimpse(image, [60, 60], [[0.0, 0.0]])
    with tf.Session(target=target) as session:
        found = session.run(made)
    inner = found[0, 28:32, 28:32]
    assert np.array_equal(inner, image[0])
    noise = np.delete(found.reshape(-1), 0)
    assert image.min() <= noise.min() < image.min() + 0.1
    assert image.max() - 0.1 < noise.max() <= image.max()
    assert abs(noise.mean() - (image.min() + image.max()) / 2) < 0.05


def test_a_seed_gives_the_same_parts_in_both_engines_and_sessions() -> None:
    part = tf.image.sample_distorted_bounding_box(
        [50, 70, 3], [[[0.2, 0.2, 0.8, 0.9]]], seed=5, min_object_covered=0.3
    )
    runs = []
    for target in ("runtime", "cinfer"):
        with tf.Session(target=target) as session:
            runs.append([session.run(part) for _ in range(20)])
    for one, other in zip(*runs, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert len({tuple(begin) for begin, _, _ in runs[0]}) > 10
    for begin, size, box in runs[0]:
        ends = np.array([*begin[:2], *(begin + size)[:2]]) / [50, 70, 50, 70]
        np.testing.assert_allclose(box[0, 0], ends, rtol=1e-6)
        assert 0.74 <= size[1] / size[0] <= 1.4
        assert size[0] * size[1] >= 0.05 * 50 * 70 - 70


def test_a_picture_without_objects_is_the_object_where_that_is_requested() -> None:
    none = np.zeros((1, 0, 4), np.float32)
    made = tf.image.sample_distorted_bounding_box([20, 30, 3], none, seed=1)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="No bounding boxes provided"):
            session.run(made.begin)
        allowed = tf.image.sample_distorted_bounding_box(
            [20, 30, 3], none, seed=1, use_image_if_no_bounding_boxes=True
        )
        assert session.run(allowed.size)[2] == -1


def test_random_quality_is_in_its_range() -> None:
    pixels = files.picture(3)
    made = tf.image.random_jpeg_quality(pixels, 20, 22, seed=3)
    each = [tf.image.adjust_jpeg_quality(pixels, quality) for quality in (20, 21)]
    with tf.Session() as session:
        known = session.run(each)
        found = [session.run(made) for _ in range(12)]
    kinds = [[np.array_equal(one, other) for other in known] for one in found]
    assert {tuple(kind) for kind in kinds} == {(True, False), (False, True)}


# ---- saved and in other programs ----


@TARGETS
def test_a_saved_model_decodes_in_another_program(target: str, tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        contents = tf.placeholder(tf.string, [], name="contents")
        picture = tf.identity(tf.image.decode_jpeg(contents, channels=3), name="picture")
        tf.saved_model.simple_save(
            session, str(tmp_path / "model"), {"contents": contents}, {"picture": picture}
        )
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        tf.saved_model.load(session, ["serve"], str(tmp_path / "model"))
        found = session.run("picture:0", {"contents:0": FILES["jpeg"]})
    assert np.array_equal(found, decoding.decode(FILES["jpeg"], channels=3))


def test_a_graph_that_is_imported_twice_decodes() -> None:
    with tf.Graph().as_default() as graph:
        tf.image.decode_jpeg(tf.placeholder(tf.string, [], name="contents"), ratio=2, name="small")
        definition = graph.as_graph_def()
    for _ in range(2):
        tf.import_graph_def(definition, name="copy")
    with tf.Session() as session:
        for name in ("copy", "copy_1"):
            found = session.run(f"{name}/small:0", {f"{name}/contents:0": FILES["jpeg"]})
            assert found.shape == (9, 11, 3)


def test_a_program_decodes_for_the_c_library_by_the_name_of_the_function(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        contents = tf.placeholder(tf.string, [])
        picture = tf.image.decode_png(contents, channels=1)
        signatures = {"run": ({"contents": contents}, {"picture": picture})}
        tf.saved_model.save(str(tmp_path / "m.gio"), session, signatures)
    fed = {"contents": FILES["png rgb"]}
    found = cinfer.load(tmp_path / "m.gio").signature("run")(**fed)["picture"]
    assert np.array_equal(found, decoding.decode(FILES["png rgb"], channels=1))

    name = "media/DecodePng?channels=1&dtype=uint8"
    white = np.full((2, 2, 1), 255, np.uint8)
    hosted = cinfer.load(tmp_path / "m.gio", host={name: lambda inputs: [white]})
    assert np.array_equal(hosted.signature("run")(**fed)["picture"], white)


def test_nothing_imports_pillow_before_a_picture_is_decoded() -> None:
    program = (
        "import sys, graphio as tf\n"
        "picture = tf.image.decode_jpeg(tf.placeholder(tf.string, []))\n"
        "file = tf.image.encode_png(tf.zeros([2, 2, 3], tf.uint8))\n"
        "tf.Session().run(file)\n"
        "assert 'PIL' not in sys.modules\n"
        "sys.modules['PIL'] = None\n"
        "try:\n"
        "    tf.Session().run(tf.image.decode_jpeg(b'\\xff\\xd8\\xff'))\n"
        "except tf.errors.UnimplementedError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pictures need Pillow" in done.stdout, done.stderr
