"""Embeddings of ids and of sequences of ids."""

from __future__ import annotations

from typing import Any

from graphio.contrib.framework.variables import model_variable
from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.ops.array import index
from graphio.ops.array import surface as array
from graphio.ops.array.distinct_values import unique
from graphio.ops.math import comparison, reduction
from graphio.ops.nn import embedding
from graphio.ops.nn.statistics import embedding_lookup
from graphio.support import api_guard
from graphio.variables.variable_scope import variable_scope

__all__ = [
    "bow_encoder",
    "embed_sequence",
    "embedding_lookup_sparse_with_distributed_aggregation",
    "embedding_lookup_unique",
    "safe_embedding_lookup_sparse",
]


@api_guard.makes_variables
def embed_sequence(
    ids: Any,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Tensor:
    """Ids (n, length) as vectors (n, length, embed_dim) of a table.

    Args:
        vocab_size, embed_dim: sizes of the table; may be left out with reuse.
        unique: whether each id is looked up once; it changes no value.
        initializer, regularizer: of the table.
        trainable: whether optimizers change it.
        scope: None: EmbedSequence.
        reuse: whether to share the table of the scope.

    Variables: `embeddings` (vocab_size, embed_dim).

    Raises:
        ValueError: a size is missing without reuse.
    """
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            "Must specify vocab size and embedding dimension when not reusing. Got "
            f"vocab_size={vocab_size} and embed_dim={embed_dim}"
        )
    with variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        shared = (reuse and vocab_size is None) or embed_dim is None
        embeddings = model_variable(
            "embeddings",
            shape=None if shared else [vocab_size, embed_dim],
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        if unique:
            return embedding_lookup_unique(embeddings, ids)
        return embedding_lookup(embeddings, ids)


@api_guard.makes_variables
def bow_encoder(
    ids: Any,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Tensor:
    """The mean vector of each row of ids: (n, length) to (n, embed_dim).

    Args:
        ids: integers; with sparse_lookup also a sparse tensor.
        vocab_size, embed_dim: sizes of the table.
        sparse_lookup: whether zeros of a dense tensor are left out of the mean.
        others: as embed_sequence's; scope None: bow_encoder.

    Variables: `embeddings` (vocab_size, embed_dim).

    Raises:
        ValueError: a size is missing.
        TypeError: ids is sparse without sparse_lookup.
    """
    if not vocab_size or not embed_dim:
        raise ValueError("Must specify vocab size and embedding dimension")
    with variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        embeddings = model_variable(
            "embeddings",
            shape=[vocab_size, embed_dim],
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        if not sparse_lookup:
            if isinstance(ids, SparseTensor):
                raise TypeError(f"ids are expected to be dense Tensor, got: {ids}")
            return reduction.reduce_mean(embedding_lookup(embeddings, ids), axis=1)
        sparse_ids = ids if isinstance(ids, SparseTensor) else _without_zeros(ids)
        return safe_embedding_lookup_sparse([embeddings], sparse_ids, combiner="mean", default_id=0)


def _without_zeros(ids: Any) -> SparseTensor:
    with scopes.name_scope("DenseToSparseTensor"):
        given = convert_to_tensor(ids)
        indices = array.where(comparison.not_equal(given, array.zeros([], given.dtype)))
        shape = array.shape(given, out_type=dtypes.int64)
        return SparseTensor(indices, index.gather_nd(given, indices), shape)


@api_guard.operator
def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = None,
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
) -> Tensor:
    """tf.nn.safe_embedding_lookup_sparse; combiner None: mean."""
    return embedding.safe_embedding_lookup_sparse(
        embedding_weights, sparse_ids, sparse_weights, combiner or "mean", default_id, name,
        partition_strategy, max_norm,
    )  # fmt: skip


@api_guard.operator
def embedding_lookup_sparse_with_distributed_aggregation(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
) -> Tensor:
    """tf.nn.embedding_lookup_sparse, since a model runs on one machine; combiner None: mean."""
    return embedding.embedding_lookup_sparse(
        params, sp_ids, sp_weights, partition_strategy, name, combiner or "mean", max_norm
    )


@api_guard.operator
def embedding_lookup_unique(
    params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None
) -> Tensor:
    """tf.nn.embedding_lookup, in which each id is looked up once."""
    with scopes.name_scope(name, "EmbeddingLookupUnique"):
        given = convert_to_tensor(ids)
        different, position = unique(array.reshape(given, [-1]))
        found = embedding_lookup(params, different, partition_strategy)
        sizes = array.concat([array.shape(given), array.shape(found)[1:]], 0)
        result = array.reshape(index.gather(found, position), sizes)
        result.set_shape(given.get_shape().concatenate(found.get_shape()[1:]))
        return result
