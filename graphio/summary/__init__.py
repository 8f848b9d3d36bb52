"""tf.summary: numbers, histograms, images, sounds and texts for TensorBoard."""

from __future__ import annotations

from graphio.schema.summary_pb2 import Event, Summary
from graphio.summary.ops import (
    audio,
    histogram,
    image,
    merge,
    merge_all,
    scalar,
    tensor_summary,
    text,
)
from graphio.summary.writer import FileWriter, FileWriterCache

__all__ = [
    "Event",
    "FileWriter",
    "FileWriterCache",
    "Summary",
    "audio",
    "histogram",
    "image",
    "merge",
    "merge_all",
    "scalar",
    "tensor_summary",
    "text",
]
