"""tf.parse_single_sequence_example: records with features of the record and of each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from graphio.framework import dtypes, source
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.base.host import host_call
from graphio.ops.strings.example import (
    FixedLenSequenceFeature,
    Rule,
    VarLenFeature,
    packed,
    rules_of,
    sparse_rows,
)
from graphio.schema.example_pb2 import Example, SequenceExample
from graphio.support import api_guard, errors

__all__ = ["parse_sequence_example", "parse_single_sequence_example"]

Array = np.ndarray[Any, Any]
Parsed = dict[str, Any]


class _List:
    """How one list of features is read: a feature a step."""

    def __init__(self, key: str, feature: Any) -> None:
        if not isinstance(feature, (FixedLenSequenceFeature, VarLenFeature)):
            raise ValueError(
                f"Unsupported feature type for {key!r}: {feature!r}; sequences are read by "
                "FixedLenSequenceFeature and VarLenFeature"
            )
        self.rule = Rule(key, feature, listed=True)
        self.needed = not getattr(feature, "allow_missing", True)

    @property
    def sparse(self) -> bool:
        """Whether it gives a SparseTensor."""
        return self.rule.kind is VarLenFeature

    def steps(self, record: SequenceExample) -> list[Array]:
        """The values of each step."""
        lists, key = record.feature_lists.feature_list, self.rule.key
        if key not in lists:
            if self.needed:
                raise errors.InvalidArgumentError(
                    message=f"Name: <unknown>, Feature list '{key}' is required but could not be "
                    "found.  Did you mean to include it in feature_list_dense_missing_assumed_"
                    "empty or feature_list_dense_defaults?"
                )
            return []
        empty = np.empty(0, self.rule.dtype.as_numpy_dtype)
        rows = [self.rule.values_of(f) for f in lists[key].feature]
        return [self._shaped(empty if row is None else row) for row in rows]

    def _shaped(self, row: Array) -> Array:
        if self.sparse:
            return row
        if row.size != int(np.prod(self.rule.sizes)):
            raise errors.InvalidArgumentError(
                message=f"Key: {self.rule.key}.  Number of {self.rule.dtype.name} values != "
                f"expected.  Values size: {row.size} but output shape: {self.rule.shape}"
            )
        return row.reshape(self.rule.sizes)

    def dense(self, steps: Sequence[Array]) -> Array:
        """(steps, ...)"""
        made = np.empty((len(steps), *self.rule.sizes), self.rule.dtype.as_numpy_dtype)
        for i, row in enumerate(steps):
            made[i] = row if self.rule.sizes else row[()]
        return made

    def single(self, record: SequenceExample) -> list[Array]:
        """The arrays of the list of one record."""
        steps = self.steps(record)
        return sparse_rows(steps, self.rule.dtype) if self.sparse else [self.dense(steps)]

    def batch(self, records: Sequence[SequenceExample]) -> list[Array]:
        """The arrays of the lists of several records: for dense ones their lengths, too."""
        found = [self.steps(record) for record in records]
        if not self.sparse:
            lengths = np.array([len(steps) for steps in found], np.int64)
            return [self.rule.filled([self.dense(steps) for steps in found]), lengths]
        parts = [sparse_rows(steps, self.rule.dtype) for steps in found]
        positions = [np.insert(part[0], 0, i, axis=1) for i, part in enumerate(parts)]
        sizes = np.max([part[2] for part in parts], axis=0) if parts else np.zeros(2, np.int64)
        none = np.empty((0, 3), np.int64)
        values = [np.empty(0, self.rule.dtype.as_numpy_dtype), *(part[1] for part in parts)]
        whole = np.array([len(parts), *sizes], np.int64)
        return [np.concatenate([none, *positions]), np.concatenate(values), whole]

    def outputs(self, front: list[int | None]) -> list[tuple[DType, TensorShape]]:
        """dtypes and static shapes of single (front empty) or batch (front: the records)."""
        if self.sparse:
            return self.rule.outputs([*front, None])
        found = self.rule.outputs(front)
        return [*found, (dtypes.int64, TensorShape(front))] if front else found


def _lists(features: Any) -> list[_List]:
    return [_List(key, features[key]) for key in sorted(features or {})]


def _parsed(record: Any) -> SequenceExample:
    try:
        return SequenceExample.FromString(bytes(record))
    except DecodeError:
        raise errors.InvalidArgumentError(
            message=f"Could not parse example input, value: {bytes(record)[:60]!r}"
        ) from None


def _given(context: Any, sequences: Any) -> tuple[list[Rule], list[_List]]:
    if not context and not sequences:
        raise ValueError("Missing features: give context_features or sequence_features.")
    return (rules_of(context) if context else []), _lists(sequences)


def _context(record: SequenceExample) -> Example:
    return Example(features=record.context)


@api_guard.operator
@source.locating
def parse_single_sequence_example(
    serialized: Any,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[Parsed, Parsed]:
    """The features of one record, a tf.train.SequenceExample as bytes.

    Args:
        serialized: scalar string tensor.
        context_features: of the complete record by key, see parse_single_example.
        sequence_features: of its steps by key: FixedLenSequenceFeature gives (steps, *shape),
            VarLenFeature a SparseTensor (steps, most values of a step).
        example_name: accepted.
        name: of the operation.

    Returns:
        Two dicts by key: of the context and of the steps.

    Raises:
        ValueError: no features, or one that cannot be.
        InvalidArgumentError, when run: no such record, or a feature that is missing or another.
    """
    rules, lists = _given(context_features, sequence_features)
    text = convert_to_tensor(serialized, dtypes.string)
    text.shape.assert_is_compatible_with([])

    def run(inputs: Any) -> list[Array]:
        record = _parsed(inputs[0][()])
        whole = [array for rule in rules for array in rule.single(_context(record))]
        return whole + [array for entry in lists for array in entry.single(record)]

    outputs = [o for rule in rules for o in rule.outputs([])]
    count = len(outputs)
    outputs += [o for entry in lists for o in entry.outputs([])]
    made = _call(run, text, outputs, name, "ParseSingleSequenceExample")
    return packed(rules, made[:count]), packed([entry.rule for entry in lists], made[count:])


@source.locating
def parse_sequence_example(
    serialized: Any,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[Parsed, Parsed, Parsed]:
    """As parse_single_sequence_example, for a vector of records.

    Returns:
        Three dicts by key: of the contexts; of the steps, filled up to the longest sequence; and
        the lengths of those that FixedLenSequenceFeature reads.
    """
    rules, lists = _given(context_features, sequence_features)
    text = convert_to_tensor(serialized, dtypes.string)
    size = text.shape.with_rank(1).as_list()[0]

    def run(inputs: Any) -> list[Array]:
        records = [_parsed(record) for record in inputs[0].tolist()]
        whole = [array for rule in rules for array in rule.batch([_context(r) for r in records])]
        return whole + [array for entry in lists for array in entry.batch(records)]

    outputs = [o for rule in rules for o in rule.outputs([size])]
    count = len(outputs)
    outputs += [o for entry in lists for o in entry.outputs([size])]
    made = _call(run, text, outputs, name, "ParseSequenceExample")
    steps: Parsed = {}
    lengths: Parsed = {}
    rest = list(made[count:])
    for entry in lists:
        key = entry.rule.key
        if entry.sparse:
            steps[key], rest = SparseTensor(*rest[:3]), rest[3:]
        else:
            steps[key], lengths[key], *rest = rest
    return packed(rules, made[:count]), steps, lengths


def _call(run: Any, text: Tensor, outputs: Any, name: str | None, kind: str) -> list[Tensor]:
    return host_call(
        lambda session: run, [text], outputs, function=kind, stateful=False, name=name or kind,
        tf_type=kind,
    ).outputs  # fmt: skip
