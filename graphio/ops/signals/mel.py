"""tf.signal's mel bands, which divide frequencies as one hears them, and cepstral coefficients."""

from __future__ import annotations

from typing import Any

from graphio.framework import dtypes
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.base.emit import scope
from graphio.ops.base.primitive import cast
from graphio.ops.linalg.any_rank import of_any_rank
from graphio.ops.math import elementwise
from graphio.ops.signals import lengths
from graphio.ops.signals.cosine import dct
from graphio.support import api_guard

__all__ = ["linear_to_mel_weight_matrix", "mfccs_from_log_mel_spectrograms"]

_WIDE = dtypes.float64
#: mel = 1127 log(1 + hertz / 700)
_CORNER, _SLOPE = 700.0, 1127.0


def _mel(hertz: Tensor) -> Tensor:
    return _SLOPE * elementwise.log(1.0 + hertz / _CORNER)


@api_guard.operator
def linear_to_mel_weight_matrix(
    num_mel_bins: Any = 20,
    num_spectrogram_bins: Any = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: Any = 125.0,
    upper_edge_hertz: Any = 3800.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Weights of mel bands: triangles over the mel scale that overlap by half. A spectrogram
    (..., num_spectrogram_bins) times this matrix is a mel spectrogram (..., num_mel_bins).

    Args:
        num_mel_bins: integer, 1 or more.
        num_spectrogram_bins: integer, or scalar tensor: fft_length // 2 + 1 of stft.
        sample_rate: of the signal, in hertz; a number or a scalar tensor.
        lower_edge_hertz: where the first band begins, 0 or more.
        upper_edge_hertz: where the last band ends, at most half the sample rate.
        dtype: floating.
        name: of the operation.

    Returns:
        A tensor [num_spectrogram_bins, num_mel_bins], computed in float64 and rounded once. The
        first row, that of frequency 0, is 0.

    Raises:
        ValueError: an argument is out of its range, or dtype is not floating.
    """
    requested = dtypes.as_dtype(dtype).base_dtype
    op = "linear_to_mel_weight_matrix"
    with scope(name, op) as at:
        bands = lengths.given(num_mel_bins, op, "num_mel_bins", minimum=1)
        bins = lengths.given(num_spectrogram_bins, op, "num_spectrogram_bins")
        rate = lengths.wide(sample_rate, "sample_rate")
        lower = lengths.wide(lower_edge_hertz, "lower_edge_hertz")
        upper = lengths.wide(upper_edge_hertz, "upper_edge_hertz")
        _check(rate, lower, upper)
        if not requested.is_floating:
            raise ValueError(f"{op}: dtype is {requested.name}, expected a floating one")
        steps = lengths.largest(1, bins - 1)
        hertz = lengths.counted(bins, _WIDE) * (rate / 2.0 / lengths.as_number(steps, _WIDE))
        width = (_mel(upper) - _mel(lower)) / lengths.as_number(bands + 1, _WIDE)
        lowest = _mel(lower) + lengths.counted(bands, _WIDE) * width
        rise = (array.expand_dims(_mel(hertz), 1) - lowest) / width
        weights = elementwise.maximum(elementwise.minimum(rise, 2.0 - rise), 0.0)
        heard = cast(lengths.counted(bins) > 0, _WIDE)
        return elementwise.cast(weights * array.expand_dims(heard, 1), requested, name=at)


def _check(rate: Tensor, lower: Tensor, upper: Tensor) -> None:
    """Refuses what is known to be no range of frequencies."""
    known = [constant_value(v) for v in (rate, lower, upper)]
    hertz, low, high = (None if v is None else float(v) for v in known)
    where = "linear_to_mel_weight_matrix"
    if hertz is not None and not hertz > 0:
        raise ValueError(f"{where}: sample_rate is {hertz}, expected more than 0")
    if low is not None and low < 0:
        raise ValueError(f"{where}: lower_edge_hertz is {low}, expected 0 or more")
    if low is not None and high is not None and low >= high:
        raise ValueError(
            f"{where}: lower_edge_hertz is {low}, expected less than {high}, the upper"
        )
    if hertz is not None and high is not None and high > hertz / 2:
        raise ValueError(
            f"{where}: upper_edge_hertz is {high}, expected at most {hertz / 2}, half the rate"
        )


@api_guard.operator
@of_any_rank("mfccs_from_log_mel_spectrograms", 1)
def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Tensor:
    """Mel-frequency cepstral coefficients: dct of type 2 of logarithms of a mel spectrogram,
    divided by sqrt(2 num_mel_bins). Programs usually keep the first 13.

    Args:
        log_mel_spectrograms: floating tensor (..., num_mel_bins).
        name: of the operation.

    Raises:
        ValueError: there are no bins, or the dtype is not floating.
    """
    op = "mfccs_from_log_mel_spectrograms"
    with scope(name, op) as at:
        x = lengths.floating(log_mel_spectrograms, op, "log_mel_spectrograms")
        bins = lengths.of(x)
        if bins == 0:
            raise ValueError(f"{op}: the last axis is empty, expected a mel bin or more")
        scale = elementwise.rsqrt(2.0 * lengths.as_number(bins, _WIDE))
        return elementwise.multiply(dct(x), cast(scale, x.dtype), name=at)
