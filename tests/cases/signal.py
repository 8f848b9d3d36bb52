"""Fourier transforms, against numpy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases import FLOATS, bad, case, floats
from graphio.support import errors

INVALID, MISSING = errors.InvalidArgumentError, errors.UnimplementedError
LOOSE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-5}
#: lengths: powers, small primes and numbers of such factors, primes that take a convolution
LENGTHS = (1, 2, 3, 5, 8, 12, 30, 61, 64, 67, 143)


def pairs(x: Any) -> Any:
    return np.stack([np.real(x), np.imag(x)], -1)


def numbers(x: Any) -> Any:
    return x[..., 0] if x.shape[-1] == 1 else x[..., 0] + 1j * x[..., 1]


def scalar(n: int) -> Any:
    return np.array(n, np.int64)


for n in LENGTHS:
    for parts in (1, 2):
        case(
            "DFT",
            [floats(2, n, parts, seed=n)],
            expect=lambda x: pairs(np.fft.fft(numbers(x))),
            types=FLOATS,
            label=f"{n} numbers of {parts}",
            rtol=1e-5,
            atol=1e-12 * n if n == 1 else 2e-5,
        )
    case(
        "DFT",
        [floats(2, n, 2, seed=n)],
        {"inverse": 1},
        expect=lambda x: pairs(np.fft.ifft(numbers(x))),
        types=FLOATS,
        label=f"{n} numbers back",
        **LOOSE,
    )
    case(
        "DFT",
        [floats(3, n, 1, seed=n)],
        {"onesided": 1},
        expect=lambda x: pairs(np.fft.rfft(x[..., 0])),
        types=FLOATS,
        label=f"one side of {n}",
        **LOOSE,
    )
    case(
        "DFT",
        [floats(3, n // 2 + 1, 2, seed=n), scalar(n)],
        {"onesided": 1, "inverse": 1},
        expect=lambda x, _, n=n: np.fft.irfft(numbers(x), n)[..., None],
        types=FLOATS,
        label=f"{n} numbers from one side",
        **LOOSE,
    )
for axis in (0, 1, 2, -2, -4):
    for n in (3, 7, None):
        size = None if n is None else np.array(n, np.int32)
        case(
            "DFT",
            [floats(4, 5, 6, 2), size, scalar(axis)],
            expect=lambda x, n, a: pairs(np.fft.fft(numbers(x), n and int(n), int(a) % 4)),
            label=f"axis {axis}, {n}",
            **LOOSE,
        )
case(
    "DFT",
    [floats(2, 4, 2)],
    {"onesided": 1, "inverse": 1},
    expect=lambda x: np.fft.irfft(numbers(x), 6)[..., None],
    label="as many as there are without the middle",
    **LOOSE,
)
case("DFT", [np.zeros((0, 4, 1))], expect=[np.zeros((0, 4, 2))], types=FLOATS, label="no lanes")
case(
    "DFT", [np.zeros((2, 0, 1)), scalar(3)], expect=[np.zeros((2, 3, 2))], types=FLOATS,
    label="no numbers",
)  # fmt: skip
for label, inputs, attrs, error, words in (
    ("parts", [floats(2, 3)], {}, INVALID, ["last dimension of 1"]),
    ("rank", [floats(1)], {}, INVALID, ["last dimension of 1"]),
    ("last axis", [floats(2, 3, 2), None, scalar(-1)], {}, INVALID, ["last one"]),
    ("axis", [floats(2, 3, 2), None, scalar(3)], {}, INVALID, ["axis"]),
    ("length", [floats(2, 3, 2), scalar(0)], {}, INVALID, ["dft_length is 0"]),
    ("negative", [floats(2, 3, 2), scalar(-3)], {}, INVALID, ["dft_length is -3"]),
    ("nothing", [floats(2, 0, 2)], {}, INVALID, ["dft_length is 0"]),
    ("lengths", [floats(2, 3, 2), np.array([2, 3])], {}, INVALID, ["dft_length", "integer"]),
    ("one side", [floats(2, 3, 2)], {"onesided": 1}, INVALID, ["onesided takes real numbers"]),
    ("integers", [np.ones((2, 3, 2), int)], {}, MISSING, ["input 0"]),
):
    given = [x.astype(np.float32) if x is not None and x.dtype == float else x for x in inputs]
    bad("DFT", given, attrs, error=error, words=words, label=label)


def stft(x: Any, step: int, window: Any, n: int, onesided: bool) -> Any:
    """Frame by frame."""
    signal = numbers(x)
    begins = range(0, x.shape[1] - n + 1, step)
    frames = np.stack([signal[:, at : at + n] for at in begins], 1)
    frames = frames if window is None else frames * window
    return pairs(np.fft.rfft(frames) if onesided else np.fft.fft(frames))


for label, x, step, window, n, onesided in (
    ("window", floats(2, 32, 1), 4, floats(8, seed=1), None, 1),
    ("length", floats(2, 33, 1), 5, None, 7, 1),
    ("both", floats(1, 16, 1), 16, floats(16, seed=1), 16, 0),
    ("all", floats(1, 9, 1), 1, None, None, 1),
    ("complex", floats(2, 20, 2), 3, floats(6, seed=1), None, 0),
    ("prime", floats(1, 150, 1), 2, floats(71, seed=1), None, 1),
):
    size = n or (x.shape[1] if window is None else len(window))
    case(
        "STFT",
        [x, scalar(step), window, None if n is None else scalar(n)],
        {"onesided": onesided},
        expect=lambda x, s, w, _, n=size, o=onesided: stft(x, int(s), w, n, o),
        types=FLOATS,
        label=label,
        **LOOSE,
    )
SIGNAL, STEP = np.ones((2, 8, 1), np.float32), scalar(2)
WINDOW = np.ones(4, np.float32)
for label, inputs, words in (
    ("rank", [SIGNAL[0], STEP], ["[batch, length, 1 or 2]"]),
    ("parts", [np.ones((1, 8, 3), np.float32), STEP], ["last dimension of 1"]),
    ("step", [SIGNAL, scalar(0)], ["frame_step is 0"]),
    ("long", [SIGNAL, STEP, None, scalar(9)], ["frames' length 9", "8"]),
    ("empty", [SIGNAL, STEP, WINDOW[:0]], ["frame_length is 0"]),
    ("window", [SIGNAL, STEP, WINDOW[None]], ["window", "vector"]),
    ("lengths", [SIGNAL, STEP, WINDOW, scalar(3)], ["frame_length is 3", "4 numbers"]),
    ("one side", [np.ones((1, 8, 2), np.float32), STEP], ["onesided takes real numbers"]),
):
    bad("STFT", inputs, error=INVALID, words=words, label=label)
