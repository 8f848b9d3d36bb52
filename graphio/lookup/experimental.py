"""tf.lookup.experimental: a table that operations change."""

from graphio.ops.state.mutable_tables import DenseHashTable

__all__ = ["DenseHashTable"]
