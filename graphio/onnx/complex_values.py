"""Complex values of an exported model as two real ones, since no operator of ONNX computes with
complex numbers.

The standard's operators that only move elements take complex tensors, too. What was made of parts
stays in parts until Real and Imag give them back: an operator that moves elements, or adds them, is
written once for each part. A complex input of the model has no parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import onnx
from onnx import numpy_helper

from graphio.schema import dtypes
from graphio.schema.model_pb2 import Node, Type
from graphio.support import errors

if TYPE_CHECKING:
    from graphio.onnx.emitting import Emitter

__all__ = ["ComplexValues"]

#: by the number of a complex type, that of its parts
_PART: dict[int, Any] = {
    dtypes.BY_NAME["complex64"].number: dtypes.BY_NAME["float32"].number,
    dtypes.BY_NAME["complex128"].number: dtypes.BY_NAME["float64"].number,
}
#: of the standard and of ours: the parts of the result are the results of the parts
_PARTWISE = frozenset(
    """
    Compress Concat DepthToSpace Expand Flatten Gather GatherElements GatherND Identity Pad Reshape
    ReverseSequence ScatterElements ScatterND ScatterSum Slice SpaceToDepth Split Squeeze Tile
    Transpose Trilu Unsqueeze Where
    """.split()
)
_SIZES = frozenset(("Shape", "Size"))
_OURS = frozenset(("Complex", "ComplexToPairs", "Imag", "PairsToComplex", "Real"))
_REDUCTIONS = (b"none", b"add")


class _Parts(NamedTuple):
    """Names of two real values of the file."""

    re: str
    im: str


class ComplexValues:
    """The parts of complex values, by the names that these have in the file."""

    def __init__(self, emit: Emitter) -> None:
        self._emit = emit
        self._parts: dict[str, _Parts] = {}
        #: those with parts that are complex values of the ONNX graph, too
        self._whole: set[str] = set()

    def is_parts_alone(self, value: str) -> bool:
        """Whether a value is there as two parts, and not as a complex value."""
        return value in self._parts and value not in self._whole

    def takes(self, node: Node) -> bool:
        """Whether a node has to be written for parts: it makes or reads them."""
        if node.domain == "graphio" and node.op in _OURS:
            return True
        read = [value for value in node.input if self._is_complex(value)]
        if any(self.is_parts_alone(value) for value in read):
            return True
        return bool(read) and all(value in self._parts for value in read)

    def node(self, node: Node) -> None:
        """Writes a node that `takes` has accepted.

        Raises:
            UnimplementedError: it computes with complex numbers.
        """
        if node.op == "Complex":
            self._parts[node.name] = _Parts(*node.input)
        elif node.op == "PairsToComplex":
            self._parts[node.name] = self._of_pairs(node)
        elif node.op == "ComplexToPairs":
            self._pairs(node)
        elif node.op in ("Real", "Imag"):
            parts = self._of(node, node.input[0])
            self._identity(parts.re if node.op == "Real" else parts.im, node.name)
        elif node.op in _SIZES:
            (value,) = node.input
            self._written(node, node.name, {value: self._of(node, value).re})
        else:
            self._partwise(node)

    def constant(self, value: str, held: onnx.TensorProto) -> None:
        """Gives a constant, or a variable that nothing assigns, parts if it is complex."""
        if held.data_type not in _PART:
            return
        array = numpy_helper.to_array(held)
        self._whole.add(value)
        self._parts[value] = _Parts(
            self._initializer(f"{value}/real", array.real),
            self._initializer(f"{value}/imag", array.imag),
        )

    def _initializer(self, base: str, array: np.ndarray[Any, Any]) -> str:
        name = self._emit.constant(array, array.dtype, base)
        kind = Type()
        number: Any = dtypes.of_numpy(array.dtype).number
        kind.tensor.dtype = number
        for size in array.shape:
            kind.tensor.shape.dim.add(size=size)
        kind.tensor.shape.SetInParent()
        self._emit.types[name] = kind
        return name

    def _is_complex(self, value: str) -> bool:
        kind = self._emit.types.get(value)
        return kind is not None and kind.tensor.dtype in _PART

    def _of(self, node: Node, value: str) -> _Parts:
        if value not in self._parts:
            raise errors.UnimplementedError(
                message=f"{node.op} '{node.name}': ONNX has no operator that gives the parts of "
                f"the complex '{value}'; make it of two real inputs, with tf.complex"
            )
        return self._parts[value]

    def _identity(self, value: str, output: str) -> None:
        self._emit.rename_last(self._emit.name(value), self._emit.name(output))

    def _of_pairs(self, node: Node) -> _Parts:
        """The two elements along the last axis."""
        emit, (value,) = self._emit, node.input
        made = []
        for k, part in enumerate(("real", "imag")):
            at = emit.constant(k, np.int64, f"{node.name}/{part}/at")
            made.append(emit.add("Gather", [emit.name(value), at], f"{node.name}/{part}", axis=-1))
            emit.types[made[-1]] = self._real(emit.types[node.name])
        return _Parts(*made)

    def _pairs(self, node: Node) -> None:
        """The parts along a further last axis."""
        emit, parts = self._emit, self._of(node, node.input[0])
        last = emit.constant([-1], np.int64, f"{node.name}/last")
        wide = [emit.add("Unsqueeze", [emit.name(part), last], node.name) for part in parts]
        emit.rename_last(emit.add("Concat", wide, node.name, axis=-1), emit.name(node.name))

    def _partwise(self, node: Node) -> None:
        reductions = [a.value.s for a in node.attr if a.key == "reduction"]
        if node.op not in _PARTWISE or any(r not in _REDUCTIONS for r in reductions):
            raise errors.UnimplementedError(
                message=f"{node.op} '{node.name}': ONNX computes no complex numbers"
            )
        parts = {v: self._of(node, v) for v in node.input if self._is_complex(v)}
        names = []
        for k, suffix in enumerate(("real", "imag")):
            name = self._emit.fresh(f"{node.name}/{suffix}")
            self._written(node, name, {value: both[k] for value, both in parts.items()})
            names.append(name)
        for k in range(len(node.output_type)):
            end = f":{k}" if k else ""
            self._parts[f"{node.name}{end}"] = _Parts(*(f"{name}{end}" for name in names))

    def _written(self, node: Node, name: str, inputs: dict[str, str]) -> None:
        """The node under another name, of other inputs."""
        made = Node()
        made.CopyFrom(node)
        made.name = name
        made.input[:] = [inputs.get(value, value) for value in node.input]
        for k, kind in enumerate(made.output_type):
            kind.CopyFrom(self._real(kind))
            self._emit.types[f"{name}:{k}" if k else name] = kind
        self._emit.node(made)

    @staticmethod
    def _real(kind: Type) -> Type:
        """The type of the parts."""
        made = Type()
        made.CopyFrom(kind)
        made.tensor.dtype = _PART.get(kind.tensor.dtype, kind.tensor.dtype)
        return made
