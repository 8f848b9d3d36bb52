"""The structure of a dataset's elements: nested tuples and dicts of tensors' types.

Unlike in tf.nest a list is a leaf, because in data it is a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from graphio.data import registered, saving, variables
from graphio.framework import dtypes, nest, objects
from graphio.framework.constants import as_array, convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.framework.indexed_slices import IndexedSlices, IndexedSlicesValue
from graphio.framework.sparse_tensor import SparseTensor, SparseTensorValue
from graphio.framework.tensor_shape import TensorShape, as_shape
from graphio.ops.array.filling import shape
from graphio.ops.control_flow.tensor_array import TensorArray
from graphio.ops.control_flow.tensor_array_spec import TensorArraySpec

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Spec:
    """One component: a tensor's dtype and shape.

    Attributes:
        inside: of the elements of a dataset; with a shape of rank 1 or more, of many.
        known: the known numbers of a SparseTensor's dense_shape.
    """

    dtype: DType
    shape: TensorShape
    inside: Any = None
    known: TensorShape | None = None


def dataset_spec(inside: Any, shape: Any = ()) -> Spec:
    """The spec of a dataset of such elements, or of several."""
    return Spec(dtypes.string, as_shape(shape), inside)


class SparseParts(NamedTuple):
    """The structure of a SparseTensor: its three parts' specs, dtypes or shapes."""

    indices: Any
    values: Any
    dense_shape: Any


class ArrayParts:
    """The structure of a TensorArray: all its elements, stacked.

    Attributes:
        stack: a tensor, or its spec, dtype or shape.
        spec: of the TensorArray.
    """

    def __init__(self, stack: Any, spec: TensorArraySpec) -> None:
        self.stack, self.spec = stack, spec

    def remade(self, stack: Any) -> Any:
        """The TensorArray of a tensor; of another value its replacement."""
        if not isinstance(stack, Tensor):
            return ArrayParts(stack, self.spec)
        spec = self.spec
        made = TensorArray(
            spec.dtype, shape(stack)[0], spec.dynamic_size, element_shape=spec.element_shape
        )
        return made.unstack(stack)


class OptionalParts:
    """The structure of an Optional.

    Attributes:
        has: whether it has a value: a tensor, or its spec.
        value: a structure of tensors, or of specs.
    """

    def __init__(self, has: Any, value: Any) -> None:
        self.has, self.value = has, value

    def remade(self, has: Any, value: Any) -> Any:
        """The Optional of tensors; of specs what stands for it."""
        if not isinstance(has, Tensor):
            return OptionalParts(has, value)
        return registered.optional_of(self, has, value)


class Several:
    """A list of datasets, as one component.

    Attributes:
        captures, touched: of all of them; see Dataset.
    """

    def __init__(self, datasets: Sequence[Any], what: str) -> None:
        inside = datasets[0].element_specs
        for dataset in datasets[1:]:
            inside = common(inside, dataset.element_specs, what)
        self.dataset_spec = dataset_spec(inside, [len(datasets)])
        self._datasets = list(datasets)
        self.captures = {tensor: None for d in datasets for tensor in d.captures}
        self.touched = variables.merged(d.touched for d in datasets)

    def held(self, opening: Any) -> Array:
        """The elements of each; see saving.encode."""
        found = np.empty(len(self._datasets), object)
        found[:] = [saving.encode(d.held(opening)) for d in self._datasets]
        return found


def is_dataset(value: Any) -> bool:
    """Whether value is a dataset, or several as one component."""
    return hasattr(value, "dataset_spec")


def element_of(specs: Any, tensors: Sequence[Tensor]) -> Any:
    """An element of tensors, one a component: what functions and programs see."""
    pairs = zip(flatten(specs), tensors, strict=True)
    return pack(specs, [t if s.inside is None else registered.dataset_of(s, t) for s, t in pairs])


def is_nested(value: Any) -> bool:
    """Whether value has components below it. None has, none at all."""
    if value is None or isinstance(value, (ArrayParts, OptionalParts)):
        return True
    found = isinstance(value, (tuple, Mapping, SparseTensor)) or objects.is_object(value)
    return found and not _is_array(value)


def _is_array(value: Any) -> bool:
    return isinstance(value, (SparseTensorValue, IndexedSlices, IndexedSlicesValue))


def _children(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, SparseTensor):
        return value.parts()
    if isinstance(value, ArrayParts):
        return [value.stack]
    if isinstance(value, OptionalParts):
        return [value.has, value.value]
    if objects.is_object(value):
        return objects.parts(value)
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
    return _remade(structure, [_pack(child, leaves) for child in _children(structure)])


def _remade(structure: Any, packed: list[Any]) -> Any:
    """Something of the kind of structure with other children."""
    if structure is None:
        return None
    if isinstance(structure, (SparseTensor, SparseParts)):
        return _sparse(structure, packed)
    if isinstance(structure, (ArrayParts, OptionalParts)):
        return structure.remade(*packed)
    if isinstance(structure, Mapping):
        values = dict(zip(sorted(structure), packed, strict=True))
        return nest.mapping_like(structure, values)
    if objects.is_object(structure):
        return objects.with_parts(structure, packed)
    if hasattr(structure, "_fields"):
        return type(structure)(*packed)
    return tuple(packed)


def _sparse(like: Any, packed: list[Any]) -> Any:
    """A SparseTensor of tensors, of the shape that is known of the specs of like; of something
    else what stands for it."""
    if not all(isinstance(p, Tensor) for p in packed):
        return SparseParts(*packed)
    made = SparseTensor(*packed)
    if isinstance(like, SparseParts) and isinstance(like.dense_shape, Spec):
        made._static = sparse_shape(like)
    return made


def mapped(function: Callable[[Any], Any], structure: Any) -> Any:
    """function applied to every component."""
    return pack(structure, [function(leaf) for leaf in flatten(structure)])


def up_to(
    structure: Any, value: Any, what: str, lists: bool = True, nothing: bool = False
) -> list[Any]:
    """The parts of value that stand where structure has its components.

    Args:
        lists: whether a list may stand for a tuple; where shapes are meant it is a shape.
        nothing: whether None may stand for Nones at all components below.

    Raises:
        TypeError: value is not nested as structure is.
        ValueError: it has other keys or another length.
    """
    if not is_nested(structure):
        return [value]
    if value is None and nothing:
        return [None] * len(flatten(structure))
    if isinstance(value, SparseTensor):
        value = SparseParts(*value.parts())
    if isinstance(structure, Mapping):
        if not isinstance(value, Mapping):
            raise TypeError(f"{what}: expected a dict with the keys {sorted(structure)}: {value!r}")
        if set(value) != set(structure):
            raise ValueError(f"{what}: expected the keys {sorted(structure)}, got {sorted(value)}")
    elif not isinstance(structure, tuple):
        if type(value) is not type(structure):
            raise TypeError(f"{what}: expected a {type(structure).__name__}, got {value!r}")
    elif not isinstance(value, (tuple, list) if lists else tuple):
        raise TypeError(f"{what}: expected a tuple of {len(structure)}, got {value!r}")
    expected, found = _children(structure), _children(value)
    if len(found) != len(expected):
        raise ValueError(f"{what}: expected {len(expected)} components, got {len(found)}")
    pairs = zip(expected, found, strict=True)
    return [leaf for inner, part in pairs for leaf in up_to(inner, part, what, lists, nothing)]


def holds_none(structure: Any) -> bool:
    """Whether None is somewhere in a structure."""
    if structure is None or not is_nested(structure):
        return structure is None
    return any(map(holds_none, _children(structure)))


def alike(one: Any, two: Any) -> bool:
    """Whether two structures are nested alike, in whatever tuples and dicts; what stands for a
    SparseTensor is a component."""
    nested = [is_nested(s) and not isinstance(s, _COMPOSITES) for s in (one, two)]
    if not all(nested):
        return not any(nested)
    first, second = _children(one), _children(two)
    return len(first) == len(second) and all(map(alike, first, second))


def sparse_parts(dtype: DType, shape: TensorShape) -> SparseParts:
    """Specs of the parts of a SparseTensor of which dtype and shape are known."""
    return SparseParts(
        Spec(dtypes.int64, TensorShape([None, shape.ndims])),
        Spec(dtype, TensorShape([None])),
        Spec(dtypes.int64, TensorShape([shape.ndims]), known=shape),
    )


def of_values(value: Any, what: str) -> tuple[Any, list[Any]]:
    """Specs of a structure of values, and its components as arrays, tensors or datasets.

    Raises:
        TypeError: a component is not a tensor's value; a sparse one.
    """
    value = with_composites(value)
    leaves = [_component(leaf, what) for leaf in flatten(value)]
    return specs_of(value, [_spec_of(leaf) for leaf in leaves]), leaves


def specs_of(value: Any, specs: Sequence[Spec]) -> Any:
    """Specs of the components of value, with what is known of the shapes of SparseTensors."""
    found, start = list(specs), 0
    for node in nodes(value):
        if isinstance(node, SparseTensor):
            found[start + 2] = replace(found[start + 2], known=node.get_shape())
        start += len(flatten(node))
    return pack(value, found)


def _spec_of(leaf: Any) -> Spec:
    if is_dataset(leaf):
        found: Spec = leaf.dataset_spec
        return found
    return Spec(dtypes.as_dtype(leaf.dtype), as_shape(leaf.shape))


def _component(value: Any, what: str) -> Any:
    refuse_sparse(value, what)
    if isinstance(value, Tensor) or is_dataset(value):
        return value
    if isinstance(value, list) and value and all(map(is_dataset, value)):
        return Several(value, what)
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


def with_composites(value: Any) -> Any:
    """The structure with SparseTensors for the SparseTensorValues in it, and what stands for them
    for TensorArrays."""
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if isinstance(value, TensorArray):
        return ArrayParts(value.stack(), TensorArraySpec.from_value(value))
    if not is_nested(value) or isinstance(value, (SparseTensor, ArrayParts, OptionalParts)):
        return value
    return _remade(value, [with_composites(child) for child in _children(value)])


def refuse_sparse(value: Any, what: str) -> None:
    """Refuses components that are not dense tensors."""
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
            return sparse_parts(node.values.dtype, front.concatenate(sparse_shape(node)))
        _refuse_optional(node)
        return replace(node, shape=front.concatenate(node.shape))

    return mapped_nodes(more, specs)


def sliced(specs: Any) -> Any:
    """The specs without their first dimension."""

    def less(node: Any) -> Any:
        if isinstance(node, SparseParts):
            return sparse_parts(node.values.dtype, _rest(sparse_shape(node)))
        _refuse_optional(node)
        return replace(node, shape=_rest(node.shape))

    return mapped_nodes(less, specs)


def _refuse_optional(node: Any) -> None:
    if isinstance(node, OptionalParts):
        raise TypeError("a component is an Optional, which is neither batched nor sliced")


def _rest(shape: TensorShape) -> TensorShape:
    return shape if shape.ndims is None else TensorShape(shape.as_list()[1:])


def sparse_shape(parts: SparseParts) -> TensorShape:
    """The shape of a SparseTensor, as far as known."""
    rank = sparse_rank(parts)
    shape = TensorShape(None if rank is None else [None] * rank)
    known = parts.dense_shape.known
    return shape if known is None else shape.merge_with(known)


def sparse_rank(parts: SparseParts) -> int | None:
    """The rank of a SparseTensor, if it is known."""
    rank: int | None = parts.indices.shape.with_rank(2).as_list()[1]
    if rank is None:
        rank = parts.dense_shape.shape.with_rank(1).as_list()[0]
    return rank


_COMPOSITES = SparseTensor, SparseParts, ArrayParts, OptionalParts


def mapped_nodes(function: Callable[[Any], Any], structure: Any) -> Any:
    """As mapped, with a SparseTensor, a TensorArray, or what stands for one, as one component."""
    if isinstance(structure, _COMPOSITES) or not is_nested(structure):
        return function(structure)
    return _remade(structure, [mapped_nodes(function, child) for child in _children(structure)])


def nodes(value: Any) -> list[Any]:
    """As flatten, with a SparseTensor, a TensorArray, or what stands for one, as one component."""
    if isinstance(value, _COMPOSITES) or not is_nested(value):
        return [value]
    return [node for child in _children(value) for node in nodes(child)]


def sparse_offsets(specs: Any) -> list[int]:
    """Where in flatten(specs) the parts of SparseTensors begin."""
    found, offset = [], 0
    for node in nodes(specs):
        if isinstance(node, (SparseTensor, SparseParts)):
            found.append(offset)
        offset += len(flatten(node))
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
    return pack(one, [_common_spec(a, b) for a, b in zip(first, parts, strict=True)])


def _common_spec(a: Spec, b: Spec) -> Spec:
    known = None
    if a.known is not None and b.known is not None:
        known = common_shape(a.known, b.known)
    return replace(a, shape=common_shape(a.shape, b.shape), known=known)


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
        if isinstance(node, ArrayParts):
            return node.spec.dtype
        if isinstance(node, OptionalParts):
            return types_of(node.value)
        return node.dtype if node.inside is None else types_of(node.inside)

    return mapped_nodes(dtype, specs)


def node_shape(node: Any) -> TensorShape:
    """The shape of a component, as far as known; of a SparseTensor the dense shape, of a
    TensorArray that of its stack."""
    if isinstance(node, SparseParts):
        return sparse_shape(node)
    _refuse_optional(node)
    found: TensorShape = (node.stack if isinstance(node, ArrayParts) else node).shape
    return found
