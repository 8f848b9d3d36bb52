"""tf.audio: sounds in WAV files."""

from __future__ import annotations

from typing import Any, NamedTuple

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.base import shapes
from graphio.ops.base.emit import describe, scope
from graphio.ops.base.shapes import dims_of
from graphio.ops.media.calls import call, contents_of, scalar_of
from graphio.support import api_guard, errors, public_path

__all__ = ["DecodeWav", "decode_wav", "encode_wav"]


class DecodeWav(NamedTuple):
    """The results of decode_wav.

    Attributes:
        audio: float32 (samples, channels).
        sample_rate: int32 scalar: samples a second.
    """

    audio: Tensor
    sample_rate: Tensor


public_path.name_class(DecodeWav, "graphio.ops.media.sounds", "DecodeWav")


@api_guard.operator
def decode_wav(
    contents: Any, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None
) -> DecodeWav:
    """The samples of a WAV file of 16 bits.

    Args:
        contents: scalar string tensor: the bytes of the file.
        desired_channels: others are left out, the last one is repeated for missing ones; -1: as
            the file has.
        desired_samples: others are left out, missing ones are zeros; -1: as the file has.
        name: of the operation.

    Returns:
        audio, float32 (samples, channels) in [-1, 1); sample_rate, int32.

    Raises:
        ValueError: contents is not a scalar.
        InvalidArgumentError: a number is out of range; of the run: the file is damaged, of another
            format or too large.
    """
    op = "DecodeWav"
    with scope(name, op) as at:
        for what, number in (("channels", desired_channels), ("samples", desired_samples)):
            if number < -1 or number == 0 and what == "channels":
                raise errors.InvalidArgumentError(
                    message=f"desired_{what} of {op} is {number}, expected more, or -1"
                )
        sizes = [None if n < 0 else n for n in (desired_samples, desired_channels)]
        outputs = [(dtypes.float32, tuple(sizes)), (dtypes.int32, ())]
        options = {"desired_channels": desired_channels, "desired_samples": desired_samples}
        made = call(op, [contents_of(contents, op, at)], outputs, at, **options)
        return DecodeWav(*made.outputs)


@api_guard.operator
def encode_wav(audio: Any, sample_rate: Any, name: str | None = None) -> Tensor:
    """A WAV file of 16 bits a sample.

    Args:
        audio: float32 (samples, channels); numbers beyond [-1, 1] are limited.
        sample_rate: scalar int32 tensor: samples a second.
        name: of the operation.

    Returns:
        A scalar string tensor.

    Raises:
        ValueError: a shape does not fit.
        InvalidArgumentError: of the run: there are no channels, or too many samples.
    """
    op = "EncodeWav"
    with scope(name, op) as at:
        samples = convert_to_tensor(audio, dtypes.float32, name="audio")
        shapes.merge(dims_of(samples), (None, None), describe(at, op))
        rate = convert_to_tensor(sample_rate, dtypes.int32, name="sample_rate")
        inputs = [samples, scalar_of(rate, op, at)]
        return call(op, inputs, [(dtypes.string, ())], at).outputs[0]
