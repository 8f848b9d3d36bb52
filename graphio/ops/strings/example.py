"""tf.parse_example: records of named features as tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError

from graphio.framework import dtypes, source
from graphio.framework.constants import as_array, convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.framework.tensor_shape import TensorShape, as_shape
from graphio.ops.base.host import host_call
from graphio.ops.sparse.arranging import sparse_merge
from graphio.schema.example_pb2 import Example, Feature
from graphio.support import api_guard, errors

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "SparseFeature",
    "VarLenFeature",
    "decode_json_example",
    "parse_example",
    "parse_single_example",
]

Array = np.ndarray[Any, Any]
#: dtype to the list of a feature that holds it
_LISTS = {dtypes.string: "bytes_list", dtypes.float32: "float_list", dtypes.int64: "int64_list"}


class FixedLenFeature(NamedTuple):
    """A feature of one shape in every record: a dense tensor.

    shape: of a record's values; dtype: int64, float32 or string; default_value: where a record
    has none, None: it must have one.
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class FixedLenSequenceFeature(NamedTuple):
    """A feature of any number of values of one shape: a dense tensor, filled up to the longest.

    shape: of each value; dtype: int64, float32 or string; allow_missing: must be True;
    default_value: what short ones are filled with.
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature of any number of values: a SparseTensor. dtype: int64, float32 or string."""

    dtype: Any


class SparseFeature(NamedTuple):
    """A SparseTensor whose indices and values are two features, of any number of values.

    index_key: key of the indices, int64, or a list of keys, one an axis; value_key: key of the
    values; dtype: of the values, int64, float32 or string; size: of the axis, or a list of sizes;
    already_sorted: whether a record's indices are in order.
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


class Rule:
    """How one feature is read.

    Args:
        key: its name.
        feature: FixedLenFeature and so on.
        listed: whether it is that of a step of a SequenceExample.

    Attributes:
        key: its name.
        kind: FixedLenFeature and so on.
        dtype, shape: of a record's values, or of each of a sequence's.
        default: array for a record that has no value; None: it must have one.
    """

    def __init__(self, key: str, feature: Any, listed: bool = False) -> None:
        self.key, self.kind = key, type(feature)
        if self.kind not in (FixedLenFeature, FixedLenSequenceFeature, VarLenFeature):
            raise ValueError(f"Unsupported feature type for {key!r}: {feature!r}")
        self.dtype: DType = dtypes.as_dtype(feature.dtype)
        if self.dtype not in _LISTS:
            raise TypeError(
                f"feature {key!r} is {self.dtype.name}; records hold int64, float32 and string"
            )
        self.shape = as_shape(getattr(feature, "shape", ()))
        if not self.shape.is_fully_defined():
            raise ValueError(
                f"feature {key!r}: all dimensions of its shape must be known, got {self.shape}; "
                "use FixedLenSequenceFeature or VarLenFeature"
            )
        if self.kind is FixedLenSequenceFeature and not (listed or feature.allow_missing):
            raise ValueError(f"Unsupported: FixedLenSequenceFeature requires allow_missing: {key}.")
        self.sizes = [size or 0 for size in self.shape.as_list()]
        self.default: Array | None = None
        if getattr(feature, "default_value", None) is not None:
            self.default = self._default(feature.default_value)

    def _default(self, value: Any) -> Array:
        array = as_array(value, self.dtype)
        if self.kind is FixedLenSequenceFeature:
            return array.reshape(())
        if array.size not in (1, int(np.prod(self.sizes))):
            raise ValueError(
                f"feature {self.key!r}: default_value has {array.size} values, shape {self.shape}"
            )
        return np.broadcast_to(array if array.size == 1 else array.reshape(self.sizes), self.sizes)

    def values(self, example: Example) -> Array | None:
        """A record's values in a row; None if it has none."""
        if self.key not in example.features.feature:
            return None
        return self.values_of(example.features.feature[self.key])

    def values_of(self, feature: Feature) -> Array | None:
        """A feature's values in a row; None if it has none."""
        found = feature.WhichOneof("kind")
        if found is None:
            return None
        if found != _LISTS[self.dtype]:
            raise errors.InvalidArgumentError(
                message=f"Key: {self.key}.  Data types don't match. Expected type: "
                f"{self.dtype.name}, the record has a {found}"
            )
        values = list(getattr(feature, found).value)
        array = np.empty(len(values), self.dtype.as_numpy_dtype)
        array[:] = values
        return array

    def fixed(self, example: Example) -> Array:
        """A record's values in the shape."""
        values = self.values(example)
        if values is None or (self.default is not None and not values.size and self.shape.ndims):
            if self.default is None:
                raise errors.InvalidArgumentError(
                    message=f"Feature: {self.key} (data type: {self.dtype.name}) is required but "
                    "could not be found."
                )
            return self.default
        if values.size != int(np.prod(self.sizes)):
            raise errors.InvalidArgumentError(
                message=f"Key: {self.key}.  Number of {self.dtype.name} values != expected.  "
                f"Values size: {values.size} but output shape: {self.shape}"
            )
        return values.reshape(self.sizes)

    def sequence(self, example: Example) -> Array:
        """A record's values, as many of the shape as there are."""
        values = self.values(example)
        each = int(np.prod(self.sizes))
        if values is None:
            values = np.empty(0, self.dtype.as_numpy_dtype)
        if each == 0 or values.size % each:
            raise errors.InvalidArgumentError(
                message=f"Key: {self.key}.  Number of {self.dtype.name} values is not a multiple "
                f"of stride length.  Values size: {values.size}, shape of each: {self.shape}"
            )
        return values.reshape([-1, *self.sizes])

    def filled(self, sequences: Sequence[Array]) -> Array:
        """Sequences as one array, filled up to the longest."""
        longest = max((len(s) for s in sequences), default=0)
        empty: Any = b"" if self.dtype == dtypes.string else 0
        filling = empty if self.default is None else self.default[()]
        shape = (len(sequences), longest, *self.sizes)
        out = np.full(shape, filling, self.dtype.as_numpy_dtype)
        for row, values in zip(out, sequences, strict=True):
            row[: len(values)] = values
        return out

    def outputs(self, front: list[int | None]) -> list[tuple[DType, TensorShape]]:
        """dtypes and static shapes of what the feature gives; front: the records' dimension."""
        if self.kind is VarLenFeature:
            rank = len(front) + 1
            return [
                (dtypes.int64, TensorShape([None, rank])),
                (self.dtype, TensorShape([None])),
                (dtypes.int64, TensorShape([rank])),
            ]
        length = [None] if self.kind is FixedLenSequenceFeature else []
        return [(self.dtype, TensorShape([*front, *length, *self.sizes]))]

    def batch(self, examples: Sequence[Example]) -> list[Array]:
        """The arrays of the feature for several records."""
        if self.kind is VarLenFeature:
            rows = [self.values(e) for e in examples]
            return sparse_rows(rows, self.dtype)
        if self.kind is FixedLenSequenceFeature:
            return [self.filled([self.sequence(e) for e in examples])]
        out = np.empty((len(examples), *self.sizes), self.dtype.as_numpy_dtype)
        for i, example in enumerate(examples):
            out[i] = self.fixed(example) if self.sizes else self.fixed(example)[()]
        return [out]

    def single(self, example: Example) -> list[Array]:
        """The arrays of the feature for one record."""
        if self.kind is VarLenFeature:
            indices, values, shape = self.batch([example])
            return [indices[:, 1:], values, shape[1:]]
        return [
            self.sequence(example) if self.kind is FixedLenSequenceFeature else self.fixed(example)
        ]


def sparse_rows(rows: Sequence[Array | None], dtype: DType) -> list[Array]:
    """indices, values and dense_shape of rows."""
    known = [np.empty(0, dtype.as_numpy_dtype) if row is None else row for row in rows]
    indices = [(i, k) for i, row in enumerate(known) for k in range(len(row))]
    longest = max((len(row) for row in known), default=0)
    values = np.concatenate(known) if known else np.empty(0, dtype.as_numpy_dtype)
    return [
        np.array(indices, np.int64).reshape(-1, 2),
        values,
        np.array([len(known), longest], np.int64),
    ]


def _with_parts(features: Any) -> Any:
    """The features, with those that SparseFeatures consist of in the place of these."""
    if not isinstance(features, Mapping):
        return features
    found = {k: f for k, f in features.items() if not isinstance(f, SparseFeature)}
    for key, feature in features.items():
        if not isinstance(feature, SparseFeature):
            continue
        for part, kind in [*((i, dtypes.int64) for i in _index_keys(feature)),
                           (feature.value_key, dtypes.as_dtype(feature.dtype))]:  # fmt: skip
            if not part:
                raise ValueError(f"Missing index_key or value_key for SparseFeature {key!r}")
            known = found.setdefault(part, VarLenFeature(kind))
            if not isinstance(known, VarLenFeature):
                raise ValueError(
                    f"feature {part!r} of SparseFeature {key!r} is {known!r}, expected a "
                    "VarLenFeature"
                )
            if dtypes.as_dtype(known.dtype) != kind:
                raise ValueError(
                    f"Conflicting type {dtypes.as_dtype(known.dtype).name} vs {kind.name} for "
                    f"feature {part!r}."
                )
    return found


def _index_keys(feature: SparseFeature) -> list[str]:
    keys = feature.index_key
    return list(keys) if isinstance(keys, (list, tuple)) else [keys]


def _with_sparse(features: Mapping[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The parsed features, with SparseFeatures made of their parts."""
    chosen = {key: value for key, value in found.items() if key in features}
    for key, feature in features.items():
        if isinstance(feature, SparseFeature):
            ids = [found[index] for index in _index_keys(feature)]
            sizes = feature.size if isinstance(feature.size, (list, tuple)) else [feature.size]
            chosen[key] = sparse_merge(
                ids, found[feature.value_key], list(sizes), already_sorted=feature.already_sorted
            )
    return chosen


def _parsed(record: Any) -> Example:
    try:
        return Example.FromString(bytes(record))
    except DecodeError:
        raise errors.InvalidArgumentError(
            message=f"Could not parse example input, value: {bytes(record)[:60]!r}"
        ) from None


def rules_of(features: Any) -> list[Rule]:
    if not isinstance(features, Mapping) or not features:
        raise ValueError("Missing: features must be a dict of features by name, and not be empty.")
    return [Rule(key, features[key]) for key in sorted(features)]


def packed(rules: Sequence[Rule], tensors: Sequence[Tensor]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    rest = list(tensors)
    for rule in rules:
        if rule.kind is VarLenFeature:
            found[rule.key] = SparseTensor(*rest[:3])
            rest = rest[3:]
        else:
            found[rule.key] = rest.pop(0)
    return found


@api_guard.operator
@source.locating
def parse_single_example(
    serialized: Any, features: Mapping[str, Any], name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """The features of one record, a tf.train.Example as bytes.

    Args:
        serialized: scalar string tensor.
        features: FixedLenFeature, FixedLenSequenceFeature, VarLenFeature or SparseFeature by key.
        name: of the operation.
        example_names: accepted.

    Returns:
        Tensors by key; SparseTensors of VarLenFeatures and SparseFeatures.

    Raises:
        ValueError: no features, or one that cannot be.
        InvalidArgumentError, when run: no such record, or a feature that is missing or another.
    """
    rules = rules_of(_with_parts(features))
    text = convert_to_tensor(serialized, dtypes.string)
    text.shape.assert_is_compatible_with([])

    def run(inputs: Any) -> list[Array]:
        example = _parsed(inputs[0][()])
        return [array for rule in rules for array in rule.single(example)]

    outputs = [output for rule in rules for output in rule.outputs([])]
    found = packed(rules, _call(run, text, outputs, name, "ParseSingleExample"))
    return _with_sparse(features, found)


@api_guard.operator
@source.locating
def parse_example(
    serialized: Any, features: Mapping[str, Any], name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """As parse_single_example, for a vector of records: every result has one more dimension."""
    rules = rules_of(_with_parts(features))
    text = convert_to_tensor(serialized, dtypes.string)
    size = text.shape.with_rank(1).as_list()[0]

    def run(inputs: Any) -> list[Array]:
        examples = [_parsed(record) for record in inputs[0].tolist()]
        return [array for rule in rules for array in rule.batch(examples)]

    outputs = [output for rule in rules for output in rule.outputs([size])]
    return _with_sparse(features, packed(rules, _call(run, text, outputs, name, "ParseExample")))


@api_guard.operator
def decode_json_example(json_examples: Any, name: str | None = None) -> Tensor:
    """Records in JSON as the bytes that parse_example takes.

    Args:
        json_examples: string tensor of any shape: each a tf.train.Example in the JSON of protobuf.
        name: of the operation.

    Returns:
        A string tensor of the shape.

    Raises:
        InvalidArgumentError: of the run: a string is not such a record.
    """
    text = convert_to_tensor(json_examples, dtypes.string)
    outputs = [(dtypes.string, text.shape)]
    return _call(_from_json, text, outputs, name, "DecodeJSONExample")[0]


def _from_json(inputs: Any) -> list[Array]:
    from google.protobuf import json_format  # imports regular expressions and more: rarely used

    out = np.empty(inputs[0].shape, object)
    for at, text in np.ndenumerate(inputs[0]):
        try:
            out[at] = json_format.Parse(text, Example()).SerializeToString(deterministic=True)
        except (json_format.ParseError, UnicodeDecodeError) as error:
            raise errors.InvalidArgumentError(
                message=f"Error while parsing JSON: {error}; {bytes(text)[:60]!r}"
            ) from None
    return [out]


def _call(run: Any, text: Tensor, outputs: Any, name: str | None, kind: str) -> list[Tensor]:
    made = host_call(
        lambda session: run,
        [text],
        outputs,
        function=kind,
        stateful=False,
        name=name or kind,
        tf_type=kind,
    )
    return made.outputs
