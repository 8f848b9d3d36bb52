"""Initializers: constants, or variables for those that training changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.graph import Tensor
from graphio.framework.operation_names import valid_name
from graphio.onnx.reading import Source
from graphio.schema.verify_graph import MAX_RANK
from graphio.support.problems import Problems
from graphio.variables.variables import Variable

__all__ = ["Weights", "parameter_names"]

#: elements that a sparse tensor may become, whatever it holds, and more for each value
_DENSE, _PER_VALUE = 1 << 20, 1024

Array = np.ndarray[Any, Any]

#: Inputs that training changes, by operator; every other floating input is a setting.
PARAMETERS = {
    "Add": (0, 1),
    "BatchNormalization": (1, 2),
    "CausalConvWithState": (1, 2),
    "Conv": (1, 2),
    "ConvTranspose": (1, 2),
    "DeformConv": (1, 3),
    "Div": (0, 1),
    "Einsum": (0, 1, 2, 3),
    "GRU": (1, 2, 3),
    "Gather": (0,),
    "Gemm": (0, 1, 2),
    "GroupNormalization": (1, 2),
    "InstanceNormalization": (1, 2),
    "LSTM": (1, 2, 3, 7),
    "LayerNormalization": (1, 2),
    "MatMul": (0, 1),
    "Mul": (0, 1),
    "PRelu": (1,),
    "RMSNormalization": (1,),
    "RNN": (1, 2, 3),
    "Sub": (0, 1),
}
#: Inputs that a forward pass would update; variables, but none that an optimizer changes.
STATISTICS = {"BatchNormalization": (3, 4)}
#: Operators that pass weights on unchanged, and which inputs; None: all.
_VIEWS = {
    "Cast": 1,
    "CastLike": 1,
    "Concat": None,
    "Expand": 1,
    "Flatten": 1,
    "Identity": 1,
    "Reshape": 1,
    "Slice": 1,
    "Split": 1,
    "Squeeze": 1,
    "Transpose": 1,
    "Unsqueeze": 1,
}


def parameter_names(model: onnx.ModelProto) -> dict[str, bool]:
    """Names of initializers that are weights (True) or statistics (False) of some operator."""
    found: dict[str, bool] = {}
    sources: dict[str, list[str]] = {}
    for node in model.graph.node:
        if node.op_type in _VIEWS:
            passed = list(node.input[: _VIEWS[node.op_type]])
            sources.update(dict.fromkeys(node.output, passed))
    for nodes in (model.graph.node, *(f.node for f in model.functions)):
        for node in nodes:
            for table, trainable in ((PARAMETERS, True), (STATISTICS, False)):
                for i in table.get(node.op_type, ()):
                    waiting = [node.input[i]] if i < len(node.input) else []
                    while waiting:
                        name = waiting.pop()
                        if name not in found:
                            found[name] = trainable
                            waiting += sources.get(name, [])
    return found


class Weights:
    """Makes a tensor of each initializer.

    Attributes:
        parameters: see parameter_names.
        variables: those made so far, by initializer.
    """

    def __init__(
        self, source: Source, trainable: bool | Callable[[str], bool], problems: Problems
    ) -> None:
        self.source = source
        self.trainable = trainable
        self.problems = problems
        self.parameters: dict[str, bool] = {}
        self.variables: dict[str, Variable] = {}

    def tensor(self, proto: onnx.TensorProto, outermost: bool) -> Tensor | None:
        """An initializer; None if its data are wrong, which is noted.

        Args:
            proto: the initializer.
            outermost: whether it belongs to the main graph; others are constants.
        """
        try:
            array = self.source.array(proto)
        except ValueError as error:
            self.problems.add(str(error))
            return None
        name = valid_name(proto.name or "weight")
        kind = self._variable(proto.name, array) if outermost else None
        if kind is None:
            return constant(array, name=name)
        made = Variable(array, trainable=kind, name=name)
        self.variables[proto.name] = made
        value: Tensor = made.value()
        return value

    def _variable(self, name: str, array: Array) -> bool | None:
        """Whether the initializer is a trainable variable, an untrainable one, or none (None)."""
        if not dtypes.as_dtype(array.dtype).is_floating:
            return None
        if callable(self.trainable):
            return True if self.trainable(name) else None
        if not self.trainable or not array.ndim:
            return None
        return self.parameters.get(name)

    def sparse(self, proto: onnx.SparseTensorProto) -> Tensor | None:
        """A sparse initializer, made dense."""
        try:
            array = dense(self.source, proto)
        except ValueError as error:
            self.problems.add(str(error))
            return None
        return constant(array, name=valid_name(proto.values.name or "sparse"))


def dense(source: Source, proto: onnx.SparseTensorProto) -> Array:
    """A sparse tensor's elements in a dense array.

    Raises:
        ValueError: its indices lie outside its shape or do not match its values.
    """
    values, indices = source.array(proto.values), source.array(proto.indices)
    shape = tuple(proto.dims)
    size = 1
    for d in shape:
        size *= d
    most = _DENSE + _PER_VALUE * values.size
    if any(d < 0 for d in shape) or size > most or len(shape) > MAX_RANK:
        raise ValueError(f"sparse tensor '{proto.values.name}' has shape {list(shape)}")
    if indices.dtype != np.int64 or values.ndim != 1:
        raise ValueError(
            f"sparse tensor '{proto.values.name}' has {indices.dtype} indices and values of shape "
            f"{values.shape}, expected int64 and a vector"
        )
    made = np.full(shape, b"" if values.dtype == object else values.dtype.type(0), values.dtype)
    if indices.ndim == 2 and indices.shape == (len(values), len(shape)):
        at = np.asarray(indices)
    elif indices.ndim == 1 and indices.shape == values.shape:
        if ((indices < 0) | (indices >= size)).any():
            raise ValueError(f"sparse tensor '{proto.values.name}' has an index outside its shape")
        at = np.stack(np.unravel_index(indices, shape), axis=1)
    else:
        raise ValueError(
            f"sparse tensor '{proto.values.name}' has {values.shape} values and indices of shape "
            f"{indices.shape}"
        )
    if ((at < 0) | (at >= np.asarray(shape))).any():
        raise ValueError(f"sparse tensor '{proto.values.name}' has an index outside its shape")
    made[tuple(at.T)] = values
    return made
