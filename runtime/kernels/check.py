"""Operators that give an error or nothing: Assert, CheckNumerics."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.engine import tensor_text
from graphio.runtime.registry import Call, Function, kernel
from graphio.support import errors


@kernel("Assert", domain="graphio", types="B", fold=False)
def _assert(call: Call) -> Function:
    most = call.integer("summarize", 3)

    def check(condition: Any, *data: Any) -> tuple[()]:
        if condition.size != 1:
            raise errors.InvalidArgumentError(
                message=f"the condition has shape {list(condition.shape)}, expected one element"
            )
        if not condition.item():
            shown = " ".join(f"[{tensor_text.flat(value, most)}]" for value in data)
            raise errors.InvalidArgumentError(message=f"assertion failed: {shown}")
        return ()

    return check


@kernel("CheckNumerics", domain="graphio", types="F")
def _check_numerics(call: Call) -> Function:
    message = call.text("message", "")

    def check(x: Any) -> Any:
        if not np.isfinite(x).all():
            found = [name for name, test in _KINDS if test(x).any()]
            raise errors.InvalidArgumentError(
                message=f"{message} : Tensor had {' and '.join(found)} values"
            )
        return x

    return check


_KINDS = (("Inf", np.isinf), ("NaN", np.isnan))
