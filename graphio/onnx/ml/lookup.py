"""Operators of ai.onnx.ml that look up keys: encoders, and what takes maps, which come as a vector
of keys and one of values (maps.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.onnx.ml import nodes as ml
from graphio.onnx.ml.nodes import Array, Lowered
from graphio.ops.base.emit import node as make_node
from graphio.ops.base.emit import operation, scalar
from graphio.ops.base.primitive import (
    cast,
    compare,
    concat,
    count,
    gather,
    reshape,
    select,
    unary,
    unsqueeze,
)
from graphio.ops.base.shapes import dims_of
from graphio.ops.math.elementwise import cast as named_cast
from graphio.ops.ml.ml import index_of
from graphio.ops.strings.numbers import as_string, string_to_number

__all__ = ["TABLE"]

Inputs = Sequence["Tensor | None"]
_UNUSED = b"_Unused"
#: the most entries of a map that is written out
_MOST = 1 << 24


def _distinct(keys: Array, what: str) -> Array:
    """Refuses a key that is there twice: the standard does not define which one counts."""
    seen: set[Any] = set()
    for key in keys.tolist():
        if key in seen:
            raise ValueError(f"{what} has {key!r} twice")
        seen.add(key)
    return keys


def _positions(x: Tensor, keys: Array, what: str) -> Tensor:
    """The index of each element among keys, -1 where it is none; here NaN equals NaN."""
    dtype = dtypes.as_dtype(keys.dtype)
    if (x.dtype == dtypes.string) != (dtype == dtypes.string):
        raise ValueError(f"X is {x.dtype.base_dtype.name}, and {what} are {dtype.name}")
    if x.dtype.base_dtype != dtype:
        both = np.result_type(x.dtype.base_dtype.as_numpy_dtype, keys.dtype)
        x, keys = cast(x, dtypes.as_dtype(both)), keys.astype(both)
    found = index_of(x, constant(_distinct(keys, what)))
    if keys.dtype.kind == "f" and np.isnan(keys).any():
        missing = make_node("IsNaN", [x], dtypes.bool, dims_of(x))
        found = select(missing, scalar(int(np.isnan(keys).argmax()), dtypes.int64), found)
    return found


def _taken(values: Array, default: Any, positions: Tensor, name: str) -> Tensor:
    """The value at each index, the default at -1: it is stored after the others."""
    table: Any = np.empty(len(values) + 1, values.dtype)
    table[:-1], table[-1] = values, default
    return gather(constant(table), positions, 0, name=name)


# ---- encoders ----

_KEYS = ("keys_tensor", "keys_strings", "keys_int64s", "keys_floats")
_VALUES = ("values_tensor", "values_strings", "values_int64s", "values_floats")


def _vector(name: str, value: Any) -> Array:
    if name.endswith("tensor"):
        made: Array = np.ravel(value)
        if made.dtype.kind in "OSU":
            return _checked_strings([t if isinstance(t, bytes) else str(t).encode(
                "utf-8", "surrogateescape") for t in made.tolist()], name)  # fmt: skip
        return made
    if name.endswith("floats"):
        return np.asarray(value, np.float32)
    return ml.string_values(value)


def _checked_strings(values: list[bytes], what: str) -> Array:
    for text in values:
        try:
            text.decode()
        except UnicodeDecodeError:
            raise ValueError(f"attribute '{what}': {text!r} is not UTF-8") from None
    return ml.string_values(values) if values else np.empty(0, object)


def _default(attrs: dict[str, Any], name: str, values: Array) -> Any:
    """The value of an absent key."""
    if name != "values_tensor":
        kinds = {"strings": "string", "int64s": "int64", "floats": "float"}
        default = attrs[f"default_{kinds[name.removeprefix('values_')]}"]
        return default.encode() if isinstance(default, str) else default
    given = attrs.get("default_tensor")
    if given is None or not np.size(given):
        return {"O": _UNUSED, "f": -0.0}.get(values.dtype.kind, -1)
    default = _vector("default_tensor", given)
    if default.dtype != values.dtype or len(default) != 1:
        raise ValueError(
            f"default_tensor has {len(default)} entries of {default.dtype}, expected one of "
            f"{values.dtype}, the type of values_tensor"
        )
    return default[0]


def _label_encoder(node: onnx.NodeProto, inputs: Inputs) -> Lowered:
    attrs, (x,) = ml.attributes(node), inputs
    assert x is not None
    if attrs.get("classes_strings"):
        return _strings_and_numbers(
            node, x, ml.string_values(attrs["classes_strings"]), None, attrs
        )
    key_name, keys = _one(attrs, _KEYS)
    value_name, values = _one(attrs, _VALUES)
    if len(keys) != len(values):
        raise ValueError(f"{key_name} has {len(keys)} entries and {value_name} {len(values)}")
    default = _default(attrs, value_name, values)
    return [_taken(values, default, _positions(x, keys, key_name), ml.name_of(node))]


def _one(attrs: dict[str, Any], names: Sequence[str]) -> tuple[str, Array]:
    """The one list or tensor of several that is given, as a vector."""
    name, value = ml.one_of(attrs, *names)
    return name, _vector(name, value)


def _strings_and_numbers(
    node: onnx.NodeProto, x: Tensor, names: Array, ids: Array | None, attrs: dict[str, Any]
) -> Lowered:
    """Strings to numbers (None: their indices), or numbers to strings: x says which."""
    whole = np.arange(len(names)) if ids is None else ids
    if x.dtype == dtypes.string:
        positions = _positions(x, names, "the strings")
        return [_taken(whole, attrs["default_int64"], positions, ml.name_of(node))]
    if not x.dtype.is_integer:
        raise ValueError(f"X is {x.dtype.base_dtype.name}, expected string or int64")
    positions = _positions(x, whole, "the numbers")
    return [_taken(names, attrs["default_string"].encode(), positions, ml.name_of(node))]


def _category_mapper(node: onnx.NodeProto, inputs: Inputs) -> Lowered:
    attrs, (x,) = ml.attributes(node), inputs
    assert x is not None
    names, ids = (ml.entries(attrs, n) for n in ("cats_strings", "cats_int64s"))
    if len(names) != len(ids) or not ids:
        raise ValueError(f"{len(names)} cats_strings and {len(ids)} cats_int64s, expected as many")
    return _strings_and_numbers(node, x, ml.string_values(names), ml.string_values(ids), attrs)


def _one_hot_encoder(node: onnx.NodeProto, inputs: Inputs) -> Lowered:
    """A last axis of categories; numbers are truncated to integers."""
    attrs, (x,) = ml.attributes(node), inputs
    assert x is not None
    name, cats = _one(attrs, ("cats_int64s", "cats_strings"))
    if x.dtype != dtypes.string:
        x = cast(ml.numbers(x), dtypes.int64)
    positions = _positions(x, cats, name)
    if not attrs["zeros"]:
        positions = make_node("IndexRange", [positions], dtypes.int64, dims_of(x), domain="graphio",
                           limit=len(cats))  # fmt: skip
    hot = compare("Equal", unsqueeze(positions, [-1]), constant(np.arange(len(cats))))
    return [named_cast(hot, dtypes.float32, name=ml.name_of(node))]


# ---- maps ----


def _map(inputs: Inputs) -> tuple[Tensor, Tensor]:
    if len(inputs) != 2 or inputs[0] is None or inputs[1] is None:
        raise ValueError("X is not an input of the model that is a map")
    return inputs[0], inputs[1]


def _dict_vectorizer(node: onnx.NodeProto, inputs: Inputs) -> Lowered:
    """One row: the value of each word of the vocabulary, 0 where the map has it not."""
    keys, values = _map(inputs)
    name, words = _one(ml.attributes(node), ("string_vocabulary", "int64_vocabulary"))
    if (keys.dtype == dtypes.string) != (words.dtype == object):
        raise ValueError(f"the map's keys are {keys.dtype.base_dtype.name}, and there is a {name}")
    y = _values_at(constant(_distinct(words, name)), keys, values)
    return [reshape(y, [1, -1], (1, len(words)))]


def _values_at(requested: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """The value of each requested key, 0 or an empty string where there is none."""
    return gather(concat([values, _nothing(values.dtype)], 0), index_of(requested, keys), 0)


def _nothing(dtype: DType) -> Tensor:
    if dtype == dtypes.string:
        return constant(ml.string_values([b""]))
    return constant(np.zeros(1, dtype.base_dtype.as_numpy_dtype))


_CASTS = {"TO_FLOAT": dtypes.float32, "TO_STRING": dtypes.string, "TO_INT64": dtypes.int64}


def _converted(values: Tensor, dtype: DType) -> Tensor:
    """Numbers become strings as C's %f writes them."""
    if (values.dtype == dtypes.string) == (dtype == dtypes.string):
        return cast(values, dtype)
    return as_string(values) if dtype == dtypes.string else string_to_number(values, dtype)


def _cast_map(node: onnx.NodeProto, inputs: Inputs) -> Lowered:
    """One row: the values by ascending key, or by key as index."""
    attrs, (keys, values) = ml.attributes(node), _map(inputs)
    if attrs["cast_to"] not in _CASTS:
        raise ValueError(f"cast_to is {attrs['cast_to']!r}, expected {', '.join(_CASTS)}")
    if attrs["map_form"] not in ("DENSE", "SPARSE"):
        raise ValueError(f"map_form is {attrs['map_form']!r}, expected DENSE or SPARSE")
    if keys.dtype != dtypes.int64:
        raise ValueError(f"the map's keys are {keys.dtype.base_dtype.name}, expected int64")
    requested = _converted(values, _CASTS[attrs["cast_to"]])
    if attrs["map_form"] == "DENSE":
        size = reshape(count(keys, dtypes.int64), [1])
        dims = dims_of(keys)
        sorted_keys = operation("TopK", [keys, size], [(dtypes.int64, dims)] * 2,
                                attrs={"largest": 0, "axis": 0, "sorted": 1})  # fmt: skip
        return [reshape(gather(requested, sorted_keys.outputs[1], 0), [1, -1])]
    if not 1 <= attrs["max_map"] <= _MOST:
        raise ValueError(f"max_map is {attrs['max_map']}, expected 1 to {_MOST}")
    inside = make_node("IndexRange", [keys], dtypes.int64, dims_of(keys), domain="graphio",
                       limit=attrs["max_map"])  # fmt: skip
    y = _values_at(constant(np.arange(attrs["max_map"])), inside, requested)
    return [reshape(y, [1, -1], (1, attrs["max_map"]))]


def _zip_map(node: onnx.NodeProto, inputs: Inputs) -> Lowered:
    """The probabilities as they came: a tensor, whose columns have the labels of maps.columns."""
    (x,) = inputs
    assert x is not None
    _, labels = _one(ml.attributes(node), ("classlabels_strings", "classlabels_int64s"))
    dims = dims_of(x)
    if dims is not None and dims and dims[-1] not in (None, len(labels)):
        raise ValueError(f"X has {dims[-1]} columns, and there are {len(labels)} class labels")
    return [unary("Identity", x, ml.name_of(node))]


#: the importer's lowerings
TABLE: dict[tuple[str, str], Callable[[onnx.NodeProto, Any], Lowered | None]] = {
    (ml.DOMAIN, "CastMap"): _cast_map,
    (ml.DOMAIN, "CategoryMapper"): _category_mapper,
    (ml.DOMAIN, "DictVectorizer"): _dict_vectorizer,
    (ml.DOMAIN, "LabelEncoder"): _label_encoder,
    (ml.DOMAIN, "OneHotEncoder"): _one_hot_encoder,
    (ml.DOMAIN, "ZipMap"): _zip_map,
}
