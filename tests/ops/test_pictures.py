"""Pictures of each format, and who decodes them in C."""

from __future__ import annotations

import io
from typing import Any

import engines
import numpy as np
import pytest

from graphio import errors

Image = pytest.importorskip("PIL.Image")
PIXELS = np.random.RandomState(0).randint(0, 256, (9, 7, 3), np.uint8)


def node(data: np.ndarray) -> tuple[bytes, list[np.ndarray]]:
    return engines.one_node("ImageDecoder", [data], {}, [np.uint8], version=20)


def file_of(kind: str, **options: Any) -> np.ndarray:
    stream = io.BytesIO()
    Image.fromarray(PIXELS).save(stream, kind, **options)
    return np.frombuffer(stream.getvalue(), np.uint8)


@pytest.mark.parametrize("engine", ["runtime", "cinfer"])
@pytest.mark.parametrize(
    ("kind", "options"),
    [("PNG", {}), ("BMP", {}), ("TIFF", {}), ("PPM", {}), ("WEBP", {"lossless": True}),
     ("JPEG2000", {"irreversible": False})],
)  # fmt: skip
def test_a_picture_of_each_format_is_decoded(
    engine: str, kind: str, options: dict[str, Any]
) -> None:
    data, fed = node(file_of(kind, **options))
    assert np.array_equal(engines.run(engine, data, fed)[0], PIXELS)


@pytest.mark.parametrize("engine", ["runtime", "cinfer"])
def test_a_picture_whose_size_only_the_run_tells_is_decoded(engine: str) -> None:
    kinds = {"version": 20, "unknown": True}
    data, fed = engines.one_node("ImageDecoder", [file_of("PNG")], {}, [np.uint8], **kinds)
    assert np.array_equal(engines.run(engine, data, fed)[0], PIXELS)
    data, fed = engines.one_node("ImageDecoder", [PIXELS], {}, [np.uint8], **kinds)
    with pytest.raises(errors.InvalidArgumentError, match="expected a vector of uint8"):
        engines.run(engine, data, fed)


def test_a_program_decodes_pictures_for_the_c_library_itself() -> None:
    cinfer = pytest.importorskip("graphio.cinfer")
    data, _ = node(PIXELS.ravel())

    def decode(inputs: list[np.ndarray]) -> list[np.ndarray]:
        return [inputs[0].reshape(9, 7, 3)]

    loaded = cinfer.load(data, host={"ai.onnx.ImageDecoder/RGB": decode})
    assert np.array_equal(loaded.signature().run([PIXELS.ravel()])[0], PIXELS)

    wrong = cinfer.load(data, host={"ai.onnx.ImageDecoder/RGB": lambda x: [x[0]]})
    with pytest.raises(errors.InvalidArgumentError, match="ImageDecoder 'node'"):
        wrong.signature().run([PIXELS.ravel()])


def test_a_picture_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 20)
    data, fed = node(file_of("PNG"))
    for engine in ("runtime", "cinfer"):
        with pytest.raises(errors.ResourceExhaustedError, match="pixels"):
            engines.run(engine, data, fed)
