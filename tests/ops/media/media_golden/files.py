"""Makes the files: python -m media_golden.files."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from typing import Any

import numpy as np

from media_golden import stored

HEIGHT, WIDTH = 18, 21


def picture(channels: int, seed: int = 0, height: int = HEIGHT, width: int = WIDTH) -> Any:
    """Pixels that change slowly, with some noise."""
    y, x = np.mgrid[:height, :width]
    waves = [127 + 120 * np.sin(x / 5 + k + seed) * np.cos(y / (4 + k)) for k in range(channels)]
    noise = np.random.RandomState(seed).randint(-8, 8, (height, width, channels))
    return np.clip(np.stack(waves, -1) + noise, 0, 255).astype(np.uint8)


def saved(pixels: Any, kind: str, mode: str | None = None, **options: Any) -> bytes:
    """A file that Pillow writes."""
    from PIL import Image

    stream = io.BytesIO()
    image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    (image.convert(mode) if mode in ("1", "P") else image).save(stream, kind, **options)
    return stream.getvalue()


# ---- JPEG ----


def cmyk() -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(picture(4), "CMYK").save(stream, "JPEG", quality=90)
    return stream.getvalue()


def without_adobe(file: bytes) -> bytes:
    """The file without the segment in which Adobe says that inks are stored inverted."""
    at = file.find(b"Adobe")
    length = struct.unpack(">H", file[at - 2 : at])[0]
    return file[: at - 4] + file[at - 2 + length :]


# ---- PNG ----


def chunk(kind: bytes, data: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + check


def png(pixels: Any, depth: int, colours: int, extra: bytes = b"", size: Any = None) -> bytes:
    """A file of a depth and a type of colours, which Pillow does not write."""
    height, width = size or pixels.shape[:2]
    if depth == 16:
        lines = pixels.astype(">u2").view(np.uint8).reshape(len(pixels), -1)
    elif depth == 8:
        lines = pixels.reshape(len(pixels), -1)
    else:
        bits = np.unpackbits(pixels.reshape(*pixels.shape[:2], 1), axis=2)[..., 8 - depth :]
        lines = np.packbits(bits.reshape(len(pixels), -1), axis=1)
    data = b"".join(b"\0" + line.tobytes() for line in lines)
    header = struct.pack(">IIBBBBB", width, height, depth, colours, 0, 0, 0)
    parts = chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(data))
    return b"\x89PNG\r\n\x1a\n" + parts + chunk(b"IEND", b"")


def wide(pixels: Any) -> Any:
    """Numbers of 16 bits."""
    noise = np.random.RandomState(1).randint(0, 300, pixels.shape)
    return (pixels.astype(np.uint16) * 251 + noise).astype(np.uint16)


# ---- GIF ----


def gif(frames: int, **options: Any) -> bytes:
    from PIL import Image

    made = [Image.fromarray(picture(1, k)[..., 0] >> 5) for k in range(frames)]
    colours = np.random.RandomState(2).randint(0, 256, 24).tolist()
    for image in made:
        image.putpalette(colours)
    stream = io.BytesIO()
    made[0].save(stream, "GIF", save_all=True, append_images=made[1:], **options)
    return stream.getvalue()


def moved(file: bytes) -> bytes:
    """The file with its first frame away from the corner."""
    at = file.find(b"\x2c\0\0\0\0")
    return file[: at + 1] + struct.pack("<HH", 2, 1) + file[at + 5 :]


def make() -> dict[str, bytes]:
    """All files by name."""
    rgb, grey = picture(3), picture(1)
    palette = np.random.RandomState(3).randint(0, 256, 48).astype(np.uint8).tobytes()
    plte = chunk(b"PLTE", palette)
    bmp = saved(rgb, "BMP")
    found = {
        "jpeg": saved(rgb, "JPEG", quality=85),
        "jpeg 422": saved(rgb, "JPEG", quality=85, subsampling=1),
        "jpeg 444": saved(rgb, "JPEG", quality=85, subsampling=0, progressive=True),
        "jpeg grey": saved(grey, "JPEG", quality=85),
        "jpeg cmyk": cmyk(),
        "jpeg cmyk without adobe": without_adobe(cmyk()),
        "jpeg tiny": saved(picture(3, 0, 3, 5), "JPEG"),
        "jpeg cut": saved(rgb, "JPEG", quality=85)[:-300],
        "png grey": png(grey, 8, 0),
        "png grey alpha": png(picture(2), 8, 4),
        "png rgb": saved(rgb, "PNG"),
        "png rgba": saved(picture(4), "PNG"),
        "png16 grey": png(wide(grey), 16, 0),
        "png16 grey alpha": png(wide(picture(2)), 16, 4),
        "png16 rgb": png(wide(rgb), 16, 2),
        "png16 rgba": png(wide(picture(4)), 16, 6),
        "png bits": png(grey >> 7, 1, 0),
        "png palette": png(grey >> 4, 4, 3, plte),
        "png palette alpha": png(grey >> 4, 8, 3, plte + chunk(b"tRNS", bytes([0, 100, 200]))),
        "png key": png(grey, 8, 0, chunk(b"tRNS", struct.pack(">H", int(grey[0, 0, 0])))),
        "png cut": saved(rgb, "PNG")[:-200],
        "png too large": png(grey, 8, 0, size=(1 << 20, 1 << 20)),
        "gif": gif(1),
        "gif interlaced": gif(1, interlace=1),
        "gif frames": gif(3, transparency=3, disposal=0),
        "gif background": gif(3, transparency=3, disposal=2),
        "gif moved": moved(gif(1)),
        "gif cut": gif(1)[:-90],
        "bmp": bmp,
        "bmp top first": bmp[:22] + struct.pack("<i", -HEIGHT) + bmp[26:],
        "bmp palette": saved(grey, "BMP"),
        "bmp alpha": saved(picture(4), "BMP"),
        "bmp bits": saved(grey, "BMP", "1"),
        "bmp cut": bmp[:-50],
        "webp": b"RIFF0000WEBP",
        "empty": b"",
        "jpeg head": b"\xff\xd8\xff\xe0" + bytes(50),
    }
    return found


if __name__ == "__main__":
    data = {name: base64.b64encode(file).decode() for name, file in make().items()}
    stored.save({"files": data, "values": {}})
