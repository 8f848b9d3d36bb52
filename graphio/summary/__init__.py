"""tf.summary: numbers, histograms, images, sounds and strings for TensorBoard.

May import data and below.

    ops              summary operations, which are HostCalls; encoding: the functions they call
    binding          these functions for models that were read from files
    writer           event files; graph_def: a graph as TensorBoard reads it
"""

from __future__ import annotations

from graphio.schema.summary_pb2 import (
    Event,
    SessionLog,
    Summary,
    SummaryDescription,
    TaggedRunMetadata,
)
from graphio.summary.description import get_summary_description
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
    "SessionLog",
    "Summary",
    "SummaryDescription",
    "TaggedRunMetadata",
    "audio",
    "get_summary_description",
    "histogram",
    "image",
    "merge",
    "merge_all",
    "scalar",
    "tensor_summary",
    "text",
]
