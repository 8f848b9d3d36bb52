"""ImageDecoder: pictures in the portable pixmap format, whose bytes are those of the pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases import bad, case, integers
from graphio.support import errors

INVALID = errors.InvalidArgumentError
COLOURS = integers(3, 2, 3, low=0, high=256, dtype="uint8")
GREYS = integers(2, 5, low=0, high=256, dtype="uint8")


def pixmap(pixels: Any) -> Any:
    """The file of a picture."""
    head = f"P{6 if pixels.ndim == 3 else 5} {pixels.shape[1]} {pixels.shape[0]} 255\n"
    return np.frombuffer(head.encode() + pixels.tobytes(), np.uint8)


for label, pixels, attrs, expected in (
    ("colours", COLOURS, {}, COLOURS),
    ("red first", COLOURS, {"pixel_format": "RGB"}, COLOURS),
    ("blue first", COLOURS, {"pixel_format": "BGR"}, COLOURS[:, :, ::-1]),
    ("grey", GREYS, {"pixel_format": "Grayscale"}, GREYS[:, :, None]),
    ("grey in colours", GREYS, {}, np.repeat(GREYS[:, :, None], 3, 2)),
):
    case("ImageDecoder", [pixmap(pixels)], attrs, expect=[expected], label=label)
GREY = 0.299 * COLOURS[..., :1] + 0.587 * COLOURS[..., 1:2] + 0.114 * COLOURS[..., 2:]
case(
    "ImageDecoder",
    [pixmap(COLOURS)],
    {"pixel_format": "Grayscale"},
    expect=[np.round(GREY).astype(np.uint8)],
    label="colours in grey",
)
FILE = pixmap(COLOURS)
for label, data, attrs, words in (
    ("empty", FILE[:0], {}, "not a picture"),
    ("cut", FILE[:-1], {}, "damaged"),
    ("no picture", np.arange(100, dtype=np.uint8), {}, "not a picture"),
    ("another format", np.frombuffer(b"GIF89a\1\0\1\0\0\0\0;", np.uint8), {}, "not a picture"),
    ("pixels", FILE, {"pixel_format": "rgb"}, "pixel_format is 'rgb'"),
    ("rank", FILE[None], {}, "expected a vector of uint8"),
    ("type", FILE.astype(np.int32), {}, "expected a vector of uint8"),
):
    bad("ImageDecoder", [data], attrs, error=INVALID, words=[words], label=label)
