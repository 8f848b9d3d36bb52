"""The structure of elements as nested TypeSpecs, and as the types, shapes and classes of old."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio.data import structure
from graphio.data.specs.dataset_spec import DatasetSpec
from graphio.data.structure import ArrayParts, OptionalParts, SparseParts, Spec
from graphio.framework import dtypes
from graphio.framework.dtypes import DType
from graphio.framework.sparse_tensor import SparseTensor, SparseTensorSpec
from graphio.framework.specs.optional_spec import OptionalSpec
from graphio.framework.specs.type_spec import TypeSpec
from graphio.framework.tensor import Tensor
from graphio.framework.tensor_shape import TensorShape, as_shape
from graphio.framework.tensor_spec import TensorSpec
from graphio.ops.control_flow.tensor_array import TensorArray
from graphio.ops.control_flow.tensor_array_spec import TensorArraySpec

__all__ = ["declared", "from_specs", "output_classes", "output_shapes", "output_types", "to_specs"]


def from_specs(specs: Any) -> Any:
    """The TypeSpecs of an element, nested as it is."""
    return structure.mapped_nodes(_type_spec, specs)


def _type_spec(node: Any) -> TypeSpec:
    if isinstance(node, SparseParts):
        return SparseTensorSpec(structure.sparse_shape(node), node.values.dtype)
    if isinstance(node, ArrayParts):
        return node.spec
    if isinstance(node, OptionalParts):
        return OptionalSpec(from_specs(node.value))
    if node.inside is not None:
        return DatasetSpec(from_specs(node.inside), node.shape)
    return TensorSpec(node.shape, node.dtype)


def to_specs(type_specs: Any, what: str) -> Any:
    """The specs of nested TypeSpecs.

    Raises:
        TypeError: a component is something else, or a TypeSpec of no element's component.
    """
    return structure.mapped(lambda leaf: _spec(leaf, what), type_specs)


def _spec(found: Any, what: str) -> Any:
    if isinstance(found, TensorSpec):
        return Spec(found.dtype, found.shape)
    if isinstance(found, SparseTensorSpec):
        return structure.sparse_parts(found.dtype, found.shape)
    if isinstance(found, TensorArraySpec):
        rows = TensorShape([None]).concatenate(found.element_shape)
        return ArrayParts(Spec(found.dtype, rows), found)
    if isinstance(found, DatasetSpec):
        return structure.dataset_spec(to_specs(found.element_spec, what), found.dataset_shape)
    if isinstance(found, OptionalSpec):
        flag = Spec(dtypes.bool, TensorShape([]))
        return OptionalParts(flag, to_specs(found.value_structure, what))
    raise TypeError(
        f"{what}: a component is {found!r}, expected a tf.TensorSpec, tf.SparseTensorSpec, "
        "tf.TensorArraySpec, tf.OptionalSpec or tf.data.DatasetSpec"
    )


# ---- types, shapes and classes ----


def _mapped(function: Callable[[TypeSpec], Any], specs: Any) -> Any:
    return structure.mapped_nodes(lambda node: function(_type_spec(node)), specs)


def output_types(specs: Any) -> Any:
    """The nested dtypes; of a SparseTensor that of its values, of a dataset its DatasetSpec."""
    return _mapped(lambda spec: getattr(spec, "dtype", spec), specs)


def output_shapes(specs: Any) -> Any:
    """The nested shapes: of a SparseTensor the dense shape, of a TensorArray [dynamic_size,
    infer_shape] and then the shape of an element, of a dataset its DatasetSpec."""

    def shape(spec: TypeSpec) -> Any:
        if isinstance(spec, TensorArraySpec):
            front = TensorShape([spec.dynamic_size, spec.infer_shape])
            return front.concatenate(spec.element_shape)
        return getattr(spec, "shape", spec)

    return _mapped(shape, specs)


def output_classes(specs: Any) -> Any:
    """The nested classes: tf.Tensor, tf.SparseTensor, tf.TensorArray, and of a dataset its
    DatasetSpec."""
    return _mapped(lambda spec: spec.value_type if hasattr(spec, "dtype") else spec, specs)


def declared(types: Any, shapes: Any, what: str, classes: Any = None) -> Any:
    """Specs of types, shapes and classes as programs write them.

    Args:
        types: nested dtypes.
        shapes: nested shapes alike; None: all unknown.
        what: how messages call them.
        classes: nested classes alike, see output_classes; None: all tf.Tensor.

    Raises:
        TypeError: they are not nested alike, a type is none, or a class is not that of a component.
            A list is not a type; several are a tuple.
    """
    flat = structure.flatten(types)
    known, kinds = [None] * len(flat), [Tensor] * len(flat)
    if shapes is not None:
        known = structure.up_to(types, shapes, what, lists=False)
    if classes is not None:
        kinds = structure.up_to(types, classes, what, lists=False)
    parts = zip(flat, known, kinds, strict=True)
    return structure.pack(types, [_declared(*part, what) for part in parts])


def _declared(dtype: Any, shape: Any, kind: Any, what: str) -> Any:
    if isinstance(kind, TypeSpec):
        return _spec(kind, what)
    found: DType = dtypes.as_dtype(dtype)
    sizes = as_shape(shape)
    if kind is SparseTensor:
        return structure.sparse_parts(found, sizes)
    if kind is TensorArray:
        return _spec(_array_spec(found, sizes), what)
    if kind is not Tensor:
        raise TypeError(
            f"{what}: a class is {kind!r}, expected tf.Tensor, tf.SparseTensor, tf.TensorArray or "
            "a TypeSpec"
        )
    return Spec(found, sizes)


def _array_spec(dtype: DType, shape: TensorShape) -> TensorArraySpec:
    """The spec whose output_shapes is such a shape."""
    if shape.ndims is None:
        return TensorArraySpec(None, dtype)
    dynamic, infer, *element = shape.with_rank_at_least(2).as_list()
    return TensorArraySpec(
        element,
        dtype,
        dynamic_size=None if dynamic is None else bool(dynamic),
        infer_shape=None if infer is None else bool(infer),
    )
