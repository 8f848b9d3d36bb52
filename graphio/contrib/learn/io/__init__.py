"""tf.contrib.learn.io: records of files in batches."""

from __future__ import annotations

import sys

from graphio.contrib.learn.io.graph_io import (
    queue_parsed_features,
    read_batch_examples,
    read_batch_features,
    read_batch_record_features,
    read_keyed_batch_examples,
    read_keyed_batch_features,
)
from graphio.framework import api_boundary, refusals

__all__ = [
    "queue_parsed_features",
    "read_batch_examples",
    "read_batch_features",
    "read_batch_record_features",
    "read_keyed_batch_examples",
    "read_keyed_batch_features",
]

api_boundary.guard_namespace(sys.modules[__name__])
__getattr__ = refusals.getter(__name__)
