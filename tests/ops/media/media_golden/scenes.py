"""The scenes: names, and functions from a module (TensorFlow or graphio) and a file to tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Scene = Callable[[Any], Any]
ACCURATE = {"dct_method": "INTEGER_ACCURATE"}
NEW = np.random.RandomState


def decoding(name: str) -> Iterator[tuple[str, Callable[[Any, Any], Any]]]:
    """The calls for a file: names, and functions of a module and the contents."""
    kind = name.split()[0].rstrip("16")
    if kind == "jpeg":
        for channels in (0, 1, 3):
            yield (
                f"decode_jpeg {channels}",
                lambda tf, c, n=channels: tf.image.decode_jpeg(c, n, **ACCURATE),
            )
        if "cmyk" not in name:  # of four inks INTEGER_ACCURATE alone is known
            yield "fast", lambda tf, c: tf.image.decode_jpeg(c)
        yield "extract_jpeg_shape", lambda tf, c: tf.image.extract_jpeg_shape(c)
    if name == "jpeg":
        for ratio in (2, 4, 8):
            yield (
                f"ratio {ratio}",
                lambda tf, c, r=ratio: tf.image.decode_jpeg(c, ratio=r, **ACCURATE),
            )
            yield f"fast, ratio {ratio}", lambda tf, c, r=ratio: tf.image.decode_jpeg(c, ratio=r)
        yield (
            "repeated colours",
            lambda tf, c: tf.image.decode_jpeg(c, fancy_upscaling=False, **ACCURATE),
        )
        yield (
            "crop",
            lambda tf, c: tf.image.decode_and_crop_jpeg(c, [2, 3, 9, 18], **ACCURATE),
        )
        yield (
            "crop beyond",
            lambda tf, c: tf.image.decode_and_crop_jpeg(c, [2, 3, 9, 31], **ACCURATE),
        )
        yield "decode_bmp", lambda tf, c: tf.image.decode_bmp(c)
    if kind == "png":
        for channels in (0, 1, 3, 4):
            if name == "png bits" and channels == 4:
                continue  # TensorFlow's opacity of one bit is 1
            if name == "png palette" and channels == 4:
                continue
            yield f"decode_png {channels}", lambda tf, c, n=channels: tf.image.decode_png(c, n)
        yield "uint16", lambda tf, c: tf.image.decode_png(c, dtype=tf.uint16)
        yield "float32", lambda tf, c: tf.image.decode_image(c, dtype=tf.float32)
    if kind == "gif":
        yield "decode_gif", lambda tf, c: tf.image.decode_gif(c)
        yield "decode_png", lambda tf, c: tf.image.decode_png(c)
        yield (
            "first frame",
            lambda tf, c: tf.image.decode_image(c, expand_animations=False),
        )
    if kind == "bmp":
        for channels in (0, 3, 4):
            yield f"decode_bmp {channels}", lambda tf, c, n=channels: tf.image.decode_bmp(c, n)
    if kind != "jpeg" or name in ("jpeg cut", "jpeg head"):
        yield "decode_image", lambda tf, c: tf.image.decode_image(c)
        yield "decode_image 1", lambda tf, c: tf.image.decode_image(c, 1)


# ---- without files ----

IMAGES = NEW(0).rand(2, 12, 9, 3).astype(np.float32)
BOXES = (NEW(1).rand(2, 12, 4) * 1.4 - 0.2).astype(np.float32)
CROWD = NEW(2).rand(40, 4).astype(np.float32) * np.float32([1, 1, 0.5, 0.5])
CROWD[:, 2:] += CROWD[:, :2]
SCORES = NEW(3).rand(40).astype(np.float32)
OF_CLASSES = NEW(4).rand(2, 10, 3, 4).astype(np.float32), NEW(5).rand(2, 10, 3).astype(np.float32)
PAIR = NEW(6).rand(2, 60, 50, 3).astype(np.float32)
NOISY = np.clip(PAIR + NEW(7).randn(2, 60, 50, 3) * 0.1, 0, 1).astype(np.float32)
SOUND = np.float32([[0.5, -0.25], [1, -1], [2, -2], [0.1, 0.00002]])
WAVES = np.stack([127 + 100 * np.sin(np.mgrid[:18, :21][1] / 5 + k) for k in range(3)], -1).astype(
    np.uint8
)


def scores(overlap: float, least: float, sigma: float) -> Scene:
    return lambda tf: tf.image.non_max_suppression_with_scores(
        CROWD, SCORES, 15, overlap, least, sigma
    )


def combined(boxes: int, total: int, pad: bool, clip: bool) -> Scene:
    corners = OF_CLASSES[0][:, :, :boxes] * np.float32(1.5) - np.float32(0.2)
    return lambda tf: tf.image.combined_non_max_suppression(
        corners, OF_CLASSES[1], 2, total, 0.4, 0.3, pad, clip
    )


def glimpse(offsets: Any, **options: Any) -> Scene:
    return lambda tf: tf.image.extract_glimpse(IMAGES, [4, 3], np.float32(offsets), **options)


def sound(tf: Any) -> Any:
    file = tf.audio.encode_wav(SOUND, 44100)
    decode = tf.audio.decode_wav
    return [
        file,
        *decode(file),
        *decode(file, desired_channels=1),
        *decode(file, desired_channels=3, desired_samples=6),
        *decode(file, desired_samples=2),
    ]


def encoded(**options: Any) -> Scene:
    return lambda tf: tf.image.encode_jpeg(WAVES, **options)


SCENES: dict[str, Scene] = {
    "draw_bounding_boxes": lambda tf: tf.image.draw_bounding_boxes(IMAGES, BOXES),
    "draw_bounding_boxes grey": lambda tf: tf.image.draw_bounding_boxes(IMAGES[..., :1], BOXES),
    "draw_bounding_boxes in colours": lambda tf: tf.image.draw_bounding_boxes(
        IMAGES, BOXES, colors=CROWD[:3]
    ),
    "glimpse": glimpse([[0, 0.1], [-0.2, 0.3]]),
    "glimpse in pixels": glimpse([[0, 1], [-1.6, 1.2]], normalized=False),
    "glimpse from the corner": glimpse([[0.4, 0.5], [0.3, 0.6]], centered=False),
    "glimpse from the corner in pixels": glimpse(
        [[4, 5], [3.4, 6.2]], centered=False, normalized=False
    ),
    "scores": scores(0.5, float("-inf"), 0.0),
    "scores above": scores(0.3, 0.3, 0.0),
    "soft scores": scores(0.3, float("-inf"), 0.5),
    "soft scores above": scores(0.5, 0.3, 0.1),
    "overlaps": lambda tf: tf.image.non_max_suppression_overlaps(
        np.outer(SCORES, SCORES[::-1]), SCORES, 10, 0.3, 0.2
    ),
    "combined": combined(1, 9, False, True),
    "combined for classes": combined(3, 5, False, False),
    "combined padded": combined(1, 40, True, True),
    "combined many": combined(3, 40, False, True),
    "ssim_multiscale": lambda tf: tf.image.ssim_multiscale(PAIR, NOISY, 1.0, filter_size=3),
    "ssim_multiscale of one": lambda tf: tf.image.ssim_multiscale(
        PAIR[0], NOISY[0], 1.0, power_factors=(0.3, 0.7)
    ),
    "ssim": lambda tf: tf.image.ssim(PAIR[None], NOISY[None], 1.0),
    "psnr": lambda tf: tf.image.psnr(PAIR, NOISY, 1.0),
    "is_jpeg": lambda tf: tf.image.is_jpeg([b"\xff\xd8\xff\xe0", b"\xff\xd8", b"GIF8"]),
    "sound": sound,
    "encode_jpeg": encoded(),
    "encode_jpeg small": encoded(quality=0, optimize_size=True, progressive=True),
    "encode_jpeg headed": encoded(
        density_unit="cm",
        x_density=10,
        y_density=20,
        xmp_metadata="a & 1",
        chroma_downsampling=False,
    ),
    "adjust_jpeg_quality": lambda tf: tf.image.adjust_jpeg_quality(WAVES, 40),
}

#: sizes, boxes and options of sample_distorted_bounding_box; its seeds follow from the number
PARTS: list[tuple[list[int], Any, dict[str, Any]]] = []
for _k in range(12):
    _draw = NEW(20 + _k)
    _corners = np.sort(_draw.rand(1, 3, 2, 2), axis=2).reshape(1, 3, 4).astype(np.float32)
    PARTS.append(
        (
            [int(_draw.randint(5, 300)), int(_draw.randint(5, 300)), 3],
            _corners,
            {
                "min_object_covered": float(_draw.rand()),
                "aspect_ratio_range": [0.5, 1.5 + float(_draw.rand())],
                "area_range": [0.05, 0.3 + 0.7 * float(_draw.rand())],
                "max_attempts": 20,
            },
        )
    )
