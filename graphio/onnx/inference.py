"""Static types of a node's outputs, by the standard's own inference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import onnx
import onnx.checker
import onnx.defs
import onnx.shape_inference
from onnx import helper, numpy_helper

from graphio.framework import dtypes
from graphio.framework.dtypes import DType
from graphio.framework.folding import constant_shape, constant_value, partial_value
from graphio.framework.graph import Tensor
from graphio.onnx.guards import unbearable
from graphio.onnx.types import static_type, type_proto
from graphio.ops.base.shapes import Dims, dims_of
from graphio.ops.math.einsum import joined_sizes
from graphio.schema import dtypes as table
from graphio.schema import equation, operators

__all__ = ["by_signature", "infer"]

_KNOWN_ELEMENTS = 64  # integer inputs of at most as many elements are evaluated


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
            open_dims = None if rank is None else (None,) * rank
            return [(x.dtype.base_dtype, _sharper(open_dims, _resized(node, inputs)))]
    first = inputs[0] if inputs else None
    if wrong := unbearable(node, None if first is None else first.shape.ndims):
        raise ValueError(wrong)
    if node.op_type == "STFT" and not node.domain and not node.attribute:
        # onnx infers the shape of two sides where the default is one.
        declared, node = node, onnx.NodeProto()
        node.CopyFrom(declared)
        node.attribute.append(helper.make_attribute("onesided", 1))
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
    result = [
        _merged(found.get(name), fallback)
        for name, fallback in zip(node.output, signature, strict=True)
    ]
    if node.op_type == "Attention":
        result = [
            (dtype, _of_heads(k, _without_zeros(dims, inputs), inputs))
            for k, (dtype, dims) in enumerate(result)
        ]
    if node.domain in ("", "ai.onnx"):
        dtype, dims = result[0]
        if node.op_type in _SHAPED:
            result[0] = dtype, _sharper(dims, _SHAPED[node.op_type](node, inputs))
        elif node.op_type in _OWN:
            result[0] = dtype, _OWN[node.op_type](node, inputs)
    return result


def _without_zeros(dims: Dims, inputs: Sequence[Tensor | None]) -> Dims:
    """The standard's rule takes an unknown size for 0 when it divides it into heads."""
    if dims is None or all(None not in (dims_of(t) or (None,)) for t in inputs if t is not None):
        return dims
    return tuple(size or None for size in dims)


def _of_heads(k: int, dims: Dims, inputs: Sequence[Tensor | None]) -> Dims:
    """Attention's keys, values and scores of each head have four dimensions; the standard's rule
    may know none, say a scalar, or forget a past of unknown length."""
    if k == 0:
        return dims
    if dims is None or len(dims) != 4:
        return (None,) * 4
    past = inputs[4] if len(inputs) > 4 else None
    forgotten = k == 3 and past is not None and _size(past, 2) is None
    return (*dims[:3], None) if forgotten else dims


def _sharper(dims: Dims, more: Dims) -> Dims:
    """The union of two inferred shapes; where they differ the standard's holds."""
    if dims is None or more is None:
        return more if dims is None else dims
    if len(dims) != len(more):
        return dims
    return tuple(b if a is None else a for a, b in zip(dims, more, strict=True))


def _reshaped(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> Dims:
    """By the sizes of which only some are known; the standard's rule wants all."""
    x, shape = inputs
    assert x is not None and shape is not None
    sizes = partial_value(shape)
    if sizes is None or sizes.ndim != 1:
        return None
    kept = any(a.name == "allowzero" and a.i for a in node.attribute)
    dims = list(sizes)
    for i, size in enumerate(dims):
        if size == 0 and not kept:
            dims[i] = _size(x, i)
        elif size is not None and size < 0:
            dims[i] = None
    return tuple(dims)


def _size(x: Tensor, axis: int) -> int | None:
    known = dims_of(x)
    return known[axis] if known is not None and axis < len(known) else None


def _expanded(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> Dims:
    """The requested sizes, and x's own where those are 1."""
    x, shape = inputs
    assert x is not None and shape is not None
    sizes, dims = partial_value(shape), dims_of(x)
    if sizes is None or sizes.ndim != 1 or dims is None:
        return None
    rank = max(len(dims), len(sizes))
    own = [1] * (rank - len(dims)) + list(dims)
    requested = [1] * (rank - len(sizes)) + list(sizes)
    return tuple(
        wide if wide not in (None, 1) else None if wide is None and size == 1 else size
        for size, wide in zip(own, requested, strict=True)
    )


def _filled(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> Dims:
    """The requested sizes."""
    assert inputs[0] is not None
    shape = constant_shape(inputs[0])
    return None if shape is None else dims_of(shape)


def _resized(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> Dims:
    """By constant scales, or by sizes of which only some are known."""
    x, _, scales, sizes = [*inputs, None, None, None][:4]
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    old = None if x is None else dims_of(x)
    if old is None or attributes.get("keep_aspect_ratio_policy", b"stretch") != b"stretch":
        return None
    axes = [a % len(old) for a in attributes.get("axes", range(len(old)))]
    factors = None if scales is None else constant_value(scales)
    needed = None if sizes is None else partial_value(sizes)
    dims: list[int | None] = list(old)
    if factors is not None and factors.shape == (len(axes),):
        for axis, factor in zip(axes, factors.astype(np.float32), strict=True):
            exact = np.float32(dims[axis] or 0) * factor
            if dims[axis] is not None and not 0 <= exact < 1 << 31:
                return None
            dims[axis] = None if dims[axis] is None else int(exact)
    elif needed is not None and needed.shape == (len(axes),):
        for axis, new in zip(axes, needed, strict=True):
            dims[axis] = new
    else:
        return None
    return tuple(dims)


def _frames(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> Dims:
    """Batch, frames, frequencies and the two parts of each; the standard's rule wants all sizes."""
    assert inputs[0] is not None
    return (_size(inputs[0], 0), None, None, 2)


def _transposed(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> Dims:
    """ConvTranspose's result as both engines compute it: batch, channels, each window's axis."""
    x, w = inputs[:2]
    assert x is not None and w is not None
    rank = len(dims_of(x) or dims_of(w) or ()) - 2
    given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    mode = given.get("auto_pad", b"NOTSET")
    pads = given.get("pads") if mode == b"NOTSET" else None
    pads = pads or [0] * (2 * rank)
    steps, gaps = (given.get(key) or [1] * rank for key in ("strides", "dilations"))
    extra, needed = given.get("output_padding") or [0] * rank, given.get("output_shape")
    lengths = [len(steps), len(gaps), len(extra), len(pads) // 2, len(needed or steps)]
    if rank < 1 or min(lengths) < rank:
        return None  # the run refuses such lengths

    def size(i: int) -> int | None:
        if needed is not None:
            return int(needed[-rank:][i])
        n, k = _size(x, 2 + i), _size(w, 2 + i)
        if mode.startswith(b"SAME"):
            return None if n is None else n * steps[i]
        if n is None or k is None:
            return None
        full = steps[i] * (n - 1) + extra[i] + (k - 1) * gaps[i] + 1
        return int(full - pads[i] - pads[rank + i])

    channels = _size(w, 1)
    outer = None if channels is None else channels * given.get("group", 1)
    sizes = [size(i) for i in range(rank)]
    return (_size(x, 0), outer, *(None if n is None or n < 0 else n for n in sizes))


def _summed(node: onnx.NodeProto, inputs: Sequence[Tensor | None]) -> Dims:
    """Einsum's result: letters spread a size 1, as the ellipsis does."""
    dims = [() if x is None else dims_of(x) for x in inputs]
    text = next(a.s for a in node.attribute if a.name == "equation").decode()
    if any(d is None for d in dims):
        return None
    found = equation.parse(text, [len(d or ()) for d in dims])
    sizes = joined_sizes(zip(found.terms, dims, strict=True))
    return tuple(sizes[label] for label in found.output)


#: Corrections of onnx: it takes output_shape of a ConvTranspose for the complete shape
#: and counts otherwise where auto_pad is SAME; of an Einsum's letter it takes the first size.
_OWN = {"ConvTranspose": _transposed, "Einsum": _summed}

_SHAPED = {
    "ConstantOfShape": _filled,
    "Expand": _expanded,
    "Reshape": _reshaped,
    "Resize": _resized,
    "STFT": _frames,
}


def _types_text(node: onnx.NodeProto, text: str, types: dict[str, onnx.TypeProto]) -> str:
    """The checker's sentence, and the types that it is about in our words."""
    found = {name: static_type(types[name]) for name in node.input if name in types}
    listed = ", ".join(f"{name} {kind[0].name}" for name, kind in found.items() if kind)
    schema = onnx.defs.get_schema(node.op_type, domain=node.domain)
    admitted = {
        c.type_param_str: ", ".join(
            sorted(s.removeprefix("tensor(")[:-1] for s in c.allowed_type_strs)
        )
        for c in schema.type_constraints
    }
    needed = "; ".join(f"{i.name}: {admitted.get(i.type_str, i.type_str)}" for i in schema.inputs)
    return f"{text} (found {listed}; expected {needed})"


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
    known = None if found is None else static_type(found)
    return (fallback, None) if known is None else (known[0], dims_of(known[1]))


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
