"""CheckNumerics."""

from __future__ import annotations

import numpy as np

from cases import FLOATS, bad, case, floats
from graphio.support import errors

case(
    "CheckNumerics",
    [floats(3, 2)],
    {"message": "weights"},
    domain="graphio",
    expect=lambda x: x,
    types=FLOATS,
)
case("CheckNumerics", [floats(0, 2)], {"message": ""}, domain="graphio", expect=lambda x: x)
for _value, _words in ((np.inf, "Inf"), (-np.inf, "Inf"), (np.nan, "NaN")):
    for _dtype in FLOATS:
        bad(
            "CheckNumerics",
            [np.array([1, _value, 0], _dtype)],
            {"message": "weights"},
            domain="graphio",
            error=errors.InvalidArgumentError,
            words=(f"weights : Tensor had {_words} values",),
        )
bad(
    "CheckNumerics",
    [np.float32([np.nan, np.inf])],
    {"message": ""},
    domain="graphio",
    error=errors.InvalidArgumentError,
    words=("Tensor had Inf and NaN values",),
)
