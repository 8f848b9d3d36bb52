"""HostCall: functions that only the program around the engine has."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.engine import host
from graphio.runtime.registry import Call, Function, kernel
from graphio.schema.model_pb2 import Type
from graphio.support import errors


@kernel("HostCall", domain="graphio", fold=False, fresh=True)
def _host_call(call: Call) -> Function:
    name, functions = call.text("function", ""), call.host
    if "\0" in name:
        raise errors.InvalidArgumentError(message="the name of the function has a zero byte")
    outputs = [_declared(kind) for kind in call.outputs]

    def run(*inputs: Any) -> Any:
        if any(x is None or isinstance(x, list) for x in inputs):
            raise errors.InvalidArgumentError(message="a host function takes tensors only")
        # The function may keep or change what it gets.
        given = [np.array(x, order="C") for x in inputs]
        results = host.call(functions, name, given, outputs)
        return results[0] if len(results) == 1 else tuple(results)

    return run


def _declared(kind: Type) -> host.Declared:
    if not kind.HasField("tensor"):
        raise errors.UnimplementedError(message="a host function gives tensors only")
    tensor = kind.tensor
    if not tensor.HasField("shape"):
        return tensor.dtype, None
    sizes = (d.size if d.WhichOneof("value") == "size" else None for d in tensor.shape.dim)
    return tensor.dtype, tuple(sizes)
