"""Crosses of features, and embeddings whose weights are found by hashes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.ops.array import surface as array
from graphio.ops.array.distinct_values import unique
from graphio.ops.array.filling import range as numbers_to
from graphio.ops.math import elementwise
from graphio.ops.nn import embedding
from graphio.ops.nn.statistics import embedding_lookup
from graphio.ops.sparse import crossing
from graphio.ops.sparse.arranging import sparse_fill_empty_rows
from graphio.ops.sparse.conversion import sparse_tensor_to_dense
from graphio.support import api_guard
from graphio.variables.partitioned_variables import PartitionedVariable

__all__ = [
    "SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY",
    "scattered_embedding_lookup",
    "scattered_embedding_lookup_sparse",
    "sparse_feature_cross",
]

SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY = crossing.DEFAULT_HASH_KEY
_COMBINERS = {
    "mean": embedding.sparse_segment_mean,
    "sqrtn": embedding.sparse_segment_sqrt_n,
    "sum": embedding.sparse_segment_sum,
}


@api_guard.operator
def sparse_feature_cross(
    inputs: Sequence[Any],
    hashed_output: bool = False,
    num_buckets: int = 0,
    name: str | None = None,
    hash_key: int | None = None,
) -> SparseTensor:
    """All combinations of a value of each input, by row; see tf.sparse.cross.

    Args:
        inputs: list of SparseTensors and tensors (n, size), strings or numbers.
        hashed_output: whether the crosses are hashes and not strings.
        num_buckets: hashes are taken modulo this; 0: modulo 2^63 - 1.
        name: of the operation.
        hash_key: what a hash begins with; None: hashes as contrib made them at first, which
            collide more.

    Returns:
        A SparseTensor, string or int64.

    Raises:
        TypeError: inputs is not a list, or has something else.
        ValueError: num_buckets is negative.
    """
    return crossing.cross_of(inputs, name, hashed_output, num_buckets, hash_key or None)


@api_guard.operator
def scattered_embedding_lookup(
    params: Any, values: Any, dimension: int, name: str | None = None, hash_key: int | None = None
) -> Tensor:
    """Vectors whose component i for a value is the weight that the hash of (value, i) names.

    Args:
        params: vector, a list of them or a partitioned variable; the first parts may be longer by
            one element.
        values: strings or integers of any shape.
        dimension: size of the vectors.
        name: of the operation.
        hash_key: as sparse_feature_cross's.

    Returns:
        A tensor of values' shape and then dimension.

    Raises:
        ValueError: dimension is not positive, or a part has another size.
    """
    if dimension is None:
        raise ValueError("You must specify dimension.")
    if dimension <= 0:
        raise ValueError(f"Dimension must be >0. Given is {dimension}")
    parts = _parts(params)
    total = _total(parts)
    with scopes.name_scope(name, "scattered_embedding_lookup"):
        given: Any = convert_to_tensor(values)
        column = array.reshape(given, [-1, 1])
        components = array.expand_dims(numbers_to(0, dimension), 0)
        every = array.tile(components, array.shape(column))
        crosses = sparse_feature_cross([every, column], True, total, hash_key=hash_key)
        ids = sparse_tensor_to_dense(crosses)
        found = embedding_lookup(parts, ids, partition_strategy="div")
        shape = array.concat([array.shape(given), [dimension]], 0)
        made = array.reshape(found, shape)
        made.set_shape(given.shape.concatenate([dimension]))
        return made


def _parts(params: Any) -> list[Any]:
    return list(params) if isinstance(params, (list, PartitionedVariable)) else [params]


def _total(parts: list[Any]) -> int:
    """The number of weights. Raises ValueError where a part has not its share."""
    sizes = []
    for i, part in enumerate(parts):
        if part.shape.ndims != 1 or part.shape[0].value is None:
            raise ValueError(
                f"scattered_embedding_lookup: part {i} of params has shape {part.shape}, expected "
                "a vector of known size"
            )
        sizes.append(int(part.shape[0].value))
    for i, size in enumerate(sizes):
        expected = (sum(sizes) - i - 1) // len(parts) + 1
        if size != expected:
            raise ValueError(f"Tensor {i} in params has size {size}, expected {expected}.")
    return sum(sizes)


@api_guard.operator
def scattered_embedding_lookup_sparse(
    params: Any,
    sparse_values: Any,
    dimension: int,
    combiner: str | None = None,
    default_value: Any = None,
    name: str | None = None,
    hash_key: int | None = None,
) -> Tensor:
    """For each row the combination of its values' scattered_embedding_lookup, (n, dimension).

    Args:
        params, dimension, hash_key: as scattered_embedding_lookup's.
        sparse_values: SparseTensor (n, size) of strings or integers.
        combiner: mean, sqrtn or sum; None: mean.
        default_value: the value of a row that has none; None: an unlikely one.
        name: of the operation.

    Raises:
        TypeError: sparse_values is not a SparseTensor.
        ValueError: combiner is none of these.
    """
    if not isinstance(sparse_values, SparseTensor):
        raise TypeError(
            "sparse_values must be SparseTensor; scattered_embedding_lookup_sparse got "
            f"{type(sparse_values).__name__}"
        )
    combine = _COMBINERS.get(combiner or "mean")
    if combine is None:
        raise ValueError(f"Combiner must be one of 'mean', 'sqrtn' or 'sum'; it is {combiner!r}")
    with scopes.name_scope(name, "scattered_embedding_lookup_sparse") as at:
        if default_value is None:
            default_value = "6ZxWzWOHxZ" if sparse_values.dtype == dtypes.string else 1288896567
        filled = sparse_fill_empty_rows(sparse_values, default_value)[0]
        rows = elementwise.cast(filled.indices[:, 0], dtypes.int32)
        values, positions = unique(filled.values)
        vectors = scattered_embedding_lookup(params, values, dimension, hash_key=hash_key)
        return combine(vectors, positions, rows, name=at)
