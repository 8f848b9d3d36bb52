"""Static types of a node's outputs, by the standard's own inference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import onnx
import onnx.checker
import onnx.defs
import onnx.shape_inference
from onnx import helper, numpy_helper

from graphio import dtypes
from graphio.dtypes import DType
from graphio.folding import constant_value
from graphio.graph import Tensor
from graphio.ops.shapes import Dims, dims_of
from graphio.schema import dtypes as table
from graphio.schema import operators

__all__ = ["by_signature", "infer", "type_proto"]

_KNOWN_ELEMENTS = 64  # inputs with at most as many integers tell their values


def type_proto(dtype: DType, dims: Dims) -> onnx.TypeProto:
    """A tensor's type as ONNX writes it; unknown sizes have neither value nor name."""
    shape = None if dims is None else list(dims)
    return helper.make_tensor_type_proto(dtype.base_dtype.number, shape)


def infer(
    node: onnx.NodeProto, version: int, inputs: Sequence[Tensor | None]
) -> list[tuple[DType, Dims]]:
    """Types of the outputs of a node that has no subgraphs.

    Args:
        node: names its inputs and outputs; an empty name is an absent one.
        version: of its operator's domain.
        inputs: as the node lists them.

    Returns:
        dtype and static shape of each output; what the standard has no rule for takes its dtype
        from the operator's signature and has an unknown shape.

    Raises:
        ValueError: the types or shapes of the inputs contradict the operator.
    """
    schema = onnx.defs.get_schema(node.op_type, version, node.domain)
    present = {n: t for n, t in zip(node.input, inputs, strict=True) if n and t is not None}
    types = {n: type_proto(t.dtype, dims_of(t)) for n, t in present.items()}
    values = {n: v for n, t in present.items() if (v := _known(t)) is not None}
    if node.op_type == "Resize" and len(inputs) > 3 and (x := inputs[0]) is not None:
        # onnx takes sizes that it does not know for none.
        if (sizes := inputs[3]) is not None and _known(sizes) is None:
            rank = x.shape.ndims
            return [(x.dtype.base_dtype, None if rank is None else (None,) * rank)]
    try:
        found = onnx.shape_inference.infer_node_outputs(
            schema,
            node,
            types,
            values,
            opset_imports=[helper.make_opsetid(node.domain, version)],
        )
    except onnx.shape_inference.InferenceError as error:
        raise ValueError(_plain(str(error))) from None
    except onnx.checker.ValidationError as error:
        raise ValueError(_types_text(node, str(error), types)) from None
    signature = by_signature(node, version, inputs)
    return [
        _merged(found.get(name), fallback)
        for name, fallback in zip(node.output, signature, strict=True)
    ]


def _types_text(node: onnx.NodeProto, text: str, types: dict[str, onnx.TypeProto]) -> str:
    """The checker's sentence, and the types that it is about in our words."""
    listed = ", ".join(
        f"{name} {dtypes.of_number(types[name].tensor_type.elem_type).name}"
        for name in node.input
        if name in types
    )
    schema = onnx.defs.get_schema(node.op_type, domain=node.domain)
    admitted = {
        c.type_param_str: ", ".join(
            sorted(s.removeprefix("tensor(")[:-1] for s in c.allowed_type_strs)
        )
        for c in schema.type_constraints
    }
    wanted = "; ".join(f"{i.name}: {admitted.get(i.type_str, i.type_str)}" for i in schema.inputs)
    return f"{text} (found {listed}; expected {wanted})"


def _plain(text: str) -> str:
    """The reason alone, without the prefixes of C++."""
    return text.rsplit("] ", 1)[-1].strip()


def _known(tensor: Tensor) -> onnx.TensorProto | None:
    if not tensor.dtype.is_integer:
        return None
    value = constant_value(tensor)
    if value is None or value.size > _KNOWN_ELEMENTS:
        return None
    return numpy_helper.from_array(value)


def _merged(found: onnx.TypeProto | None, fallback: DType) -> tuple[DType, Dims]:
    if found is None or not found.HasField("tensor_type") or not found.tensor_type.elem_type:
        return fallback, None
    tensor = found.tensor_type
    dims: Dims = None
    if tensor.HasField("shape"):
        dims = tuple(
            d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else None
            for d in tensor.shape.dim
        )
    return dtypes.of_number(tensor.elem_type), dims


def by_signature(
    node: onnx.NodeProto, version: int, inputs: Iterable[Tensor | None]
) -> list[DType]:
    """Dtypes from the letters of the operator table; float32 where they say nothing."""
    row = operators.lookup(node.domain, node.op_type, version)
    bound: dict[str, DType] = {}
    for i, tensor in enumerate(inputs):
        if tensor is not None and row.inputs:
            bound.setdefault(row.inputs[min(i, len(row.inputs) - 1)].type, tensor.dtype.base_dtype)
    result = []
    for k in range(len(node.output)):
        kind = row.outputs[min(k, len(row.outputs) - 1)].type
        admitted = row.types.get(kind, frozenset((kind,)))
        if kind in bound:
            result.append(bound[kind])
        elif len(admitted) == 1 and (name := next(iter(admitted))) in table.BY_NAME:
            result.append(dtypes.of_number(table.BY_NAME[name].number))
        else:
            result.append(dtypes.float32)
    return result
