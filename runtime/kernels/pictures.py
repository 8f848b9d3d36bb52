"""ImageDecoder."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.engine import images
from graphio.runtime.registry import Array, Call, Function, kernel
from graphio.support import errors


@kernel("ImageDecoder", since=20, types="Z", fresh=True)
def _image_decoder(call: Call) -> Function:
    pixels = call.text("pixel_format", "RGB")
    if pixels not in images.PIXELS:
        raise errors.InvalidArgumentError(
            message=f"pixel_format is {pixels!r}, expected RGB, BGR or Grayscale"
        )

    def decode(data: Any) -> Array:
        if data.dtype != np.uint8 or data.ndim != 1:
            raise errors.InvalidArgumentError(
                message=f"the input is {data.dtype}{list(data.shape)}, expected a vector of uint8"
            )
        return images.decode(data, pixels)

    return decode
