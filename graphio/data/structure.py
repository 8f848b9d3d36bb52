"""What an element of a dataset looks like: nested tuples and dicts of tensors' types.

Unlike in tf.nest a list is a leaf, because in data it is a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from graphio import dtypes, nest
from graphio.constants import as_array, convert_to_tensor
from graphio.dtypes import DType
from graphio.graph import Tensor
from graphio.indexed_slices import IndexedSlices, IndexedSlicesValue
from graphio.sparse_tensor import SparseTensor, SparseTensorValue
from graphio.tensor_shape import TensorShape, as_shape

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Spec:
    """One component: a tensor's dtype and shape, or, with `inside`, a dataset of such elements."""

    dtype: DType
    shape: TensorShape
    inside: Any = None


class SparseParts(NamedTuple):
    """What stands for a SparseTensor: its three parts' specs, dtypes or shapes."""

    indices: Any
    values: Any
    dense_shape: Any


def is_nested(value: Any) -> bool:
    """Whether value has components below it."""
    return isinstance(value, (tuple, Mapping, SparseTensor)) and not _is_array(value)


def _is_array(value: Any) -> bool:
    return isinstance(value, (SparseTensorValue, IndexedSlices, IndexedSlicesValue))


def _children(value: Any) -> list[Any]:
    if isinstance(value, SparseTensor):
        return value.parts()
    return [value[key] for key in sorted(value)] if isinstance(value, Mapping) else list(value)


def flatten(value: Any) -> list[Any]:
    """The components in order; a dict's by its sorted keys."""
    if not is_nested(value):
        return [value]
    return [leaf for child in _children(value) for leaf in flatten(child)]


def pack(structure: Any, flat: Sequence[Any]) -> Any:
    """The components of flat in the shape of structure."""
    return _pack(structure, iter(flat))


def _pack(structure: Any, leaves: Iterator[Any]) -> Any:
    if not is_nested(structure):
        return next(leaves)
    packed = [_pack(child, leaves) for child in _children(structure)]
    if isinstance(structure, (SparseTensor, SparseParts)):
        made = SparseTensor if all(isinstance(p, Tensor) for p in packed) else SparseParts
        return made(*packed)
    if isinstance(structure, Mapping):
        values = dict(zip(sorted(structure), packed, strict=True))
        return nest.mapping_like(structure, values)
    if hasattr(structure, "_fields"):
        return type(structure)(*packed)
    return tuple(packed)


def mapped(function: Callable[[Any], Any], structure: Any) -> Any:
    """function applied to every component."""
    return pack(structure, [function(leaf) for leaf in flatten(structure)])


def up_to(structure: Any, value: Any, what: str, lists: bool = True) -> list[Any]:
    """The parts of value that stand where structure has its components.

    Args:
        lists: whether a list may stand for a tuple; where shapes are meant it is a shape.

    Raises:
        TypeError: value is not nested as structure is.
        ValueError: it has other keys or another length.
    """
    if not is_nested(structure):
        return [value]
    if isinstance(value, SparseTensor):
        value = SparseParts(*value.parts())
    if isinstance(structure, Mapping):
        if not isinstance(value, Mapping):
            raise TypeError(f"{what}: expected a dict with the keys {sorted(structure)}: {value!r}")
        if set(value) != set(structure):
            raise ValueError(f"{what}: expected the keys {sorted(structure)}, got {sorted(value)}")
    elif not isinstance(value, (tuple, list) if lists else tuple):
        raise TypeError(f"{what}: expected a tuple of {len(structure)}, got {value!r}")
    if len(value) != len(structure):
        raise ValueError(f"{what}: expected {len(structure)} components, got {len(value)}")
    pairs = zip(_children(structure), _children(value), strict=True)
    return [leaf for inner, part in pairs for leaf in up_to(inner, part, what, lists)]


def declared(types: Any, shapes: Any, what: str, classes: Any = None) -> Any:
    """Specs of types and shapes as programs write them.

    Args:
        types: nested dtypes.
        shapes: nested shapes alike; None: all unknown.
        what: how messages call them.
        classes: nested classes alike; None: all tf.Tensor. Where one is tf.SparseTensor, type and
            shape are those of the whole.

    Raises:
        TypeError: they are not nested alike, or a class is no tensor's.
    """
    if isinstance(types, list):
        types = tuple(types)
    flat = [dtypes.as_dtype(t) for t in flatten(types)]
    known = [TensorShape(None)] * len(flat)
    if shapes is not None:
        known = [as_shape(s) for s in up_to(types, shapes, what, lists=False)]
    kinds = [Tensor] * len(flat) if classes is None else up_to(types, classes, what, lists=False)
    parts = zip(flat, known, kinds, strict=True)
    return pack(types, [_declared_component(*part, what) for part in parts])


def _declared_component(dtype: DType, shape: TensorShape, kind: Any, what: str) -> Any:
    if kind is SparseTensor:
        return sparse_parts(dtype, shape.ndims)
    if kind is not Tensor:
        raise TypeError(f"{what}: a class is {kind!r}, expected tf.Tensor or tf.SparseTensor")
    return Spec(dtype, shape)


def sparse_parts(dtype: DType, rank: int | None) -> SparseParts:
    """Specs of the parts of a SparseTensor, of which the rank alone is known."""
    return SparseParts(
        Spec(dtypes.int64, TensorShape([None, rank])),
        Spec(dtype, TensorShape([None])),
        Spec(dtypes.int64, TensorShape([rank])),
    )


def of_values(value: Any, what: str) -> tuple[Any, list[Any]]:
    """Specs of a structure of values, and its components as arrays or tensors.

    Raises:
        TypeError: a component is no tensor's value; a sparse one.
    """
    value = with_sparse(value)
    leaves = [_component(leaf, what) for leaf in flatten(value)]
    specs = [Spec(dtypes.as_dtype(leaf.dtype), as_shape(leaf.shape)) for leaf in leaves]
    return pack(value, specs), leaves


def _component(value: Any, what: str) -> Any:
    refuse_sparse(value, what)
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.memmap) and value.dtype.isnative and value.flags.c_contiguous:
        return np.asarray(value)  # stays in its file
    if isinstance(value, np.ndarray) or not _holds_tensor(value):
        array = as_array(value, None)
        array.flags.writeable = False
        return array
    return convert_to_tensor(value)


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_holds_tensor(v) for v in value)
    return isinstance(value, Tensor) or hasattr(value, "_as_graph_element")


def with_sparse(value: Any) -> Any:
    """The structure with SparseTensors for the SparseTensorValues in it."""
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if isinstance(value, Mapping):
        return nest.mapping_like(value, {key: with_sparse(part) for key, part in value.items()})
    if type(value) is tuple:
        return tuple([with_sparse(part) for part in value])
    return value


def refuse_sparse(value: Any, what: str) -> None:
    """Refuses components that are no dense tensors."""
    if _is_array(value) or isinstance(value, (SparseTensor, SparseParts)):
        kind = type(value).__name__.replace("Parts", "Tensor")
        raise TypeError(
            f"{what}: a component is of {kind}; give its parts (indices, values, dense_shape), or "
            "tf.sparse.to_dense of it"
        )


def batched(specs: Any, size: int | None) -> Any:
    """The specs with one more dimension in front."""
    front = TensorShape([size])

    def more(node: Any) -> Any:
        if isinstance(node, SparseParts):
            rank = sparse_rank(node)
            return sparse_parts(node.values.dtype, None if rank is None else rank + 1)
        return Spec(node.dtype, front.concatenate(node.shape))

    return mapped_nodes(more, specs)


def sliced(specs: Any) -> Any:
    """The specs without their first dimension."""

    def less(node: Any) -> Any:
        if isinstance(node, SparseParts):
            rank = sparse_rank(node)
            return sparse_parts(node.values.dtype, None if rank is None else rank - 1)
        shape = node.shape
        rest = TensorShape(None) if shape.ndims is None else TensorShape(shape.as_list()[1:])
        return Spec(node.dtype, rest)

    return mapped_nodes(less, specs)


def sparse_rank(parts: SparseParts) -> int | None:
    """The rank of a SparseTensor, if it is known."""
    rank: int | None = parts.indices.shape.with_rank(2).as_list()[1]
    if rank is None:
        rank = parts.dense_shape.shape.with_rank(1).as_list()[0]
    return rank


def mapped_nodes(function: Callable[[Any], Any], structure: Any) -> Any:
    """As mapped, with a SparseTensor, or what stands for one, as one component."""
    if isinstance(structure, (SparseTensor, SparseParts)) or not is_nested(structure):
        return function(structure)
    made = [mapped_nodes(function, child) for child in _children(structure)]
    if isinstance(structure, Mapping):
        return nest.mapping_like(structure, dict(zip(sorted(structure), made, strict=True)))
    return type(structure)(*made) if hasattr(structure, "_fields") else tuple(made)


def nodes(value: Any) -> list[Any]:
    """As flatten, with a SparseTensor, or what stands for one, as one component."""
    if isinstance(value, (SparseTensor, SparseParts)) or not is_nested(value):
        return [value]
    return [node for child in _children(value) for node in nodes(child)]


def sparse_places(specs: Any) -> list[int]:
    """Where in flatten(specs) the parts of SparseTensors begin."""
    found, place = [], 0
    for node in nodes(specs):
        if isinstance(node, SparseParts):
            found.append(place)
        place += 3 if isinstance(node, SparseParts) else 1
    return found


def common(one: Any, two: Any, what: str) -> Any:
    """The specs that both fit.

    Raises:
        TypeError: structures or dtypes differ.
    """
    try:
        parts = up_to(one, two, what)
    except ValueError as error:
        raise TypeError(str(error)) from None
    first = flatten(one)
    if any(is_nested(part) for part in parts):
        raise TypeError(f"{what}: the structures differ: {types_of(one)} and {types_of(two)}")
    for a, b in zip(first, parts, strict=True):
        if a.dtype != b.dtype:
            raise TypeError(f"{what}: the types differ: {types_of(one)} and {types_of(two)}")
    shapes = [common_shape(a.shape, b.shape) for a, b in zip(first, parts, strict=True)]
    return pack(one, [Spec(a.dtype, s, a.inside) for a, s in zip(first, shapes, strict=True)])


def common_shape(a: TensorShape, b: TensorShape) -> TensorShape:
    """The most that is known of both."""
    if a.ndims is None or a.ndims != b.ndims:
        return TensorShape(None)
    pairs = zip(a.as_list(), b.as_list(), strict=True)
    return TensorShape([x if x == y else None for x, y in pairs])


def types_of(specs: Any) -> Any:
    """The nested dtypes; of a SparseTensor that of its values."""

    def dtype(node: Any) -> Any:
        if isinstance(node, SparseParts):
            return node.values.dtype
        return node.dtype if node.inside is None else types_of(node.inside)

    return mapped_nodes(dtype, specs)


def shapes_of(specs: Any) -> Any:
    """The nested shapes; of a SparseTensor that of the whole."""

    def shape(node: Any) -> Any:
        if isinstance(node, SparseParts):
            rank = sparse_rank(node)
            return TensorShape(None if rank is None else [None] * rank)
        return node.shape if node.inside is None else shapes_of(node.inside)

    return mapped_nodes(shape, specs)


def classes_of(specs: Any) -> Any:
    """The nested classes: tf.Tensor, tf.SparseTensor, tf.data.Dataset for what a window holds."""
    from graphio.data.dataset import Dataset

    def kind(node: Any) -> Any:
        if isinstance(node, SparseParts):
            return SparseTensor
        return Tensor if node.inside is None else Dataset

    return mapped_nodes(kind, specs)
