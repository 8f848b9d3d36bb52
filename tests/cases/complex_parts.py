"""The parts of complex numbers, against numpy's; element types as given."""

from __future__ import annotations

import numpy as np

from cases import bad, case
from graphio.support import errors

_PARTS = np.array([[1.5, -2.0, np.inf], [0.0, -0.0, np.nan]])

for kind, part in (("complex64", "float32"), ("complex128", "float64")):
    x, y = _PARTS.astype(part), _PARTS[::-1].astype(part)
    z = np.empty(x.shape, kind)
    z.real, z.imag = x, y
    case("Real", [z], domain="graphio", expect=[x], label=kind)
    case("Imag", [z], domain="graphio", expect=[y], label=kind)
    case("Complex", [x, y], domain="graphio", expect=[z], label=kind)
    case("Real", [z[0, 0]], domain="graphio", expect=[x[0, 0]], label=f"{kind} scalar")
    case("Complex", [x[0, 0], y[0, 0]], domain="graphio", expect=[z[0, 0]], label=f"{kind} scalar")
    case("Imag", [z[:, :0]], domain="graphio", expect=[y[:, :0]], label=f"{kind} empty")
    pairs = np.stack([x, y], -1)
    case("ComplexToPairs", [z], domain="graphio", expect=[pairs], label=kind)
    case("PairsToComplex", [pairs], domain="graphio", expect=[z], label=kind)
    case(
        "ComplexToPairs", [z[0, 0]], domain="graphio", expect=[pairs[0, 0]], label=f"{kind} scalar"
    )
    case(
        "PairsToComplex", [pairs[0, 0]], domain="graphio", expect=[z[0, 0]], label=f"{kind} scalar"
    )
    case("PairsToComplex", [pairs[:0]], domain="graphio", expect=[z[:0]], label=f"{kind} empty")
    many = np.arange(70000).astype(part)
    case("Imag", [many - 1j * many], domain="graphio", expect=[-many], label=f"{kind} many")

bad(
    "Complex",
    [np.ones((2, 1), np.float32), np.ones(2, np.float32)],
    domain="graphio",
    error=errors.InvalidArgumentError,
    words=["equal shapes"],
    label="shapes",
)
bad(
    "Complex",
    [np.ones(2, np.float16)] * 2,
    domain="graphio",
    error=errors.UnimplementedError,
    words=["float16", "float32 or float64"],
    label="float16",
)
bad(
    "Real",
    [np.ones(2, np.float32)],
    domain="graphio",
    error=errors.UnimplementedError,
    words=["float32", "complex64 or complex128"],
    label="real",
)
for given, words in ((np.ones((2, 3)), ["last dimension of 2"]), (np.ones(()), ["last dimension"])):
    bad(
        "PairsToComplex",
        [given],
        domain="graphio",
        error=errors.InvalidArgumentError,
        words=words,
        label=f"rank {given.ndim}",
    )
bad(
    "ComplexToPairs",
    [np.ones(2)],
    domain="graphio",
    error=errors.UnimplementedError,
    words=["float64", "complex64 or complex128"],
    label="real",
)
bad(
    "ComplexToPairs",
    [np.ones((1,) * 16, np.complex64)],
    domain="graphio",
    error=errors.InvalidArgumentError,
    words=["at most 15"],
    label="rank 16",
)
